"""Memory use of this process, current and peak, and settings of its allocator."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import resource

_STATUS = Path("/proc/self/status")
# From glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8

_LARGE_BYTES = 1 << 20
_KEPT_BYTES = 1 << 24


def memory_bytes() -> int | None:
    """Return the physical memory in use, including mapped files; None if unknown."""
    return _from_status("VmRSS")


def peak_memory_bytes() -> int | None:
    """Return the peak physical memory; None on Windows."""
    # On Linux, getrusage includes the parent's memory, from before the child called exec.
    peak = _from_status("VmHWM")
    if peak is not None or sys.platform == "win32":
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def mapped_bytes() -> int:
    """Return the address space in use, which limits count; 0 if the system reports none."""
    return _from_status("VmSize") or 0


def share_one_heap() -> None:
    """Let all threads started from now on allocate from the main thread's heap.

    glibc gives each thread a heap, whose freed memory other threads cannot use. With threads that
    read vocabularies and encode texts, this wastes hundreds of megabytes. Also, once a large block
    has been freed, glibc allocates the next ones from the heap and fragments it; here large blocks
    stay separate and return to the system. Does nothing on other systems.
    """
    _call_malloc("mallopt", _M_ARENA_MAX, 1)
    _call_malloc("mallopt", _M_MMAP_THRESHOLD, _LARGE_BYTES)
    _call_malloc("mallopt", _M_TRIM_THRESHOLD, _KEPT_BYTES)


def give_back() -> None:
    """Return freed memory to the system.

    glibc keeps freed memory below blocks that are in use: after large texts and vocabularies,
    hundreds of megabytes. Does nothing on other systems.
    """
    _call_malloc("malloc_trim", 0)


def _call_malloc(function: str, *numbers: int) -> None:
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library
            getattr(ctypes.CDLL(None), function)(*numbers)


def _from_status(key: str) -> int | None:
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return None
