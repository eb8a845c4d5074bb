"""Limits that a child process sets on itself."""

from __future__ import annotations

import os
import signal
import sys
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1


class Limits(NamedTuple):
    """What a child may use. None stands for no limit."""

    memory_mb: int | None = 2048
    """Address space, in 2**20 bytes."""
    cpu_seconds: int | None = 120
    """Processor time of one run."""
    niceness: int = 5
    """How far the child steps back behind the app, 0 to 19."""
    silent_seconds: float | None = None
    """Processor time without an answer; a machine that is busy with other things takes none."""


def settle_in(limits: Limits) -> None:
    """Prepare this process for being a child: the user's Ctrl+C is not for it, limits hold."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "win32":
        return
    os.nice(limits.niceness)
    allow_memory(limits.memory_mb)
    _set_limit("RLIMIT_CORE", 0)
    if sys.platform == "linux":
        _die_with_parent()


def allow_memory(megabytes: int | None) -> None:
    """Let this process have so much memory, more or less than before."""
    if megabytes is not None:
        _set_limit("RLIMIT_AS", megabytes << 20)


def allow_cpu(seconds: int | None) -> None:
    """Let this process use so much more processor time from now on, then die by SIGXCPU."""
    if sys.platform == "win32" or seconds is None:
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit("RLIMIT_CPU", int(usage.ru_utime + usage.ru_stime) + 1 + seconds)


def allow_silence(seconds: float | None) -> None:
    """Let this process use so much processor time before the next call, then die by SIGVTALRM.

    None for as much as it likes.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds or 0)


HAS_CPU_LIMITS = hasattr(signal, "setitimer")
"""True if this system counts processor time; elsewhere the parent's clock is all there is."""


def _set_limit(name: str, wanted: int) -> None:
    """Set a soft limit, never above the hard one. Systems that lack a limit go without."""
    if sys.platform == "win32":
        return
    import resource

    which = getattr(resource, name, None)
    if which is None:
        return
    _, hard = resource.getrlimit(which)
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(which, (soft, hard))
    except (OSError, ValueError):
        # macOS knows RLIMIT_AS but refuses it.
        return


def _die_with_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends.

    The net below the other rule (a child leaves when its stdin closes), for native code that
    keeps the interpreter from noticing.
    """
    import ctypes

    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (OSError, AttributeError):
        return
