"""A text drawn as the tokens that it is told; some of them can be lit up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.message import Message
from textual.strip import Strip

from tokviz.live.document import LiveDocument
from tokviz.live.hues import hues_of
from tokviz.live.spans import BEGINS_INSIDE, ENDS_INSIDE, TokenSpan
from tokviz.text import bytetext
from tokviz.text.glyphs import Glyphs
from tokviz.tui.messages import RIGHT, WhyWanted
from tokviz.tui.widgets.editor.cells import glyph_table
from tokviz.tui.widgets.editor.document import ExactDocument
from tokviz.tui.widgets.editor.painting import HOVERED, PINNED, Marks, row_looks
from tokviz.tui.widgets.editor.row_painter import RowPainter
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument
from tokviz.tui.widgets.line_scroll_view import QuietScroll

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.tui.palette import TokenPalette


@dataclass(frozen=True, slots=True)
class TextTokens:
    """The tokens of a text, and those to light up.

    Attributes:
        ids: The token ids; shape (n,).
        byte_ends: Where each token ends, in bytes; shape (n,).
        lit_starts: Where each lit stretch begins, ascending; shape (m,).
        lit_middles: Where it is divided into two tokens, or was; shape (m,).
        lit_ends: Where it ends; shape (m,).
    """

    ids: npt.NDArray[np.int64]
    byte_ends: npt.NDArray[np.int64]
    lit_starts: npt.NDArray[np.int64]
    lit_middles: npt.NDArray[np.int64]
    lit_ends: npt.NDArray[np.int64]


class TokenText(QuietScroll):
    """Shows a text and its tokens. Another tokenization costs as much as the rows in view."""

    HEARS_RIGHT: ClassVar[bool] = True
    DEFAULT_CSS = """
    TokenText { background: $background; }
    """

    class Picked(Message):
        """The user clicked a token."""

        def __init__(self, token_id: int) -> None:
            """Take the token's id."""
            super().__init__()
            self.token_id = token_id

    def __init__(
        self, palette: TokenPalette, *, show_invisibles: bool = True, id: str | None = None
    ) -> None:
        """Begin with an empty text.

        Args:
            palette: How tokens look.
            show_invisibles: Whether spaces, line ends and the like are drawn as glyphs.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._palette = palette
        self._glyphs: Glyphs = glyph_table(show_invisibles)
        self._specials: frozenset[int] = frozenset()
        self._tokens: TextTokens | None = None
        self.asked: int | None = None
        """The character whose token was asked about last."""
        self._take_text("")

    def _take_text(self, text: str) -> None:
        self.live = LiveDocument(text, None)
        """The text, without tokens of its own."""
        self._wrapped: ExactWrappedDocument | None = None
        self._painter = RowPainter(self.live, self._palette, self._glyphs, self._looks)

    # -- what the screen tells

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self._painter.set_palette(palette)
        self.refresh()

    def show_text(self, text: str, specials: frozenset[int] = frozenset()) -> None:
        """Show another byte text, whose tokens are not known yet."""
        self._take_text(text)
        self.asked = None
        self._specials = specials
        self._tokens = None
        self.scroll_to(y=0, animate=False)
        self._fit()
        self.refresh()

    def show_tokens(self, tokens: TextTokens | None) -> None:
        """Show other tokens of the text."""
        if not _are_equal(tokens, self._tokens):
            self.refresh()
        self._tokens = tokens

    def reveal_lit(self) -> None:
        """Scroll to the first lit token if none is in view."""
        tokens, wrapped = self._tokens, self._wrapped
        if tokens is None or wrapped is None or not len(tokens.lit_starts) or not self.size.height:
            return
        top = self._start_byte(self.top_row)
        below = self._start_byte(self.top_row + self.size.height)
        first = int(tokens.lit_starts.searchsorted(top))
        if first < len(tokens.lit_starts) and tokens.lit_starts[first] < below:
            return
        target = int(tokens.lit_starts[first % len(tokens.lit_starts)])
        place = self.live.location(self.live.char_offset(target))
        self.show_row(wrapped.location_to_offset(place).y)

    def _start_byte(self, row: int) -> int:
        wrapped = self._wrapped
        if wrapped is None or row >= wrapped.height:
            return self.live.n_bytes + 1
        part = wrapped.row_part(row)
        return self.live.byte_offset(self.live.line_start(part.line) + part.start)

    # -- drawing

    def _fit(self) -> None:
        """Break the text into rows of the present width."""
        width = self.row_width
        if width > 0 and (self._wrapped is None or self._wrapped.width != width):
            document = ExactDocument(self.live)
            self._wrapped = ExactWrappedDocument(document, width, self._glyphs, self._stay)
            self.set_row_count(self._wrapped.height)

    def _stay(self, row: int, change: int) -> None:
        """Let what is seen stay where it is when rows above prove to be more or fewer."""
        self.set_row_count(self.virtual_size.height + change)
        if row < self.top_row:
            self.set_scroll(None, max(row, self.top_row + change))
        self.refresh()

    def on_resize(self) -> None:
        """Break the text for the new width."""
        self._fit()

    def on_show(self) -> None:
        """Catch up with what happened while the text was hidden."""
        self._fit()

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        self._fit()
        self._painter.set_ground(self.ground)
        wrapped, row, width = self._wrapped, self.top_row + y, self.row_width
        if wrapped is None:
            return Strip.blank(width, self.ground)
        return self._painter.strip(wrapped, row, 0, width, Marks())

    def _looks(self, start: int, n_chars: int, marks: Marks) -> list[int]:
        tokens, end = self._tokens, start + n_chars
        if tokens is None:
            spans = [TokenSpan(start, end, -1, -1, -1, 0)] if n_chars else []
            return row_looks(start, n_chars, spans, (), marks)
        first_byte = self.live.byte_offset(start)
        offsets = char_offsets(self.live.text_in(start, end), first_byte)
        spans = spans_in(tokens, offsets, start)
        looks = row_looks(start, n_chars, spans, self._specials, marks)
        for first, last, bit in lit_chars(tokens, offsets):
            for index in range(first, last):
                looks[index] |= bit
        return looks

    # -- the mouse

    def on_click(self, event: events.Click) -> None:
        """Tell which token was clicked."""
        place, wrapped, tokens = self.place_at(event), self._wrapped, self._tokens
        if place is None or wrapped is None or tokens is None:
            return
        offset = self._painter.offset_at(wrapped, place.x, place.y)
        if offset is None:
            return
        byte = self.live.byte_offset(offset)
        index = int(tokens.byte_ends.searchsorted(byte, "right"))
        if index < len(tokens.ids) and event.button == RIGHT:
            self.asked = offset
            self.post_message(WhyWanted())
        elif index < len(tokens.ids):
            self.post_message(self.Picked(int(tokens.ids[index])))


def _are_equal(tokens: TextTokens | None, others: TextTokens | None) -> bool:
    """Tell whether two tokenizations of a text look the same."""
    if tokens is None or others is None:
        return tokens is others
    return all(
        len(mine) == len(theirs) and bool((mine == theirs).all())
        for mine, theirs in (
            (tokens.ids, others.ids),
            (tokens.byte_ends, others.byte_ends),
            (tokens.lit_middles, others.lit_middles),
        )
    )


def char_offsets(text: str, first_byte: int) -> list[int]:
    """Give the byte offset of every character of a stretch, and of its end."""
    if text.isascii():
        return list(range(first_byte, first_byte + len(text) + 1))
    return list(accumulate(map(bytetext.n_bytes, text), initial=first_byte))


def spans_in(tokens: TextTokens, offsets: list[int], start: int) -> list[TokenSpan]:
    """Give the tokens that touch a stretch of text, clipped to it.

    Args:
        tokens: The tokens of the whole text.
        offsets: The byte offset of every character of the stretch, and of its end.
        start: The first character of the stretch in the whole text.
    """
    if offsets[0] == offsets[-1]:
        return []
    first = int(tokens.byte_ends.searchsorted(offsets[0], "right"))
    last = min(int(tokens.byte_ends.searchsorted(offsets[-1], "left")) + 1, len(tokens.ids))
    ids = tokens.ids
    spans: list[TokenSpan] = []
    begin = int(tokens.byte_ends[first - 1]) if first else 0
    for index, hue in enumerate(hues_of(ids, first, last), first):
        end = int(tokens.byte_ends[index])
        first_char = max(bisect_right(offsets, begin) - 1, 0)
        last_char = min(bisect_left(offsets, end), len(offsets) - 1)
        split = BEGINS_INSIDE * (begin > offsets[0] and offsets[first_char] != begin)
        split |= ENDS_INSIDE * (end < offsets[-1] and offsets[last_char] != end)
        if last_char > first_char:
            spans.append(
                TokenSpan(start + first_char, start + last_char, index, int(ids[index]), hue, split)
            )
        begin = end
    return spans


def lit_chars(tokens: TextTokens, offsets: list[int]) -> list[tuple[int, int, int]]:
    """Give the lit characters of a stretch: first, behind last, and the bit of their look.

    Where a lit stretch is two tokens, they look different, so that the border between shows.
    """
    first = int(tokens.lit_ends.searchsorted(offsets[0], "right"))
    last = int(tokens.lit_starts.searchsorted(offsets[-1], "left"))
    found: list[tuple[int, int, int]] = []
    for index in range(first, last):
        start, middle, end = (
            int(places[index])
            for places in (tokens.lit_starts, tokens.lit_middles, tokens.lit_ends)
        )
        border = int(tokens.byte_ends.searchsorted(middle))
        is_two = border < len(tokens.byte_ends) and tokens.byte_ends[border] == middle
        halves = [(start, middle, PINNED), (middle, end, HOVERED)] if is_two else []
        for low, high, bit in halves or [(start, end, PINNED)]:
            first_char = max(bisect_right(offsets, low) - 1, 0)
            last_char = min(bisect_left(offsets, high), len(offsets) - 1)
            found.append((first_char, last_char, bit))
    return found
