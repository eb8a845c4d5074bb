"""Lists of a rendering's tokens, with the reason of their mask or with their targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tokviz.chat.rendering import Rendering
from tokviz.text.glyphs import safe
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.mask.base import CUT, CUT_MARK, HOVERED, LEARNED, MARKS, PINNED, MaskView

Listed = Literal["mask", "targets"]


class MaskRows(MaskView):
    """A list with one token per row.

    `mask`: the index of the token, its mask, its text and the reason of its mask.
    `targets`: in training, position i predicts token i + 1. A row shows the token at position i,
    the next token, and whether that prediction is in the loss: the mask of the next token.
    """

    def __init__(
        self,
        palette: TokenPalette,
        listed: Listed,
        reason_of: Callable[[int], str],
        *,
        id: str | None = None,
    ) -> None:
        """Take the palette, the kind of list, and a function that returns a token's reason."""
        super().__init__(palette, id=id)
        self.listed = listed
        self._reason_of = reason_of

    @property
    def _n_rows(self) -> int:
        n_tokens = self.n_tokens
        if self.listed == "targets":
            kept = min(n_tokens, self.tokens.n_kept) if self.tokens is not None else 0
            return max(0, kept - 1)
        return n_tokens

    def sync(self) -> None:
        """Update the number of rows, and redraw."""
        if self.size:
            self.set_row_count(self._n_rows + 1 if self._n_rows else 0)
            self.refresh()

    # The first row is the heading, which scrolls with the others.

    def row_of(self, index: int) -> int:
        """Return the row of a token; in a list of targets, that of the position predicting it."""
        if self.listed == "targets":
            return max(0, min(index - 1, self._n_rows - 1)) + 1
        return index + 1

    def row_tokens(self, number: int) -> range:
        """Return the token of a row; in a list of targets, the target."""
        if not 0 < number <= self._n_rows:
            number = 1
        index = number if self.listed == "targets" else number - 1
        return range(index, min(index + 1, self.n_tokens))

    def token_at(self, x: int, number: int) -> int | None:
        """Return the token of a row."""
        return self.row_tokens(number).start if 0 < number <= self._n_rows else None

    # -- drawing

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        number = self.top_row + y
        tokens, styles = self.tokens, self.styles_of
        width = self.size.width
        if tokens is None or number > self._n_rows or not self._n_rows:
            return Strip.blank(width, styles.base)
        index_width = len(str(max(0, self.n_tokens - 1))) + 1
        if number == 0:
            segments = self._heading(index_width)
        elif self.listed == "mask":
            segments = self._mask_row(tokens, number - 1, index_width)
        else:
            segments = self._target_row(tokens, number, index_width)
        return Strip(segments).adjust_cell_length(width, styles.base)

    def _columns(self, index_width: int) -> tuple[int, int]:
        """Return the widths of the two columns after the number and the sign."""
        room = max(8, self.row_width - index_width - 4)
        if self.listed == "mask":
            reason = max(8, min(22, room // 2))
            return max(4, room - reason - 1), reason
        half = max(4, (room - 10) // 2)
        return half, half

    def _heading(self, index_width: int) -> list[Segment]:
        left, right = self._columns(index_width)
        text = " " * index_width
        if self.listed == "mask":
            text += f"  {column('token', left)} {fit('reason', right)}"
        else:
            text += f"{column('sees up to', left)}  → {column('predicts', right)}"
        return [Segment(fit(text, self.row_width), self.styles_of.muted)]

    def _token(
        self, tokens: Rendering, index: int, width: int, *, marked: bool = True
    ) -> list[Segment]:
        """Draw the label of a token, padded to its column."""
        label = fit(self.label(tokens, index)[0], width)
        look = self.look(tokens, index)
        if not marked:
            look &= ~(LEARNED | CUT | PINNED | HOVERED)
        gap = " " * max(0, width - cell_len(label))
        return [Segment(label, self.styles_of[look]), Segment(gap, self.styles_of.base)]

    def _mask_row(self, tokens: Rendering, index: int, index_width: int) -> list[Segment]:
        styles = self.styles_of
        left, right = self._columns(index_width)
        learned = bool(tokens.mask[index])
        sign = CUT_MARK if index >= tokens.n_kept else MARKS[learned]
        reason = fit(safe(self._reason_of(index)), right)
        return [
            Segment(f"{index:>{index_width - 1}} ", styles.muted),
            Segment(f"{sign} ", styles.base + Style(bold=learned)),
            *self._token(tokens, index, left),
            Segment(f" {reason}", styles.base if learned else styles.muted),
        ]

    def _target_row(self, tokens: Rendering, target: int, index_width: int) -> list[Segment]:
        styles = self.styles_of
        left, right = self._columns(index_width)
        learned = bool(tokens.mask[target])
        sign = f" {MARKS[learned]} {'learned' if learned else ''}"
        return [
            Segment(f"{target - 1:>{index_width - 1}} ", styles.muted),
            *self._token(tokens, target - 1, left, marked=False),
            Segment("  → ", styles.base if learned else styles.muted),
            *self._token(tokens, target, right),
            Segment(sign, styles.base + Style(bold=True) if learned else styles.muted),
        ]
