"""The tokens of a rendering side by side, as text or as ids, with their mask."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from itertools import accumulate
from operator import attrgetter
from typing import Literal, NamedTuple

from rich.segment import Segment
from textual.strip import Strip

from tokviz.chat.rendering import Rendering
from tokviz.text.glyphs import NEWLINE
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.base import MaskView

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
    ids: array[int]
    stops: list[int]


class FlowLayout:
    """Rows of all tokens. Only messages that changed are laid out again."""

    def __init__(self) -> None:
        """Create a layout without tokens."""
        self._messages: list[_Message] = []
        self._tops: list[int] = [0]
        self.forget()

    def forget(self) -> None:
        """Lay everything out again the next time, because the labels of ids changed."""
        self._width = 0
        self._sizes: dict[int, tuple[int, bool]] = {}
        """The cells of each id, and whether it ends a line."""

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
        self._messages = []
        for message, first, last in stretches:
            new, old = ids[first:last], known.get(message)
            stops = old.stops if old and old.ids == new else self._break(new, first, cells)
            self._messages.append(_Message(message, first, new, stops))
        self._tops = [0, *accumulate(len(message.stops) for message in self._messages)]

    def _break(self, ids: array[int], first: int, cells: Cells) -> list[int]:
        """Break tokens into rows; return for every row the index after its last token."""
        stops: list[int] = []
        used, ends_line = 0, False
        for index, token_id in enumerate(ids):
            if token_id not in self._sizes:
                label, size = cells(first + index, first + index + 1)[0]
                self._sizes[token_id] = size, label.endswith(NEWLINE)
            size, is_newline = self._sizes[token_id]
            if used and (ends_line or used + size > self._width):
                stops.append(index)
                used = 0
            used += size + 1
            ends_line = is_newline
        return [*stops, len(ids)]

    def row(self, number: int) -> FlowRow:
        """Return the tokens of a row."""
        place = bisect_right(self._tops, number) - 1
        message, first, _, stops = self._messages[place]
        line = number - self._tops[place]
        start = first + (stops[line - 1] if line else 0)
        return FlowRow(message, line == 0, start, first + stops[line])

    def row_of(self, index: int) -> int:
        """Return the row of a token."""
        place = bisect_right(self._messages, index, key=attrgetter("first")) - 1
        _, first, _, stops = self._messages[place]
        return self._tops[place] + bisect_right(stops, index - first)

    def first_row_of(self, message: int) -> int | None:
        """Return the first row of a message, None if it has no tokens."""
        tops = zip(self._messages, self._tops, strict=False)
        return next((top for laid_out, top in tops if laid_out.message == message), None)


Shown = Literal["text", "ids"]


class MaskFlow(MaskView):
    """Rows of tokens. Each message starts a row, which begins with its number."""

    def __init__(
        self, palette: TokenPalette, shown: Shown = "text", *, id: str | None = None
    ) -> None:
        """Take the palette, and whether tokens are drawn as text or as ids."""
        super().__init__(palette, id=id)
        self.shown = shown
        self._layout = FlowLayout()
        self._laid_out: tuple[object, int] = (self, 0)

    def forget(self) -> None:
        """Forget the layout of the previous ids."""
        self._layout.forget()

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
        row, styles, gutter = self._layout.row(number), self.styles_of, self._gutter
        message = str(row.message + 1) if row.begins and row.message >= 0 else ""
        parts = [Segment(f"{message:<{gutter}}", styles.muted)]
        room = max(1, self._laid_out[1] - gutter)
        cells = self._cells(tokens, row.first, row.stop)
        for index, (text, width) in enumerate(cells, row.first):
            shown = fit(text, room) if width > room else text
            parts.append(Segment(shown, styles[self.look(tokens, index)]))
            parts.append(Segment(" ", styles.base))
        return Strip(parts).adjust_cell_length(self.size.width, styles.base)
