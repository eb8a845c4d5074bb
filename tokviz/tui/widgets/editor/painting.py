"""Drawing of tokens in a row of the screen, in two pure steps.

`row_looks` returns the look of each character, a number: the hue of its token, and bits for special
tokens and marks. `paint` draws the text with these looks. Equal input gives an equal strip, so the
editor caches strips by the result of the first step.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tokviz.live.spans import BEGINS_INSIDE, TokenSpan
from tokviz.text.glyphs import NEWLINE, Glyphs
from tokviz.tui.palette import N_HUES, LookTable
from tokviz.tui.widgets.editor.cells import Cells

# A look is a hue, PENDING or NO_TOKEN, and any of the bits.
PENDING: Final = N_HUES
NO_TOKEN: Final = N_HUES + 1
HUE_MASK: Final = 7
STAND_IN: Final = 8
"""A glyph that represents another character."""
SPLIT: Final = 16
"""A token border inside a cell or a wide character."""
SPECIAL: Final = 32
SELECTED: Final = 64
HOVERED: Final = 128
PINNED: Final = 256
CURSOR: Final = 512
BLURRED_CURSOR: Final = 1024
UNSTABLE: Final = 2048
"""A token at the end of the text that the next character may change."""


class Marks(NamedTuple):
    """Marks drawn over the tokens, as offsets of the document: the first, and after the last."""

    selection: tuple[int, int] = (0, 0)
    hover: tuple[int, int] = (0, 0)
    pin: tuple[int, int] = (0, 0)
    cursor: int = -1
    """The offset of the cell at the cursor, or -1."""
    focused: bool = True
    unstable: tuple[int, int] = (0, 0)
    """The unstable tokens at the end of the text, which the next character may change."""

    def spans(self) -> list[tuple[int, int]]:
        """List the characters that have marks."""
        places = (self.selection, self.hover, self.pin, self.unstable)
        return [(self.cursor, self.cursor + 1), *(place for place in places if any(place))]


def row_looks(
    start: int,
    n_chars: int,
    spans: Iterable[TokenSpan],
    specials: Container[int],
    marks: Marks,
) -> list[int]:
    """Return the look of each character of a row.

    Args:
        start: Offset of the row's first character in the document.
        n_chars: The number of characters, including a drawn line feed or a cursor after the text.
        spans: The tokens that overlap them, in order.
        specials: The ids of special tokens.
        marks: The marks drawn over them.
    """
    looks = [NO_TOKEN] * n_chars
    for span in spans:
        _set_hue(looks, span, start, specials)
    for (lo, hi), bit in (
        (marks.selection, SELECTED),
        (marks.hover, HOVERED),
        (marks.pin, PINNED),
        (marks.unstable, UNSTABLE),
    ):
        for index in range(max(lo - start, 0), min(hi - start, n_chars)):
            looks[index] |= bit
    if 0 <= marks.cursor - start < n_chars:
        looks[marks.cursor - start] |= CURSOR if marks.focused else BLURRED_CURSOR
    return looks


def _set_hue(looks: list[int], span: TokenSpan, start: int, specials: Container[int]) -> None:
    """Set the hue of a token's characters; a shared character keeps the first token's hue."""
    look = span.hue if span.hue >= 0 else PENDING
    if span.id in specials:
        look |= SPECIAL
    first = span.start - start
    own = first + 1 if span.split & BEGINS_INSIDE else first
    lo, hi = max(own, 0), min(span.end - start, len(looks))
    if lo < hi:
        looks[lo:hi] = [look] * (hi - lo)
    if span.split & BEGINS_INSIDE and 0 <= first < len(looks):
        looks[first] |= SPLIT


class LookStyles(LookTable):
    """Styles of looks in a palette."""

    def style_of(self, look: int) -> Style:
        """Compose the style of a look."""
        palette, hue = self.palette, look & HUE_MASK
        style = self.base
        if hue == PENDING:
            style += palette.pending
        elif hue != NO_TOKEN:
            style += palette.hues[hue]
            if look & STAND_IN:
                style += palette.dim[hue]
            if look & SPLIT:
                style += palette.split[hue]
        if look & SPECIAL:
            style += palette.special
        if look & UNSTABLE:
            # Without color an underline may be the style of a token, but no token is dim.
            style += Style(underline=True, dim=palette.mono or None)
        if look & HOVERED:
            style += palette.hover
        if look & PINNED:
            style += palette.pin
        if look & SELECTED:
            tint = palette.selected[hue] if hue < N_HUES else palette.selected_base
            style = self._over(style, tint)
        if look & CURSOR:
            style = self._over(style, palette.cursor)
        if look & BLURRED_CURSOR:
            style += palette.blurred_cursor
        return style

    def _over(self, style: Style, overlay: Style) -> Style:
        """Combine styles; without color, an overlay on reversed text is not reversed."""
        if self.palette.mono and style.reverse:
            return style + overlay + Style(reverse=False)
        return style + overlay


def paint(
    text: str,
    cells: Cells,
    looks: Sequence[int],
    glyphs: Glyphs,
    styles: LookStyles,
    width: int,
    first_cell: int = 0,
) -> Strip:
    """Draw a row.

    Args:
        text: The characters of the row, without a line feed.
        cells: Their layout.
        looks: Their looks, and one more for a line feed or a cursor after the text.
        glyphs: How characters are drawn.
        styles: The styles of looks.
        width: The cells of the strip.
        first_cell: The cell of the layout at which the strip starts.
    """
    n_cells = cells.width
    drawn = list(cells.glyphs)
    row = [
        look if glyph[:1] == char else look | STAND_IN
        for look, glyph, char in zip(looks, drawn, text, strict=False)
    ]
    _put_marks_on_letters(row, drawn)
    if len(looks) > len(text):
        has_token = looks[-1] & HUE_MASK != NO_TOKEN
        drawn.append(NEWLINE if has_token and glyphs.style.blanks else " ")
        row.append(looks[-1] | STAND_IN)
        n_cells += 1
    strip = Strip(_segments(row, drawn, styles), n_cells)
    if first_cell or n_cells > width:
        strip = strip.crop(first_cell, first_cell + width)
    return strip.adjust_cell_length(width, styles.base)


def _put_marks_on_letters(row: list[int], drawn: Sequence[str]) -> None:
    """Combine the look of a letter with those of the combining marks drawn in its cell."""
    base = 0
    for index, glyph in enumerate(drawn):
        if glyph:
            base = index
            continue
        mark, letter = row[index] & ~STAND_IN, row[base]
        if mark & HUE_MASK != letter & HUE_MASK:
            letter |= SPLIT
        row[base] = letter | mark & ~(HUE_MASK | SPECIAL)


def _segments(row: Sequence[int], drawn: Sequence[str], styles: LookStyles) -> list[Segment]:
    """Return segments of neighbors with the same look."""
    segments = []
    start = 0
    for index in range(1, len(row) + 1):
        if index == len(row) or (row[index] != row[start] and drawn[index]):
            segments.append(Segment("".join(drawn[start:index]), styles[row[start]]))
            start = index
    return segments
