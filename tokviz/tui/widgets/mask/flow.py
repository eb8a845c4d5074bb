"""The tokens of a rendering side by side, as text or as ids, with their mask."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.segment import Segment
from textual.cache import LRUCache
from textual.strip import Strip

from tokviz.chat.rendering import Rendering
from tokviz.text.glyphs import NEWLINE
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.base import MaskView

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


Shown = Literal["text", "ids"]
_STRIPS_KEPT = 512


class MaskFlow(MaskView):
    """Rows of tokens. Each message starts a row, which begins with its number."""

    def __init__(
        self, palette: TokenPalette, shown: Shown = "text", *, id: str | None = None
    ) -> None:
        """Take the palette, and whether tokens are drawn as text or as ids."""
        super().__init__(palette, id=id)
        self.shown = shown
        self._layout = FlowLayout()
        self._strips: LRUCache[object, Strip] = LRUCache(_STRIPS_KEPT)
        self._laid_out: tuple[object, int] = (self, 0)

    def forget(self) -> None:
        """Forget the drawn rows and the layout of the previous ids."""
        self._layout.forget()
        self._strips.clear()

    def restyle(self) -> None:
        """Forget the drawn rows and the styles."""
        self._strips.clear()
        super().restyle()

    def sync(self) -> None:
        """Lay out the tokens that changed, and redraw."""
        if self.size:
            self._lay_out()
            self.refresh()

    def _lay_out(self) -> None:
        tokens = self.tokens
        if tokens is None:
            self.set_row_count(0)
        else:
            width = max(1, self.row_width - self._gutter)
            self._layout.lay_out(tokens.ids, tokens.stretches, width, partial(self._cells, tokens))
            self.set_row_count(self._layout.n_rows)
        self._laid_out = (tokens, self.row_width)

    @property
    def _gutter(self) -> int:
        """The columns for the number of a message."""
        stretches = self.tokens.stretches if self.tokens is not None else ()
        return len(str(stretches[-1][0] + 1 if stretches else 1)) + 1

    def _cells(self, tokens: Rendering, first: int, stop: int) -> list[tuple[str, int]]:
        if self.shown == "ids":
            digits = [str(tokens.ids[index]) for index in range(first, stop)]
            return [(text, len(text)) for text in digits]
        return [self.label(tokens, index) for index in range(first, stop)]

    # -- rows

    def row_of(self, index: int) -> int:
        """Return the row of a token."""
        # A key may come before the view has a size.
        if self._laid_out[0] is not self.tokens:
            self._lay_out()
        return self._layout.row_of(index)

    def row_tokens(self, number: int) -> range:
        """Return the tokens of a row."""
        if number >= self._layout.n_rows:
            return range(0)
        row = self._layout.row(number)
        return range(row.first, row.stop)

    def token_at(self, x: int, number: int) -> int | None:
        """Return the token drawn at a column of a row, including the space after it."""
        if self.tokens is None or number >= self._layout.n_rows:
            return None
        row = self._layout.row(number)
        x -= self._gutter
        if x < 0:
            return None
        for index, (_, width) in enumerate(
            self._cells(self.tokens, row.first, row.stop), row.first
        ):
            x -= width + 1
            if x < 0:
                return index
        return None

    def show_message(self, message: int) -> None:
        """Scroll to the first row of a message."""
        row = self._layout.first_row_of(message)
        if row is not None and self.size:
            height = self.size.height
            if not self.top_row <= row < self.top_row + max(1, height - 2):
                self.scroll_to(y=max(0, row - 1), animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        if self._laid_out[0] is not self.tokens:
            self.sync()
        number = self.top_row + y
        tokens = self.tokens
        if tokens is None or number >= self._layout.n_rows:
            return Strip.blank(self.size.width, self.styles_of.base)
        row = self._layout.row(number)
        here = range(row.first, row.stop)
        ids, mask = tokens.ids[row.first : row.stop].tobytes(), tokens.mask[row.first : row.stop]
        # The marks, counted from the row's first token, so that a row may move.
        at = [(n or 0) - row.first if n in here else -1 for n in (self.pinned, self._hover)]
        n_kept = max(0, min(tokens.n_kept, row.stop) - row.first)
        message = row.message if row.begins else -1
        key = (ids, mask, *at, n_kept, message, self.size.width, self._gutter)
        strip = self._strips.get(key)
        if strip is None:
            cells = self._cells(tokens, row.first, row.stop)
            looks = [self.look(tokens, index) for index in here]
            strip = self._strips[key] = self._draw(message, cells, looks)
        return strip

    def _draw(self, message: int, cells: Sequence[tuple[str, int]], looks: Sequence[int]) -> Strip:
        styles, gutter = self.styles_of, self._gutter
        number = str(message + 1) if message >= 0 else ""
        parts = [Segment(f"{number:<{gutter}}", styles.muted)]
        room = max(1, self._laid_out[1] - gutter)
        for (text, width), look in zip(cells, looks, strict=True):
            parts.append(Segment(fit(text, room) if width > room else text, styles[look]))
            parts.append(Segment(" ", styles.base))
        return Strip(parts).adjust_cell_length(self.size.width, styles.base)
