"""Byte strings in two arrays, because 100,000 Python objects take ten times the memory.

The app would also hardly ever free the memory of so many objects once they are mixed with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokviz.tokenizer.encoding.packed import Tables

_SORTED_BYTES = 32


class ByteRows(Sequence[bytes]):
    """A sequence of byte strings stored one after another.

    Attributes:
        blob: All their bytes, uint8.
        starts: Start of each, int64, shape (n,).
        lengths: Length of each, int64, shape (n,).
    """

    def __init__(self, data: bytes, lengths: npt.NDArray[np.int64]) -> None:
        """Create the sequence from the concatenated strings and their lengths."""
        self._data, self.lengths = data, lengths
        self.blob = np.frombuffer(data, np.uint8)
        self.starts = np.cumsum(lengths) - lengths

    @classmethod
    def of(cls, tables: Tables, others: Iterable[bytes] = ()) -> ByteRows:
        """Return the tokens of a vocabulary by place, followed by other strings."""
        data, starts, _ = tables.columns()[:3]
        listed = list(others)
        lengths = np.diff(np.frombuffer(starts, np.uint32).astype(np.int64))
        more = np.fromiter(map(len, listed), np.int64, len(listed))
        return cls(b"".join([data, *listed]), np.concatenate([lengths, more]))

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self.lengths)

    @overload
    def __getitem__(self, row: SupportsIndex) -> bytes: ...
    @overload
    def __getitem__(self, row: slice) -> list[bytes]: ...
    def __getitem__(self, row: SupportsIndex | slice) -> bytes | list[bytes]:
        """Return one string, or a slice of them."""
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        start = int(self.starts[row])
        return self._data[start : start + int(self.lengths[row])]

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the strings."""
        for start, end in pairwise([*self.starts.tolist(), len(self._data)]):
            yield self._data[start:end]

    def take(self, rows: npt.NDArray[np.int64]) -> ByteRows:
        """Return the selected strings in the given order."""
        lengths = self.lengths[rows]
        shifts = self.starts[rows] - (np.cumsum(lengths) - lengths)
        places = np.repeat(shifts, lengths) + np.arange(lengths.sum())
        return ByteRows(self.blob[places].tobytes(), lengths)

    def without_leading(self, byte: bytes) -> ByteRows:
        """Remove all leading occurrences of a byte from every string."""
        n_others = np.cumsum(self.blob != ord(byte))
        before = np.concatenate([[0], n_others])[self.starts]
        is_leading = n_others == np.repeat(before, self.lengths)
        rows = np.repeat(np.arange(len(self)), self.lengths)[is_leading]
        lengths = self.lengths - np.bincount(rows, minlength=len(self))
        return ByteRows(self.blob[~is_leading].tobytes(), lengths)

    def containing(self, needle: bytes) -> npt.NDArray[np.bool_]:
        """Return which strings contain the needle; shape (n,)."""
        mask = np.zeros(len(self), bool)
        if not needle:
            return ~mask
        places = np.flatnonzero(self.blob[: 1 - len(needle) or None] == needle[0])
        for offset, byte in enumerate(needle[1:], 1):
            places = places[self.blob[places + offset] == byte]
        rows = np.searchsorted(self.starts, places, side="right") - 1
        whole = places + len(needle) <= self.starts[rows] + self.lengths[rows]
        mask[rows[whole]] = True
        return mask

    def starting_with(self, needle: bytes) -> npt.NDArray[np.bool_]:
        """Return which strings start with the needle; shape (n,)."""
        return self._matching_at(self.starts, needle)

    def ending_with(self, needle: bytes) -> npt.NDArray[np.bool_]:
        """Return which strings end with the needle; shape (n,)."""
        return self._matching_at(self.starts + self.lengths - len(needle), needle)

    def _matching_at(self, places: npt.NDArray[np.int64], needle: bytes) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(self), bool)
        rows = np.flatnonzero(self.lengths >= len(needle))
        for offset, byte in enumerate(needle):
            rows = rows[self.blob[places[rows] + offset] == byte]
        mask[rows] = True
        return mask

    def order(self) -> npt.NDArray[np.int64]:
        """Return the rows in sorted order; the sort is stable. Shape (n,)."""
        offsets = np.arange(_SORTED_BYTES)
        heads = np.zeros((len(self), _SORTED_BYTES), np.uint8)
        inside = offsets < self.lengths[:, None]
        heads[inside] = self.blob[(self.starts[:, None] + offsets)[inside]]
        keys = heads.view(">u8").astype(np.uint64)
        order = np.lexsort((self.lengths, *reversed(keys.T)))
        # Only long strings can still be tied, and few are.
        is_long = self.lengths[order] > _SORTED_BYTES
        alike = (keys[order][1:] == keys[order][:-1]).all(axis=1) & is_long[1:] & is_long[:-1]
        edges = np.flatnonzero(np.diff(alike, prepend=False, append=False))
        for first, last in edges.reshape(-1, 2).tolist():
            order[first : last + 1] = sorted(order[first : last + 1], key=self.__getitem__)
        return order
