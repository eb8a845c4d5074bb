"""Which tokens stand in which row of a flow: every message begins a row of its own."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokviz.glyphs import NEWLINE

_AT_ONCE = 64
"""Tokens that are laid out in one go at first, then twice as many each time."""


class FlowRow(NamedTuple):
    """A row of tokens.

    Attributes:
        message: The index of the message they belong to, -1 for none.
        begins: Whether it is the first row of that message.
        first: The index of the first token.
        stop: The index behind the last one.
    """

    message: int
    begins: bool
    first: int
    stop: int


def break_tokens(cells: Sequence[tuple[str, int]], width: int) -> list[int]:
    """Break tokens into rows, with a cell of space between them.

    A row ends behind a token that ends a line. A token wider than a row has one to itself.

    Args:
        cells: What is drawn for each token, and its cells.
        width: The cells of a row.

    Returns:
        For every row the number of the token behind its last one.

    >>> break_tokens([("ab", 2), ("c", 1), ("d⏎", 2), ("e", 1)], 4)
    [2, 3, 4]
    """
    stops: list[int] = []
    x = 0
    ended = False
    for number, (label, cell) in enumerate(cells):
        if x and (ended or x + 1 + cell > width):
            stops.append(number)
            x = 0
        x += cell + (1 if x else 0)
        ended = label.endswith(NEWLINE)
    if cells:
        stops.append(len(cells))
    return stops


Cells = Callable[[int, int], list[tuple[str, int]]]
"""Gives what is drawn for the tokens from one number to behind another, and their cells."""


Stops = NDArray[np.int64]
"""For every row the number of the token behind its last one."""


def break_anew(old: bytes, stops: Stops, new: bytes, item: int, width: int, cells: Cells) -> Stops:
    """Break tokens into rows of which others are known; only those that differ are laid out.

    A row depends on its tokens and on the one behind it.

    Args:
        old: Token ids that were broken.
        stops: Their rows, for the same width.
        new: The token ids to break.
        item: The bytes of an id.
        width: The cells of a row.
        cells: Gives what is drawn for the new ones.
    """
    was, ids = (np.frombuffer(data, f"u{item}") for data in (old, new))
    first = _n_same(was, ids)
    rest = min(len(was), len(ids)) - first
    behind = _n_same(was[::-1][:rest], ids[::-1][:rest])
    n, shift = len(ids), len(ids) - len(was)
    known = stops[: np.searchsorted(stops, first)]
    at = int(known[-1]) if len(known) else 0
    size, found = _AT_ONCE, list[int]()
    while at < n:
        rows = break_tokens(cells(at, min(at + size, n)), width)
        if at + size < n:
            rows.pop()  # more might stand in the last one
            size *= 2
        start = at
        for stop in rows:
            at = start + stop
            found.append(at)
            if at >= n - behind:
                place = np.searchsorted(stops, at - shift)
                if place < len(stops) and stops[place] == at - shift:
                    return np.concatenate((known, found, stops[place + 1 :] + shift))
    return np.concatenate((known, np.array(found, np.int64)))


def _n_same(one: NDArray[Any], other: NDArray[Any]) -> int:
    """Count what is the same at the beginning."""
    n = min(len(one), len(other))
    differs = one[:n] != other[:n]
    return int(differs.argmax()) if differs.any() else n


_NO_ROWS: Stops = np.empty(0, np.int64)

Segment = tuple[int, int, int]
"""A stretch of tokens with the same value: the value, the first token, and behind the last one."""


def segments(column: Sequence[int]) -> list[Segment]:
    """Find the stretches of tokens that have the same value, such as the same message.

    >>> segments([0, 0, 1])
    [(0, 0, 2), (1, 2, 3)]
    """
    found: list[Segment] = []
    start, n = 0, len(column)
    while start < n:
        # Stretches may be long: they are compared with themselves, twice as much at a time.
        stop, size, grows = start + 1, 1, True
        while size:
            same = column[stop : stop + size] == column[start : start + min(size, n - stop)]
            grows = grows and same and stop + size <= n
            stop += min(size, n - stop) if same else 0
            size = 2 * size if grows else size // 2
        found.append((column[start], start, stop))
        start = stop
    return found


class FlowLayout:
    """The rows of all tokens. What did not change since the last time is not laid out again."""

    def __init__(self) -> None:
        """Begin with no tokens."""
        self._width = 0
        self._kept: dict[bytes, Stops] = {}
        self._ids: dict[int, bytes] = {}
        self._tops: list[int] = [0]
        self._spans: list[Segment] = []
        self._stops: list[Stops] = []

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._tops[-1]

    def forget(self) -> None:
        """Lay everything out anew the next time: tokens are drawn as something else."""
        self._kept.clear()

    def lay_out(
        self,
        ids: array[int],
        message_of: Sequence[int],
        width: int,
        cells: Cells,
    ) -> None:
        """Lay tokens out.

        Args:
            ids: The token ids.
            message_of: The message of each token; the tokens of one follow each other.
            width: The cells of a row.
            cells: Gives what is drawn for the tokens from one index to behind another.
        """
        self._spans = segments(message_of)
        self._stops = []
        self._tops = [0]
        if width != self._width:
            self._width, self._kept = width, {}
        kept, before = self._kept, self._ids
        self._kept, self._ids = {}, {}
        for message, first, stop in self._spans:
            new = ids[first:stop].tobytes()
            stops = kept.get(new)
            if stops is None:
                old = before.get(message, b"")
                known = kept.get(old, _NO_ROWS)
                stops = break_anew(
                    old if len(known) else b"",
                    known,
                    new,
                    ids.itemsize,
                    width,
                    lambda low, high, first=first: cells(first + low, first + high),  # type: ignore[misc]
                )
            self._kept[new], self._ids[message] = stops, new
            self._stops.append(stops)
            self._tops.append(self._tops[-1] + len(stops))

    def row(self, number: int) -> FlowRow:
        """Give the tokens of a row."""
        place = bisect_right(self._tops, number) - 1
        message, first, _ = self._spans[place]
        stops = self._stops[place]
        line = number - self._tops[place]
        start = first + (int(stops[line - 1]) if line else 0)
        return FlowRow(message, line == 0, start, first + int(stops[line]))

    def row_of(self, index: int) -> int:
        """Give the row of a token."""
        place = bisect_right(self._spans, index, key=lambda span: span[1]) - 1
        first = self._spans[place][1]
        line = np.searchsorted(self._stops[place], index - first, side="right")
        return self._tops[place] + int(line)

    def first_row_of(self, message: int) -> int | None:
        """Give the first row of a message, None if it has no tokens."""
        for place, span in enumerate(self._spans):
            if span[0] == message:
                return self._tops[place]
        return None
