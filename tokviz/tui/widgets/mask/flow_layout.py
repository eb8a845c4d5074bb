"""Which tokens stand in which row of a flow: every message begins a row of its own."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, takewhile
from operator import itemgetter
from typing import NamedTuple

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

Ids = NDArray[np.uint32]


def break_anew(old: Ids, stops: Stops, new: Ids, width: int, cells: Cells) -> Stops:
    """Break tokens into rows of which others are known; only those that differ are laid out.

    A row depends on its tokens and on the one behind it.

    Args:
        old: Token ids that were broken.
        stops: Their rows, for the same width.
        new: The token ids to break.
        width: The cells of a row.
        cells: Gives what is drawn for the new ones.
    """
    first, behind = _n_same(old, new)
    n, shift = len(new), len(new) - len(old)
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


def _n_same(old: Ids, new: Ids) -> tuple[int, int]:
    """Count what is the same at the beginning, and of the rest at the end."""

    def count(old: Ids, new: Ids) -> int:
        n = min(len(old), len(new))
        differs = old[:n] != new[:n]
        return int(differs.argmax()) if differs.any() else n

    first = count(old, new)
    rest = min(len(old), len(new)) - first
    return first, count(old[::-1][:rest], new[::-1][:rest])


Stretch = tuple[int, int, int]
"""Neighbouring tokens of one message: the message, the first token, and behind the last one."""

_NONE: Ids = np.empty(0, np.uint32)
_NO_ROWS: Stops = np.empty(0, np.int64)


def _n_unmoved(
    was: Ids, old: Sequence[Stretch], now: Ids, new: Sequence[Stretch]
) -> tuple[int, int]:
    """Count the stretches before and behind all that changed."""
    (first, behind), shift = _n_same(was, now), len(now) - len(was)
    before = (a[1:] == b[1:] and b[2] <= first for a, b in zip(old, new, strict=False))
    n = sum(takewhile(bool, before))
    at_end = (
        (a[1] + shift, a[2] + shift) == b[1:] and b[1] >= len(now) - behind
        for a, b in zip(old[n:][::-1], new[n:][::-1], strict=False)
    )
    return n, sum(takewhile(bool, at_end))


class FlowLayout:
    """The rows of all tokens. What did not change since the last time is not laid out again."""

    def __init__(self) -> None:
        """Begin with no tokens."""
        self._width = 0
        self._ids = _NONE
        self._stretches: list[Stretch] = []
        self._stops: list[Stops] = []
        self._tops: list[int] = [0]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._tops[-1]

    def forget(self) -> None:
        """Lay everything out anew the next time: tokens are drawn as something else."""
        self._width = 0

    def lay_out(
        self, ids: array[int], stretches: Iterable[Stretch], width: int, cells: Cells
    ) -> None:
        """Lay tokens out.

        Args:
            ids: The token ids, which are not to be changed afterwards.
            stretches: Whose they are; each stretch begins a row.
            width: The cells of a row.
            cells: Gives what is drawn for the tokens from one index to behind another.
        """
        same_width = width == self._width
        was = self._ids if same_width else _NONE
        old = list(zip(self._stretches, self._stops, strict=True)) if same_width else []
        now, new = np.frombuffer(ids, np.uint32), list(stretches)
        n_before, n_behind = _n_unmoved(was, [stretch for stretch, _ in old], now, new)
        changed = old[n_before : len(old) - n_behind]
        before = {message: (was[first:last], rows) for (message, first, last), rows in changed}
        # One that moved is found by its tokens. To look for them takes long where there are many.
        moved = {tokens.tobytes(): rows for tokens, rows in before.values()} if changed[1:] else {}
        self._stops = [rows for _, rows in old[:n_before]]
        for message, first, last in new[n_before : len(new) - n_behind]:
            tokens = now[first:last]
            rows = moved.get(tokens.tobytes()) if moved else None
            if rows is None:
                rows = break_anew(
                    *before.get(message, (_NONE, _NO_ROWS)),
                    tokens,
                    width,
                    lambda low, high, first=first: cells(first + low, first + high),  # type: ignore[misc]
                )
            self._stops.append(rows)
        self._stops += [rows for _, rows in old[len(old) - n_behind :]]
        self._width, self._ids, self._stretches = width, now, new
        self._tops = [0, *accumulate(map(len, self._stops))]

    def row(self, number: int) -> FlowRow:
        """Give the tokens of a row."""
        place = bisect_right(self._tops, number) - 1
        message, first, _ = self._stretches[place]
        stops = self._stops[place]
        line = number - self._tops[place]
        start = first + (int(stops[line - 1]) if line else 0)
        return FlowRow(message, line == 0, start, first + int(stops[line]))

    def row_of(self, index: int) -> int:
        """Give the row of a token."""
        place = bisect_right(self._stretches, index, key=itemgetter(1)) - 1
        first = self._stretches[place][1]
        line = np.searchsorted(self._stops[place], index - first, side="right")
        return self._tops[place] + int(line)

    def first_row_of(self, message: int) -> int | None:
        """Give the first row of a message, None if it has no tokens."""
        for place, stretch in enumerate(self._stretches):
            if stretch[0] == message:
                return self._tops[place]
        return None
