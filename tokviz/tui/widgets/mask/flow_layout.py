"""Layout of tokens in rows, of which every message starts a new one."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokviz.text.glyphs import NEWLINE

_MOST_IDS = 1 << 22
"""Token ids below this one have a place in a table of sizes, which takes four bytes for each."""

_WINDOW = 8_192
"""Number of tokens that are broken into rows together: many times those of a row."""

Ids = NDArray[np.uint32]
Cells = Callable[[int, int], list[tuple[str, int]]]
"""Returns the labels and their widths of the tokens from one index up to another."""


class FlowRow(NamedTuple):
    """A row of tokens.

    Attributes:
        message: The index of the message they belong to, -1 for none.
        begins: Whether it is the first row of that message.
        first: The index of the first token.
        stop: The index after the last one.
    """

    message: int
    begins: bool
    first: int
    stop: int


class _Message(NamedTuple):
    """Consecutive tokens of a message, and for every row the index after its last token."""

    message: int
    first: int
    ids: Ids
    stops: NDArray[np.int64]


_NO_MESSAGE = _Message(-1, 0, np.empty(0, np.uint32), np.empty(0, np.int64))


class FlowLayout:
    """Rows of all tokens. Only the changed rows of a message are laid out again."""

    def __init__(self) -> None:
        """Create a layout without tokens."""
        self._messages: list[_Message] = []
        self._tops: list[int] = [0]
        self.forget()

    def forget(self) -> None:
        """Lay everything out again the next time, because the labels of ids changed."""
        self._width = 0
        self._table = np.empty(0, np.int32)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._tops[-1]

    def lay_out(
        self, ids: array[int], stretches: Iterable[tuple[int, int, int]], width: int, cells: Cells
    ) -> None:
        """Lay tokens out, with a cell of space between them.

        A row ends after a token that ends a line. A wider token is alone in its row.

        Args:
            ids: The token ids, which must not be changed afterwards.
            stretches: The message, the first token and the index after the last token of
                consecutive tokens of one message.
            width: The cells of a row.
            cells: Returns the labels of tokens and their widths.
        """
        known = {old.message: old for old in self._messages} if width == self._width else {}
        self._width = width
        tokens = np.frombuffer(ids, np.uint32)
        self._messages = []
        for message, first, last in stretches:
            new, old = tokens[first:last], known.get(message, _NO_MESSAGE)
            stops = old.stops
            if not np.array_equal(new, old.ids):
                sizes = self._sizes(new, lambda a, b, first=first: cells(first + a, first + b))  # type: ignore[misc]
                stops = _break_again(old, new, sizes, width)
            self._messages.append(_Message(message, first, new, stops))
        self._tops = [0, *accumulate(len(message.stops) for message in self._messages)]

    def _sizes(self, ids: Ids, cells: Cells) -> NDArray[np.int32]:
        """Return twice the cells of each token, plus one if it ends a line."""
        if ids.max(initial=0) >= _MOST_IDS:
            return np.array([_size(*cell) for cell in cells(0, len(ids))], np.int32)
        lacking = int(ids.max(initial=0)) + 1 - len(self._table)
        if lacking > 0:
            self._table = np.concatenate((self._table, np.full(lacking, -1, np.int32)))
        unknown = np.flatnonzero(self._table[ids] < 0)
        for index in unknown[np.unique(ids[unknown], return_index=True)[1]].tolist():
            self._table[ids[index]] = _size(*cells(index, index + 1)[0])
        return self._table[ids]

    def row(self, number: int) -> FlowRow:
        """Return the tokens of a row."""
        place = bisect_right(self._tops, number) - 1
        message, first, _, stops = self._messages[place]
        line = number - self._tops[place]
        start = first + (int(stops[line - 1]) if line else 0)
        return FlowRow(message, line == 0, start, first + int(stops[line]))

    def row_of(self, index: int) -> int:
        """Return the row of a token."""
        place = bisect_right(self._messages, index, key=attrgetter("first")) - 1
        _, first, _, stops = self._messages[place]
        return self._tops[place] + int(np.searchsorted(stops, index - first, side="right"))

    def first_row_of(self, message: int) -> int | None:
        """Return the first row of a message, None if it has no tokens."""
        tops = zip(self._messages, self._tops, strict=False)
        return next((top for laid_out, top in tops if laid_out.message == message), None)


def _size(label: str, cells: int) -> int:
    return 2 * cells + label.endswith(NEWLINE)


def _break_again(
    old: _Message, new: Ids, sizes: NDArray[np.int32], width: int
) -> NDArray[np.int64]:
    """Break tokens into rows; keep the rows before and after the tokens that changed.

    A row depends on its tokens and on the next one.
    """
    n_before = _n_same(old.ids, new)
    rest = min(len(old.ids), len(new)) - n_before
    n_after = _n_same(old.ids[::-1][:rest], new[::-1][:rest])
    shift = len(new) - len(old.ids)
    kept = old.stops[: np.searchsorted(old.stops, n_before)]
    found: list[int] = []
    for stop in _stops(sizes, int(kept[-1]) if len(kept) else 0, width):
        found.append(stop)
        if stop >= len(new) - n_after:
            row = int(np.searchsorted(old.stops, stop - shift))
            if row < len(old.stops) and old.stops[row] == stop - shift:
                return np.concatenate((kept, found, old.stops[row + 1 :] + shift))
    return np.concatenate((kept, np.array(found, np.int64)))


def _n_same(old: Ids, new: Ids) -> int:
    """Count the equal tokens at the start."""
    n_tokens = min(len(old), len(new))
    differs = old[:n_tokens] != new[:n_tokens]
    return int(differs.argmax()) if differs.any() else n_tokens


def _stops(sizes: NDArray[np.int32], start: int, width: int) -> Iterator[int]:
    """Yield for every row from a token on the index after its last token."""
    while start < len(sizes):
        window = sizes[start : start + _WINDOW]
        stops = _break(window, width)
        if start + len(window) < len(sizes):
            stops.pop()  # More tokens may fit into the last row.
        yield from (start + stop for stop in stops)
        start += stops[-1]


def _break(sizes: NDArray[np.int32], width: int) -> list[int]:
    ends = [0, *np.cumsum((sizes >> 1) + 1).tolist()]
    line_ends = iter([*(np.flatnonzero(sizes & 1) + 1).tolist(), len(sizes)])
    stops, line_end, first = list[int](), next(line_ends), 0
    while first < len(sizes):
        stop = bisect_right(ends, ends[first] + width + 1, first) - 1
        first = min(max(stop, first + 1), line_end)
        if first == line_end:
            line_end = next(line_ends, first)
        stops.append(first)
    return stops
