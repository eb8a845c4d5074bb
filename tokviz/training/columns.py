"""Arrays of numpy over the plain memory that kernels write, made when somebody asks for them.

A short training has ended before numpy is imported; so it does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt

    Memory: TypeAlias = memoryview | npt.NDArray[Any]
    """Items of one kind in a row."""


class HasMemory(Protocol):
    """Keeps memory by name."""

    memory: dict[str, Memory]


class Column:
    """An attribute that shows the memory of its name as an array."""

    def __set_name__(self, owner: type, name: str) -> None:
        """Note the name."""
        self._name = name

    def __get__(self, instance: HasMemory, owner: type | None = None) -> npt.NDArray[Any]:
        """Make the array; nothing is copied."""
        import numpy as np

        return np.asarray(instance.memory[self._name])
