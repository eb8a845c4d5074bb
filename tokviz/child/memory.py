"""How much memory this process uses, and has used at most; and how its threads share it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
# Of glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8

_LARGE_BYTES = 1 << 20
_KEPT_BYTES = 1 << 24


def memory_bytes() -> int | None:
    """The physical memory in use now, mapped files included; None where no system tells."""
    return _from_status("VmRSS")


def peak_memory_bytes() -> int | None:
    """The most physical memory that was in use at any time; None on Windows."""
    # Linux's getrusage remembers the parent's memory too, from before the child became itself.
    peak = _from_status("VmHWM")
    if peak is not None or sys.platform == "win32":
        return peak
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def mapped_bytes() -> int:
    """The address space in use now, which limits count; 0 where no system tells."""
    return _from_status("VmSize") or 0


def share_one_heap() -> None:
    """Let the threads that begin from now on take memory where the main thread takes it.

    glibc gives each a heap of its own, and what is freed there is of no use to the others. Where
    threads read vocabularies and encode texts that is hundreds of megabytes. And after the first
    large block was freed, it takes the next ones from the heap, which is then full of holes: large
    ones stay on their own here, and go back to the system. Elsewhere this does nothing.
    """
    _tell_malloc("mallopt", _M_ARENA_MAX, 1)
    _tell_malloc("mallopt", _M_MMAP_THRESHOLD, _LARGE_BYTES)
    _tell_malloc("mallopt", _M_TRIM_THRESHOLD, _KEPT_BYTES)


def give_back() -> None:
    """Let the system have the memory that was freed.

    glibc keeps what lies below something that is still in use: after large texts and vocabularies
    it comes to hundreds of megabytes. Elsewhere this does nothing.
    """
    _tell_malloc("malloc_trim", 0)


def _tell_malloc(function: str, *numbers: int) -> None:
    if sys.platform == "linux":
        import ctypes

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
