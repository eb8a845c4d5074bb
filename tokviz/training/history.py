"""History of a training: statistics of every merge."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tokviz.kernels.memory import Column, HasMemory
from tokviz.text.notebooks import displayed
from tokviz.training.settings import N_BYTES, IdLayout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.kernels.memory import Memory

NO_TOKEN = -1
"""The id of a token that does not exist, such as the runner-up of the last possible merge."""

_WIDE = {"count", "runner_up_count", "n_tokens"}
_IDS = ("left_id", "right_id", "new_id", "runner_up_left", "runner_up_right")


@displayed("training_history")
class TrainingHistory(HasMemory):
    """The merges of a training in order; every array has one entry per merge.

    Attributes:
        left_id: The left token of the merged pair; int32.
        right_id: Its right token; int32.
        new_id: The new token; int32.
        count: Occurrences of the pair just before the merge, including overlapping ones; int64.
        n_tied: Number of pairs with that count, including this one: 1 means no tie; int32.
        runner_up_left: The left token of the runner-up, the second-best pair, -1 if there was no
            other pair; int32.
        runner_up_right: Its right token; int32.
        runner_up_count: Its occurrences, 0 if there was no other pair; int64.
        n_tokens: Tokens of the whole corpus after the merge, without special tokens; int64.
        memory: The memory of these arrays by name.
    """

    left_id = Column()
    right_id = Column()
    new_id = Column()
    count = Column()
    n_tied = Column()
    runner_up_left = Column()
    runner_up_right = Column()
    runner_up_count = Column()
    n_tokens = Column()

    def __init__(self, **memory: Memory) -> None:
        """Take the memory of every array, by name."""
        assert memory.keys() == set(_names(TrainingHistory))
        self.memory = memory

    def __len__(self) -> int:
        """Return the number of merges."""
        return len(self.memory["new_id"])

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays by name."""
        return {name: getattr(self, name) for name in self.memory}

    @classmethod
    def empty(cls) -> TrainingHistory:
        """Create the history of a training that was stopped before the first merge."""
        return cls(
            **{name: memoryview(array("q" if name in _WIDE else "i")) for name in _names(cls)}
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> TrainingHistory:
        """Create a history from arrays by name.

        Raises:
            KeyError: If an array is missing.
            ValueError: If the lengths differ, or the items are not integers or are too large.
        """
        inputs: dict[str, Any] = {name: arrays[name] for name in _names(cls)}
        if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in inputs.values()):
            raise ValueError("the history is not a list of integers")
        if len({len(array) for array in inputs.values()}) != 1:
            raise ValueError("the columns of the history differ in length")
        columns: dict[str, Any] = {
            name: array.astype("q" if name in _WIDE else "i") for name, array in inputs.items()
        }
        if not all((columns[name] == inputs[name]).all() for name in columns):
            raise ValueError("the history holds numbers that are too large")
        return cls(**columns)

    def with_ids(self, layout: IdLayout) -> TrainingHistory:
        """Return the history with ids in place of the token numbers used in training."""
        if layout == (0, N_BYTES):
            return self
        ids: dict[str, Memory] = {}
        for name in _IDS:
            numbers = getattr(self, name)
            ids[name] = layout.id_of(numbers).astype("i")
            ids[name][numbers == NO_TOKEN] = NO_TOKEN
        return TrainingHistory(**{**self.memory, **ids})

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Iterate over the ids of the merged pairs."""
        left, right = self.memory["left_id"].tolist(), self.memory["right_id"].tolist()
        return zip(left, right, strict=True)


def _names(history: type[TrainingHistory]) -> list[str]:
    return [name for name, value in vars(history).items() if isinstance(value, Column)]
