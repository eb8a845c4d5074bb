"""The tokens of a rendering side by side, as text or as ids, with their mask."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from rich.segment import Segment
from textual.cache import LRUCache
from textual.strip import Strip

from tokviz.chat.rendering import Rendering
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.mask.base import MaskView
from tokviz.tui.widgets.mask.flow_layout import FlowLayout

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
