"""A text drawn as the tokens that it is told; some of them can be lit up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.message import Message
from textual.strip import Strip

from tokviz.live.document import BEGINS_INSIDE, ENDS_INSIDE, LiveDocument, TokenSpan
from tokviz.live.hues import hues_of
from tokviz.text import bytetext
from tokviz.text.glyphs import Glyphs
from tokviz.tui.messages import RIGHT, WhyWanted
from tokviz.tui.widgets.editor.cells import glyph_table
from tokviz.tui.widgets.editor.document import ExactDocument
from tokviz.tui.widgets.editor.row_painter import HOVERED, PINNED, Marks, RowPainter, row_looks
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument
from tokviz.tui.widgets.line_scroll_view import LineScrollView

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.tui.palette import TokenPalette


@dataclass(frozen=True, slots=True)
class TextTokens:
    """The tokens of a text, and the highlighted parts.

    Attributes:
        ids: The token ids; shape (n,).
        byte_ends: The end of each token, in bytes; shape (n,).
        highlight_starts: The start of each highlighted part, ascending, in bytes; shape (m,).
        highlight_middles: The border of the two tokens that it is or was; shape (m,).
        highlight_ends: The end of each highlighted part; shape (m,).
    """

    ids: npt.NDArray[np.int64]
    byte_ends: npt.NDArray[np.int64]
    highlight_starts: npt.NDArray[np.int64]
    highlight_middles: npt.NDArray[np.int64]
    highlight_ends: npt.NDArray[np.int64]


class TokenText(LineScrollView):
    """A text and its tokens. Showing another tokenization only draws the rows in view."""

    HEARS_RIGHT: ClassVar[bool] = True
    DEFAULT_CSS = """
    TokenText { background: $background; }
    """

    @dataclass
    class Picked(Message):
        """The user clicked a token."""

        token_id: int

    def __init__(
        self, palette: TokenPalette, *, show_invisibles: bool = True, id: str | None = None
    ) -> None:
        """Create an empty view.

        Args:
            palette: The styles of tokens.
            show_invisibles: Whether invisible characters, such as spaces, are drawn as glyphs.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._palette = palette
        self._glyphs: Glyphs = glyph_table(show_invisibles)
        self._specials: frozenset[int] = frozenset()
        self._tokens: TextTokens | None = None
        self.asked: int | None = None
        """The character whose token was last asked about."""
        self._take_text("")

    def _take_text(self, text: str) -> None:
        self.live = LiveDocument(text, None)
        """The text, without tokens."""
        self._wrapped: ExactWrappedDocument | None = None
        self._painter = RowPainter(self.live, self._palette, self._glyphs, self._looks)

    # -- called by the screen

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
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
        self._tokens = tokens
        self.refresh()

    def reveal_highlight(self) -> None:
        """Scroll to the next highlighted part below, else to the first, if none is in view."""
        tokens, wrapped = self._tokens, self._wrapped
        if (
            tokens is None
            or wrapped is None
            or not len(tokens.highlight_starts)
            or not self.size.height
        ):
            return
        top = self._start_byte(self.top_row)
        below = self._start_byte(self.top_row + self.size.height)
        first = int(tokens.highlight_starts.searchsorted(top))
        if first < len(tokens.highlight_starts) and tokens.highlight_starts[first] < below:
            return
        target = int(tokens.highlight_starts[first % len(tokens.highlight_starts)])
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
        """Wrap the text for the current width."""
        width = self.row_width
        if width > 0 and (self._wrapped is None or self._wrapped.width != width):
            document = ExactDocument(self.live)
            self._wrapped = ExactWrappedDocument(document, width, self._glyphs, self._stay)
            self.set_row_count(self._wrapped.height)

    def _stay(self, row: int, change: int) -> None:
        """Keep the visible text in place when the number of rows above it changes."""
        self.set_row_count(self.virtual_size.height + change)
        if row < self.top_row:
            self.set_scroll(None, max(row, self.top_row + change))
        self.refresh()

    def on_resize(self) -> None:
        """Wrap the text for the new width."""
        self._fit()

    def on_show(self) -> None:
        """Catch up with changes that happened while the text was hidden."""
        self._fit()

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        self._fit()
        self._painter.set_ground(self.role_styles.base)
        wrapped, row, width = self._wrapped, self.top_row + y, self.row_width
        if wrapped is None:
            return Strip.blank(width, self.role_styles.base)
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
        for first, last, bit in highlighted_chars(tokens, offsets):
            for index in range(first, last):
                looks[index] |= bit
        return looks

    # -- the mouse

    def on_click(self, event: events.Click) -> None:
        """Post the token that was clicked."""
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


def char_offsets(text: str, first_byte: int) -> list[int]:
    """Return the byte offset of every character of a part of a text, and of its end."""
    if text.isascii():
        return list(range(first_byte, first_byte + len(text) + 1))
    return list(accumulate(map(bytetext.n_bytes, text), initial=first_byte))


def spans_in(tokens: TextTokens, offsets: list[int], start: int) -> list[TokenSpan]:
    """Return the tokens that overlap a part of a text, clipped to it.

    Args:
        tokens: The tokens of the whole text.
        offsets: The byte offset of every character of the part, and of its end.
        start: The first character of the part in the whole text.
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


def highlighted_chars(tokens: TextTokens, offsets: list[int]) -> list[tuple[int, int, int]]:
    """Return highlighted characters: the first, the index after the last, and their style bit.

    The two tokens of a highlighted part have different styles, so that their border is visible.
    """
    first = int(tokens.highlight_ends.searchsorted(offsets[0], "right"))
    last = int(tokens.highlight_starts.searchsorted(offsets[-1], "left"))
    found: list[tuple[int, int, int]] = []
    for index in range(first, last):
        start, middle, end = (
            int(places[index])
            for places in (tokens.highlight_starts, tokens.highlight_middles, tokens.highlight_ends)
        )
        border = int(tokens.byte_ends.searchsorted(middle))
        is_two = border < len(tokens.byte_ends) and tokens.byte_ends[border] == middle
        halves = [(start, middle, PINNED), (middle, end, HOVERED)] if is_two else []
        for low, high, bit in halves or [(start, end, PINNED)]:
            first_char = max(bisect_right(offsets, low) - 1, 0)
            last_char = min(bisect_left(offsets, high), len(offsets) - 1)
            found.append((first_char, last_char, bit))
    return found
