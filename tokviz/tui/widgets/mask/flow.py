"""The tokens of a rendering side by side, as text or as ids, with their mask."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Literal

from rich.segment import Segment
from textual.cache import LRUCache
from textual.strip import Strip
from textual.timer import Timer

from tokviz.chat.rendering import Rendering
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.base import MaskView
from tokviz.tui.widgets.mask.flow_layout import FlowLayout

Shown = Literal["text", "ids"]
_STRIPS_KEPT = 512

_SLICE_SECONDS, _REST_SECONDS = 0.008, 0.01
"""Between two slices of work keys are dealt with."""


class MaskFlow(MaskView):
    """Rows of tokens; each message begins a row, which its number stands before."""

    def __init__(
        self, palette: TokenPalette, shown: Shown = "text", *, id: str | None = None
    ) -> None:
        """Take the colours, and whether tokens are drawn as text or as ids."""
        super().__init__(palette, id=id)
        self.shown = shown
        self._layout = FlowLayout()
        self._strips: LRUCache[object, Strip] = LRUCache(_STRIPS_KEPT)
        self._laid_out: tuple[object, int] = (self, 0)
        self._goes_on: Timer | None = None

    def forget(self) -> None:
        """Forget what was drawn for ids, and how it was laid out."""
        super().forget()
        self._layout.forget()
        self._strips.clear()

    def restyle(self) -> None:
        """Forget what was drawn in other styles."""
        self._strips.clear()
        super().restyle()

    def sync(self) -> None:
        """Lay out what changed, and draw it; the end of many tokens comes later."""
        if self._goes_on is not None:
            self._goes_on.stop()
            self._goes_on = None
        if self.size:
            self._lay_out(_SLICE_SECONDS)
            self.refresh()

    def _lay_out(self, seconds: float = inf) -> None:
        tokens = self.tokens
        if tokens is None:
            self.set_row_count(0)
        else:
            width = max(1, self.row_width - self._gutter)
            cells = partial(self._cells, tokens)
            lay_out = partial(self._layout.lay_out, tokens.ids, tokens.stretches, width, cells)
            is_all = lay_out(seconds)
            # With fewer rows than are in view it would scroll back.
            while not is_all and self._layout.n_rows < self.top_row + self.size.height:
                is_all = lay_out(seconds)
            if not is_all:
                self._goes_on = self._goes_on or self.set_timer(_REST_SECONDS, self.sync)
            self.set_row_count(self._layout.n_rows)
        self._laid_out = (tokens, self.row_width)

    def on_resize(self) -> None:
        """Lay out for another width, and keep the chosen token in view."""
        if self._laid_out != (self.tokens, self.row_width):
            self.sync()
            self.set_pin(self.pinned, scroll=True)

    def on_show(self) -> None:
        """Catch up with what happened while it was hidden."""
        self.on_resize()

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
        """Give the row of a token."""
        # A key may come before there is room to draw them, or go to those that come later.
        if self._laid_out[0] is not self.tokens or index >= self._layout.n_tokens:
            self._lay_out()
        return self._layout.row_of(index)

    def row_tokens(self, number: int) -> range:
        """Give the tokens of a row."""
        if number >= self._layout.n_rows:
            return range(0)
        row = self._layout.row(number)
        return range(row.first, row.stop)

    def token_at(self, x: int, number: int) -> int | None:
        """Find the token drawn at a column of a row; the space behind one belongs to it."""
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
        if row is None and self._layout.n_tokens < self.n_tokens:
            self._lay_out()
            row = self._layout.first_row_of(message)
        if row is not None and self.size:
            height = self.size.height
            if not self.top_row <= row < self.top_row + max(1, height - 2):
                self.scroll_to(y=max(0, row - 1), animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        if self._laid_out[0] is not self.tokens:
            self.sync()
        number = self.top_row + y
        tokens = self.tokens
        if tokens is None or number >= self._layout.n_rows:
            return Strip.blank(self.size.width, self.styles_of.base)
        row = self._layout.row(number)
        here = range(row.first, row.stop)
        ids, mask = tokens.ids[row.first : row.stop].tobytes(), tokens.mask[row.first : row.stop]
        # What `look` depends on, counted from the row's first token, so that a row may move.
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
