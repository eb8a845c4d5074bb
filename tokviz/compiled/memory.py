"""Plain memory for kernels."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from typing import Literal

ItemType = Literal["B", "i", "q"]

_ITEM_BYTES = {"B": 1, "i": 4, "q": 8}

_OPTIONS = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
_HUGE_PAGES: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
_LARGE = 1 << 21


def zeros(n: int, item_type: ItemType) -> memoryview:
    """Take memory from the system, which makes it real only where it is touched.

    Args:
        n: How many items.
        item_type: "B" for bytes, "i" and "q" for signed integers of 32 and 64 bits.
    """
    n_bytes = n * _ITEM_BYTES[item_type]
    memory = mmap.mmap(-1, max(8, n_bytes), **_OPTIONS)
    if n_bytes >= _LARGE and _HUGE_PAGES is not None:
        with suppress(OSError):
            memory.madvise(_HUGE_PAGES)
    return memoryview(memory)[:n_bytes].cast(item_type)


def longer(memory: memoryview, n: int) -> memoryview:
    """Give memory for `n` items that begins with what is in another."""
    larger = zeros(n, memory.format)  # type: ignore[arg-type]  # that of `zeros`
    larger[: len(memory)] = memory
    return larger
