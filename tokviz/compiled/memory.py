"""Plain memory for kernels."""

from __future__ import annotations

import mmap
from typing import Literal

ItemType = Literal["B", "i", "q"]

_ITEM_BYTES = {"B": 1, "i": 4, "q": 8}


def zeros(n: int, item_type: ItemType) -> memoryview:
    """Take memory from the system, which makes it real only where it is touched.

    Args:
        n: How many items.
        item_type: "B" for bytes, "i" and "q" for signed integers of 32 and 64 bits.
    """
    n_bytes = n * _ITEM_BYTES[item_type]
    return memoryview(mmap.mmap(-1, max(8, n_bytes)))[:n_bytes].cast(item_type)


def longer(memory: memoryview, n: int) -> memoryview:
    """Give memory for `n` items that begins with what is in another."""
    larger = zeros(n, memory.format)  # type: ignore[arg-type]  # that of `zeros`
    larger[: len(memory)] = memory
    return larger
