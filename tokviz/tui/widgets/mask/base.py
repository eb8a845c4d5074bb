"""What the widgets that show masked tokens have in common: marks, keys and messages."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.mask.look import CUT, HOVERED, LEARNED, PINNED, SPECIAL, MaskStyles
from tokviz.tui.widgets.mask.tokens import Labels, MaskedTokens
from tokviz.tui.widgets.quiet_scroll import DiffedScroll


class MaskTokenPicked(Message):
    """The user chose a token of a rendering."""

    def __init__(self, index: int) -> None:
        """Take the token's index in the rendering."""
        super().__init__()
        self.index = index


class MaskView(DiffedScroll):
    """Shows the tokens of a rendering in rows; one can be chosen.

    A subclass says where tokens stand.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Previous token", show=False),
        Binding("right", "move(1)", "Next token", show=False),
        Binding("up", "move_rows(-1)", "Up", show=False),
        Binding("down", "move_rows(1)", "Down", show=False),
        Binding("pageup", "move_pages(-1)", "Page up", show=False),
        Binding("pagedown", "move_pages(1)", "Page down", show=False),
        Binding("home", "first", "First token", show=False),
        Binding("end", "last", "Last token", show=False),
        Binding("n", "learned(1)", "Next learned stretch", show=False),
        Binding("p", "learned(-1)", "Previous learned stretch", show=False),
        Binding("enter", "pick", "Go to the token", show=False),
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
        self._hover: int | None = None
        self._pin: int | None = None

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

    def sync(self) -> None:
        """Lay out and draw what has become of the tokens."""
        raise NotImplementedError

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return 0 if self.tokens is None else len(self.tokens.ids)

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self._styles = None
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw everything again when the theme changed."""
        super().notify_style_update()
        self._styles = None
        self.refresh()

    def set_pin(self, index: int | None, *, scroll: bool = False) -> None:
        """Mark the token that is explained, and bring it into view if asked to."""
        if index != self._pin:
            self._pin = index
            self.refresh_changed()
        if scroll and index is not None and self.size and 0 <= index < self.n_tokens:
            self.show_row(self.row_of(index))

    def row_of(self, index: int) -> int:
        """Give the row of a token."""
        raise NotImplementedError

    def row_tokens(self, number: int) -> range:
        """Give the tokens of a row."""
        raise NotImplementedError

    def token_at(self, x: int, number: int) -> int | None:
        """Find the token drawn at a column of a row."""
        raise NotImplementedError

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

    # -- mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light up the token under the pointer."""
        self._hover_at(self._index_at(event))

    def on_leave(self) -> None:
        """Light up none."""
        self._hover_at(None)

    def _hover_at(self, index: int | None) -> None:
        if index != self._hover:
            self._hover = index
            self.refresh_changed()

    def on_click(self, event: events.Click) -> None:
        """Choose the token under the pointer; twice goes to its message."""
        index = self._index_at(event)
        if index is not None:
            self._pick(index)
            if event.chain == 2:
                self.post_message(self.Entered())

    def _index_at(self, event: events.MouseEvent) -> int | None:
        place = event.get_content_offset(self)
        if place is None or place.x >= self.row_width:
            return None
        number = self.top_row + place.y
        return self.token_at(place.x, number) if number < self.virtual_size.height else None

    # -- keys

    def _pick(self, index: int) -> None:
        if 0 <= index < self.n_tokens:
            self.set_pin(index, scroll=True)
            self.post_message(MaskTokenPicked(index))

    def _move_to(self, index: int) -> None:
        self._pick(max(0, min(index, self.n_tokens - 1)))

    def action_move(self, step: int) -> None:
        """Choose the token some places on, or the first one in view if none is chosen."""
        if self._pin is None:
            self.action_pick()
        else:
            self._move_to(self._pin + step)

    def action_move_rows(self, step: int) -> None:
        """Choose the token above or below."""
        if self._pin is None or not self.n_tokens:
            self.action_pick()
            return
        here = self.row_of(min(self._pin, self.n_tokens - 1))
        last = self.virtual_size.height - 1
        target = self.row_tokens(max(0, min(here + step, last)))
        if not target:
            return
        into = min(self._pin - self.row_tokens(here).start, len(target) - 1)
        self._move_to(target.start + max(0, into))

    def action_move_pages(self, step: int) -> None:
        """Choose the token some pages on."""
        self.action_move_rows(step * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Choose the first token."""
        self._move_to(0)

    def action_last(self) -> None:
        """Choose the last token."""
        self._move_to(self.n_tokens - 1)

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
        if self._pin is not None:
            self.post_message(self.Entered())
        elif self.n_tokens:
            row = min(self.top_row, max(0, self.virtual_size.height - 1))
            self._move_to(self.row_tokens(row).start)
