"""Which tokens stand in which row of a flow: every message begins a row of its own."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from math import inf
from operator import itemgetter
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokviz.text.glyphs import NEWLINE

_AT_ONCE = 64
"""Tokens that are laid out in one go at first, then twice as many each time."""

_MOST_AT_ONCE = 1 << 15

_MOST_IDS = 1 << 22
"""Token ids up to this one have a place in a table of sizes, which takes four bytes for each."""


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


Ids = NDArray[np.uint32]


class Sizes:
    """How many cells tokens take, by their ids: many are broken without asking for each."""

    def __init__(self) -> None:
        """Begin with none."""
        self._table = np.empty(0, np.int32)

    def rows(self, ids: Ids, width: int, cells: Cells) -> list[int]:
        """Break tokens as `break_tokens` does.

        Args:
            ids: Their ids.
            width: The cells of a row.
            cells: Gives what is drawn for them.
        """
        sizes = self._sizes(ids, cells) if len(ids) > _AT_ONCE else None
        if sizes is None:
            return break_tokens(cells(0, len(ids)), width)
        n = len(ids)
        sums = [0, *np.cumsum((sizes >> 1) + 1).tolist()]
        line_ends = [*(np.flatnonzero(sizes & 1) + 1).tolist(), n]
        stops, start, line = list[int](), 0, 0
        most = width // 2 + 2  # a token takes at least a cell, and one is between two
        while start < n:
            stop = bisect_right(sums, sums[start] + width + 1, start, min(start + most, n + 1)) - 1
            stop = min(max(stop, start + 1), line_ends[line])
            line += stop == line_ends[line]
            stops.append(stop)
            start = stop
        return stops

    def _sizes(self, ids: Ids, cells: Cells) -> NDArray[np.int32] | None:
        """Give twice the cells of each, one more if it ends a line; None for what is unusual."""
        n_ids = int(ids.max()) + 1
        if n_ids > _MOST_IDS:
            return None
        lacking = n_ids - len(self._table)
        if lacking > 0:
            self._table = np.concatenate((self._table, np.full(lacking, -1, np.int32)))
        sizes = self._table[ids]
        if sizes.min() < 0:
            unknown = np.flatnonzero(sizes < 0)
            for place in unknown[np.unique(ids[unknown], return_index=True)[1]].tolist():
                label, size = cells(place, place + 1)[0]
                self._table[ids[place]] = 2 * size + label.endswith(NEWLINE)
            sizes = self._table[ids]
        return sizes if sizes.min() > 1 else None


Stops = NDArray[np.int64]
"""For every row the number of the token behind its last one."""


def break_anew(
    old: Ids, stops: Stops, new: Ids, width: int, cells: Cells, sizes: Sizes, until: float
) -> Stops:
    """Break tokens into rows of which others are known; only those that differ are laid out.

    A row depends on its tokens and on the one behind it.

    Args:
        old: Token ids that were broken.
        stops: Their rows, for the same width.
        new: The token ids to break.
        width: The cells of a row.
        cells: Gives what is drawn for the new ones.
        sizes: What is known of their sizes.
        until: When to stop, by the steady clock. Those behind the last row are left then.
    """
    first, behind = _n_same(old, new)
    n, shift = len(new), len(new) - len(old)
    known = stops[: np.searchsorted(stops, first)]
    at = int(known[-1]) if len(known) else 0
    size, parts = _AT_ONCE, [known]
    while at < n:
        start, stop = at, min(at + size, n)
        rows = sizes.rows(
            new[start:stop],
            width,
            lambda low, high, start=start: cells(start + low, start + high),  # type: ignore[misc]
        )
        if stop < n:
            rows.pop()  # more might stand in the last one
        size = min(2 * size, _MOST_AT_ONCE) if rows else 2 * size
        found = start + np.array(rows, np.int64)
        late = found[np.searchsorted(found, n - behind) :]
        if len(stops) and len(late):
            places = np.searchsorted(stops, late - shift)
            same = stops.take(places, mode="clip") == late - shift
            if same.any():
                first_same = int(same.argmax())
                parts += [found[found <= late[first_same]], stops[places[first_same] + 1 :] + shift]
                break
        parts.append(found)
        at = int(found[-1]) if len(found) else at
        if at > first and monotonic() > until:
            break
    return np.concatenate(parts)


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
        self._sizes = Sizes()
        self._ids = _NONE
        self._stretches: list[Stretch] = []
        self._stops: list[Stops] = []
        self._tops: list[int] = [0]
        self._goal: tuple[object, object, int] | None = None
        """What is being laid out: the ids, whose they are, and the width."""
        self._steps: Iterator[bool] = iter(())
        self._until = inf

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self._tops[-1]

    def forget(self) -> None:
        """Lay everything out anew the next time: tokens are drawn as something else."""
        self._width = 0
        self._sizes = Sizes()
        self._goal = None

    def lay_out(
        self,
        ids: array[int],
        stretches: Iterable[Stretch],
        width: int,
        cells: Cells,
        seconds: float = inf,
    ) -> bool:
        """Lay tokens out, and tell whether these are all; the same again goes on with the rest.

        Args:
            ids: The token ids, which are not to be changed afterwards.
            stretches: Whose they are; each stretch begins a row.
            width: The cells of a row.
            cells: Gives what is drawn for the tokens from one index to behind another.
            seconds: After which the rest is left.
        """
        self._until = monotonic() + seconds
        goal = self._goal
        if goal is None or goal[0] is not ids or goal[1] is not stretches or goal[2] != width:
            self._goal = ids, stretches, width
            self._steps = self._break(ids, list(stretches), width, cells)
        is_all = next(self._steps, True)
        if is_all:
            self._goal = None
        return is_all

    def _break(
        self, ids: array[int], new: list[Stretch], width: int, cells: Cells
    ) -> Iterator[bool]:
        """Lay tokens out, and give False whenever the time is over."""
        same_width = width == self._width
        was = self._ids if same_width else _NONE
        old, old_stops = (self._stretches, self._stops) if same_width else ([], [])
        now = np.frombuffer(ids, np.uint32)
        n_before, n_behind = _n_unmoved(was, old, now, new)
        changed = slice(n_before, len(old) - n_behind)
        before = {
            message: (was[first:last], rows)
            for (message, first, last), rows in zip(old[changed], old_stops[changed], strict=True)
        }
        # One that moved is found by its tokens. To look for them takes long where there are many.
        is_many = len(old) - n_behind - n_before > 1
        moved = {tokens.tobytes(): rows for tokens, rows in before.values()} if is_many else {}
        self._width = width
        self._set(now[: new[n_before - 1][2] if n_before else 0], new[:n_before], old_stops)
        for stretch in new[n_before : len(new) - n_behind]:
            message, first, last = stretch
            tokens = now[first:last]
            rows = moved.get(tokens.tobytes()) if moved else None
            known = before.get(message, (_NONE, _NO_ROWS))
            self._tops.append(self._tops[-1])
            self._stops.append(_NO_ROWS)
            self._stretches.append(stretch)
            while True:
                if rows is None:
                    rows = break_anew(
                        *known,
                        tokens,
                        width,
                        lambda low, high, first=first: cells(first + low, first + high),  # type: ignore[misc]
                        self._sizes,
                        self._until,
                    )
                end = first + int(rows[-1]) if len(rows) else last
                self._stops[-1] = rows
                self._tops[-1] = self._tops[-2] + len(rows)
                if end < last or (end < len(now) and monotonic() > self._until):
                    self._stretches[-1] = message, first, end
                    self._ids = now[:end]
                    yield False
                    self._stretches[-1] = stretch
                if end == last:
                    break
                known, rows = (tokens[: end - first], rows), None
        self._set(now, new, [*self._stops, *old_stops[len(old) - n_behind :]])

    def _set(self, ids: Ids, stretches: list[Stretch], stops: list[Stops]) -> None:
        """Take what is laid out: as many of the rows as there are stretches."""
        self._ids, self._stretches = ids, stretches
        self._stops = stops[: len(stretches)]
        self._tops = [0, *accumulate(map(len, self._stops))]

    @property
    def n_tokens(self) -> int:
        """How many tokens are laid out."""
        return len(self._ids)

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
