"""What happened at every merge of a training."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import numpy.typing as npt

NO_TOKEN = -1
"""Stands for a token where there is none."""


@dataclass(frozen=True, slots=True)
class TrainingHistory:
    """The merges of a training in their order; every array has one entry per merge.

    Attributes:
        left_id: The left token of the merged pair; int32.
        right_id: Its right token; int32.
        new_id: The token that was made; int32.
        count: How often the pair occurred just before, overlapping occurrences too; int64.
        n_tied: How many pairs had that count, this one included: 1 means no tie; int32.
        runner_up_left: The left token of the pair that would have been merged if this one had not
            been there, -1 if there was no other; int32.
        runner_up_right: Its right token; int32.
        runner_up_count: How often it occurred; 0 if there was no other; int64.
        n_tokens: The tokens of the whole corpus after the merge, without special ones; int64.
    """

    left_id: npt.NDArray[np.int32]
    right_id: npt.NDArray[np.int32]
    new_id: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    n_tied: npt.NDArray[np.int32]
    runner_up_left: npt.NDArray[np.int32]
    runner_up_right: npt.NDArray[np.int32]
    runner_up_count: npt.NDArray[np.int64]
    n_tokens: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Count the merges."""
        return len(self.new_id)

    def __eq__(self, other: object) -> bool:
        """Tell whether all arrays are equal."""
        import numpy as np

        if not isinstance(other, TrainingHistory):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """Give the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]]) -> TrainingHistory:
        """Make a history of arrays by name.

        Raises:
            KeyError: If one is missing.
            ValueError: If they are not of one length, no integers, or too large.
        """
        import numpy as np

        wide = {"count", "runner_up_count", "n_tokens"}
        found: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls)}
        if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in found.values()):
            raise ValueError("the history is no list of integers")
        if len({len(array) for array in found.values()}) != 1:
            raise ValueError("the columns of the history differ in length")
        columns = {
            name: array.astype(np.int64 if name in wide else np.int32)
            for name, array in found.items()
        }
        if not all(np.array_equal(columns[name], found[name]) for name in columns):
            raise ValueError("the history holds numbers that are too large")
        return cls(**columns)

    def shifted(self, offset: int) -> TrainingHistory:
        """Give the same history with `offset` added to every id."""
        import numpy as np

        def moved(ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
            return np.where(ids == NO_TOKEN, NO_TOKEN, ids + offset).astype(np.int32)

        return replace(
            self,
            left_id=moved(self.left_id),
            right_id=moved(self.right_id),
            new_id=moved(self.new_id),
            runner_up_left=moved(self.runner_up_left),
            runner_up_right=moved(self.runner_up_right),
        )

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Give the ids of every merged pair."""
        return zip(self.left_id.tolist(), self.right_id.tolist(), strict=True)
