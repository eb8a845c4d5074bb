"""Limits that a child process sets on itself, and the number of processors to use."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NamedTuple

if sys.platform != "win32":
    import resource

_PR_SET_PDEATHSIG = 1
MOST_PROCESSORS = 4


class Limits(NamedTuple):
    """Resource limits of a child; None for no limit."""

    memory_mb: int | None = 2048
    """Address space, in 2**20 bytes."""
    cpu_seconds: int | None = 120
    """Processor time of one run."""
    niceness: int = 5
    """Niceness of the child relative to the app, 0 to 19."""
    silent_seconds: float | None = None
    """Processor time without an answer, which does not count waiting on a busy machine."""


def settle_in(limits: Limits) -> None:
    """Set up this process as a child: ignore the user's Ctrl+C and apply the limits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    os.nice(limits.niceness)
    allow_memory(limits.memory_mb)
    _set_limit("RLIMIT_CORE", 0)
    if sys.platform == "linux":
        _die_with_parent()


def allow_memory(megabytes: int | None) -> None:
    """Limit the memory of this process, above or below the previous limit."""
    if megabytes is not None:
        _set_limit("RLIMIT_AS", megabytes << 20)


def allow_cpu(seconds: int | None) -> None:
    """Let this process use this much more processor time before SIGXCPU ends it."""
    if sys.platform == "win32" or seconds is None:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit("RLIMIT_CPU", int(usage.ru_utime + usage.ru_stime) + 1 + seconds)


def lift_limits() -> None:
    """Remove the limits of memory and processor time, once this process has read foreign files."""
    for name in ("RLIMIT_AS", "RLIMIT_CPU"):
        _set_limit(name, sys.maxsize)


def allow_silence(seconds: float | None) -> None:
    """Let this process use this much processor time until the next call, or SIGVTALRM ends it.

    None removes the limit.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds or 0)


HAS_CPU_LIMITS = hasattr(signal, "setitimer")
"""True if this system measures processor time; otherwise only the parent's clock limits a run."""


def _set_limit(name: str, wanted: int) -> None:
    """Set a soft limit, at most the hard one, if the system supports it."""
    if sys.platform == "win32":
        return
    which = getattr(resource, name, None)
    if which is None:
        return
    _, hard = resource.getrlimit(which)
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(which, (soft, hard))
    except (OSError, ValueError):
        # macOS defines RLIMIT_AS but rejects it.
        return


def _die_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends.

    Normally a child exits when its stdin closes; this also ends native code that keeps the
    interpreter from noticing.
    """
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return


def n_processors() -> int:
    """Return how many processors this process may use, at most four; 0 if there is only one.

    A process with a lower priority, such as a job in the background of the app, leaves one free.
    """
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if hasattr(os, "nice") and os.nice(0) > 0:
        n -= 1
    return min(n, MOST_PROCESSORS) if n > 1 else 0
