"""Base of the widgets that show masked tokens: marks, styles, keys and messages.

Tokens in the loss are filled, bold and underlined, others are plain. So the mask is visible without
color too. Special tokens are italic, as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message

from tokviz.chat.rendering import Rendering
from tokviz.text.glyphs import token_label
from tokviz.tui.actions import action, bindings_of, declared_in
from tokviz.tui.palette import LookTable, TokenPalette
from tokviz.tui.widgets.token_view import TokenView

LEARNED: Final = 1
SPECIAL: Final = 2
CUT: Final = 4
"""Cut off: after the maximum number of tokens."""
HOVERED: Final = 8
PINNED: Final = 16

MARKS: Final = ("○", "●")
"""Signs for mask 0 and 1."""
CUT_MARK: Final = "✂"

_LEARNED_HUE: Final = 2
"""The hue of tokens in the loss, one of the palette's, so that it suits every terminal."""


class MaskStyles(LookTable):
    """Styles of combinations of the bits above."""

    def __init__(self, palette: TokenPalette, ground: Style) -> None:
        """Take the palette, and the widget's style below it."""
        super().__init__(palette, ground)
        self.muted = self.base + palette.pending

    def style_of(self, look: int) -> Style:
        """Compose the style of some bits."""
        palette = self.palette
        style = self.base
        if look & LEARNED:
            style += palette.hues[_LEARNED_HUE] + Style(bold=True, underline=True)
        if look & SPECIAL:
            style += Style(italic=True)
            if not palette.mono and not look & LEARNED:
                style += Style(color=palette.special.color)
        if look & CUT:
            style = self.muted + Style(strike=True)
        if look & PINNED:
            style += palette.pin
        if look & HOVERED:
            style += palette.hover
        return style


_HEADING = "In tokens with a mask"


@dataclass
class MaskTokenPicked(Message):
    """The user chose a token of a rendering."""

    index: int


class MaskView(TokenView):
    """The tokens of a rendering in rows, one of which can be chosen."""

    class Entered(Message):
        """The user wants to go to the message of the chosen token."""

    def __init__(self, palette: TokenPalette, *, id: str | None = None) -> None:
        """Create a view without tokens."""
        super().__init__(id=id)
        self.tokens: Rendering | None = None
        self._palette = palette
        self._styles: MaskStyles | None = None

    # -- content

    def show(self, tokens: Rendering | None, *, pin: int | None = None) -> None:
        """Show other tokens, None for none; `pin` is the explained token."""
        if _meaning(tokens) != _meaning(self.tokens):
            self.forget()
        if tokens is not self.tokens:
            self._hover = None  # another token may be under the mouse
        self.pinned = pin
        self.tokens = tokens
        self.sync()

    def forget(self) -> None:
        """Forget anything derived from ids, because they now refer to other tokens."""

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return 0 if self.tokens is None else len(self.tokens.ids)

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._palette = palette
        self.restyle()

    def restyle(self) -> None:
        """Forget the styles, and redraw."""
        self._styles = None
        super().restyle()

    def set_pin(self, index: int | None, *, scroll: bool = False) -> None:
        """Mark the explained token, and optionally scroll to it."""
        if index != self.pinned:
            self.pinned = index
            self.refresh()
        if scroll and index is not None and self.size and 0 <= index < self.n_tokens:
            self.show_row(self.row_of(index))

    # -- drawing

    @property
    def styles_of(self) -> MaskStyles:
        """The styles of tokens on this widget's background."""
        if self._styles is None:
            self._styles = MaskStyles(self._palette, self.rich_style)
        return self._styles

    def label(self, tokens: Rendering, index: int) -> tuple[str, int]:
        """Return a token's label and its width in cells."""
        label = token_label(tokens.token_bytes(index))
        return label, cell_len(label)

    def look(self, tokens: Rendering, index: int) -> int:
        """Return the style bits of a token."""
        look = LEARNED if tokens.mask[index] else 0
        if tokens.is_special(index):
            look |= SPECIAL
        if index >= tokens.n_kept:
            look |= CUT
        if index == self.pinned:
            look |= PINNED
        if index == self._hover:
            look |= HOVERED
        return look

    # -- mouse and keys

    def hover(self, index: int | None) -> None:
        """Highlight the token under the mouse."""
        self._hover = index
        self.refresh()

    def pin(self, index: int) -> None:
        """Choose a token."""
        self.set_pin(index, scroll=True)
        self.post_message(MaskTokenPicked(index))

    def enter(self) -> None:
        """Go to the message of the chosen token."""
        self.post_message(self.Entered())

    @action(
        "Next learned tokens",
        "n",
        section=_HEADING,
        help="Go to the first token of the next run of tokens that a model learns.",
        id="next_learned",
        call="learned(1)",
    )
    @action(
        "Previous learned tokens",
        "p",
        section=_HEADING,
        help="Go to the first token of the previous run of learned tokens.",
        id="previous_learned",
        call="learned(-1)",
    )
    def action_learned(self, step: int) -> None:
        """Choose the first token of the next or the previous run of learned tokens."""
        if self.tokens is None:
            return
        mask = self.tokens.mask
        index = step + (-1 if self.pinned is None else self.pinned)
        while 0 <= index < len(mask):
            if mask[index] and (index == 0 or not mask[index - 1]):
                self._pick(index)
                return
            index += step

    def action_pick(self) -> None:
        """Choose the first token in view, or go to the message of the chosen one."""
        if self.pinned is None:
            self.action_move(0)
        else:
            self.enter()

    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of(declared_in(locals()))]


def known_pin(pin: int | None, tokens: Rendering | None) -> int | None:
    """Return the index of a token, None if the rendering has no such token."""
    return pin if pin is not None and tokens is not None and pin < len(tokens) else None


def kept_pin(pin: int | None, before: Rendering | None, now: Rendering | None) -> int | None:
    """Return the index of the explained token, None if it is another token after a change.

    Args:
        pin: The index in the previous rendering.
        before: The previous rendering.
        now: The current rendering.
    """
    pin = known_pin(pin, before)
    if now is before or pin is None:
        return pin
    if now is None or before is None or now.tokenizer is not before.tokenizer:
        return None
    up_to = slice(pin + 1)
    same = now.ids[up_to] == before.ids[up_to]
    # Missing special tokens have the same made-up ids in all templates.
    return pin if same and now.token_bytes(pin) == before.token_bytes(pin) else None


def _meaning(tokens: Rendering | None) -> object:
    """Return the values that determine the tokens of a rendering's ids."""
    if tokens is None:
        return None
    return tokens.tokenizer, tuple(tokens.virtual_specials.items())
