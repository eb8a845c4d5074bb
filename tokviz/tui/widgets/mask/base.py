"""What the widgets that show masked tokens have in common: marks, keys and messages."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.mask.look import CUT, HOVERED, LEARNED, PINNED, SPECIAL, MaskStyles
from tokviz.tui.widgets.mask.tokens import Labels, MaskedTokens
from tokviz.tui.widgets.quiet_scroll import DiffedScroll
from tokviz.tui.widgets.token_view import TokenView


class MaskTokenPicked(Message):
    """The user chose a token of a rendering."""

    def __init__(self, index: int) -> None:
        """Take the token's index in the rendering."""
        super().__init__()
        self.index = index


class MaskView(TokenView, DiffedScroll):
    """Shows the tokens of a rendering in rows; one can be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "learned(1)", "Next learned stretch", show=False),
        Binding("p", "learned(-1)", "Previous learned stretch", show=False),
    ]

    class Entered(Message):
        """The user asked to go to the message of the chosen token."""

    def __init__(self, palette: TokenPalette, *, id: str | None = None) -> None:
        """Take the colours; there are no tokens yet."""
        super().__init__(id=id)
        self.tokens: MaskedTokens | None = None
        self.labels = Labels()
        self._palette = palette
        self._styles: MaskStyles | None = None

    # -- what is shown

    def show(
        self,
        tokens: MaskedTokens | None,
        *,
        ids_changed: bool = False,
        pin: int | None = None,
    ) -> None:
        """Show other tokens.

        Args:
            tokens: The tokens, None for none.
            ids_changed: Whether the same ids may stand for other tokens than before.
            pin: The token that is explained.
        """
        self._pin = pin
        if ids_changed:
            self.labels.clear()
        self.tokens = tokens
        self.sync()

    @abstractmethod
    def sync(self) -> None:
        """Lay out and draw what has become of the tokens."""

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return 0 if self.tokens is None else len(self.tokens.ids)

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self.restyle()

    def restyle(self) -> None:
        """Forget the styles, and draw everything again."""
        self._styles = None
        super().restyle()

    def set_pin(self, index: int | None, *, scroll: bool = False) -> None:
        """Mark the token that is explained, and bring it into view if asked to."""
        if index != self._pin:
            self._pin = index
            self.refresh_changed()
        if scroll and index is not None and self.size and 0 <= index < self.n_tokens:
            self.show_row(self.row_of(index))

    # -- drawing

    @property
    def styles_of(self) -> MaskStyles:
        """The styles of looks on this widget's ground."""
        if self._styles is None:
            self._styles = MaskStyles(self._palette, self.rich_style)
        return self._styles

    def look(self, index: int, special: bool) -> int:
        """Say how a token looks."""
        assert self.tokens is not None
        look = LEARNED if self.tokens.mask[index] else 0
        if special:
            look |= SPECIAL
        if index >= self.tokens.n_kept:
            look |= CUT
        if index == self._pin:
            look |= PINNED
        if index == self._hover:
            look |= HOVERED
        return look

    # -- mouse and keys

    def hover(self, index: int | None) -> None:
        """Light up the token under the pointer."""
        self._hover = index
        self.refresh_changed()

    def pin(self, index: int) -> None:
        """Choose a token."""
        self.set_pin(index, scroll=True)
        self.post_message(MaskTokenPicked(index))

    def enter(self) -> None:
        """Go to the message of the chosen token."""
        self.post_message(self.Entered())

    def action_learned(self, step: int) -> None:
        """Choose the first token of the next stretch that is learned, or of the one before."""
        if self.tokens is None:
            return
        mask = self.tokens.mask
        index = -1 if self._pin is None else self._pin
        index += step
        while 0 <= index < len(mask):
            if mask[index] and (index == 0 or not mask[index - 1]):
                self._pick(index)
                return
            index += step

    def action_pick(self) -> None:
        """Choose the first token in view, or go to the message of the chosen one."""
        if self._pin is None:
            self.action_move(0)
        else:
            self.enter()
