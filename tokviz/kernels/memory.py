"""Plain memory for kernels, and NumPy arrays that show it."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt

    Memory: TypeAlias = memoryview | npt.NDArray[Any]
    """A one-dimensional buffer of items of one type."""

ItemType = Literal["B", "i", "q"]

_ITEM_BYTES = {"B": 1, "i": 4, "q": 8}

_OPTIONS = {} if os.name == "nt" else {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}
_HUGE_PAGES: int | None = getattr(mmap, "MADV_HUGEPAGE", None)
_LARGE = 1 << 21
POPULATE_WRITE = 23
"""`MADV_POPULATE_WRITE`, which the `mmap` module does not define."""


def zeros(n: int, item_type: ItemType, soon: int = 0) -> memoryview:
    """Allocate zeroed memory, which takes up physical memory only once it is used.

    Args:
        n: Number of items.
        item_type: "B" for bytes, "i" and "q" for signed 32-bit and 64-bit integers.
        soon: Number of items that will be used soon: a thread allocates their pages meanwhile.
    """
    n_bytes = n * _ITEM_BYTES[item_type]
    memory = mmap.mmap(-1, max(8, n_bytes), **_OPTIONS)
    if n_bytes >= _LARGE and _HUGE_PAGES is not None:
        with suppress(OSError):
            memory.madvise(_HUGE_PAGES)
    if soon * _ITEM_BYTES[item_type] >= _LARGE and sys.platform == "linux":
        Thread(target=_make_real, args=[memory, soon * _ITEM_BYTES[item_type]], daemon=True).start()
    return memoryview(memory)[:n_bytes].cast(item_type)


def _make_real(memory: mmap.mmap, n_bytes: int) -> None:
    """Populate pages from the end of a range backwards, while the caller uses its start.

    In a virtual machine whose host must first find the memory, this takes 2 ms per megabyte. Older
    versions of Linux do not support it.
    """
    madvise = ctypes.CDLL(None).madvise  # releases the GIL while it runs
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for at in range((n_bytes - 1) // _LARGE * _LARGE, -1, -_LARGE):
        if madvise(first + at, min(_LARGE, n_bytes - at), POPULATE_WRITE):
            return


def longer(memory: memoryview, n: int) -> memoryview:
    """Return new memory for `n` items that starts with a copy of `memory`."""
    larger = zeros(n, memory.format)  # type: ignore[arg-type]  # made by `zeros`
    larger[: len(memory)] = memory
    return larger


class HasMemory:
    """An object that keeps memory by name; equal to others with equal public attributes.

    Attributes:
        memory: The memory by name.
    """

    memory: dict[str, Memory]

    def __eq__(self, other: object) -> bool:
        """Return whether all public attributes are equal."""
        return isinstance(other, HasMemory) and self._content == other._content

    __hash__ = None  # type: ignore[assignment]  # the memory can change

    @property
    def _content(self) -> dict[str, Any]:
        """The public attributes, with lists in place of memory."""
        public = {name: value for name, value in vars(self).items() if name[0] != "_"}
        return public | {"memory": {name: one.tolist() for name, one in self.memory.items()}}

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes with arrays in place of memory, which cannot be pickled."""
        import numpy as np  # a short training ends before anything needs NumPy

        memory = {name: np.asarray(one) for name, one in self.memory.items()}
        arrays = {
            name: np.asarray(it) for name, it in vars(self).items() if isinstance(it, memoryview)
        }
        return {**vars(self), **arrays, "memory": memory}


class Column:
    """An attribute that shows the memory of its name as a NumPy array, without a copy."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the attribute's name."""
        self._name = name

    def __get__(self, instance: HasMemory, owner: type | None = None) -> npt.NDArray[Any]:
        """Return the array."""
        import numpy as np  # a short training ends before anything needs NumPy

        return np.asarray(instance.memory[self._name])
