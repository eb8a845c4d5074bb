"""Glyphs: safe and visible forms of any text for a terminal, the only sanitizer of the project.

A terminal interprets some characters instead of drawing them (escapes and other controls), does not
show others (zero width, tags) or moves them (bidi controls). Terminals also disagree about the
width of some sequences (emoji joined by U+200D, variation selectors, skin tones, keycaps, flags,
spacing marks). All of these are replaced by visible glyphs.

There are four `Glyphs` tables: `PLAIN` for a line of text in a message or a
command's output, `LABEL` for the text of a token in a panel, and `SHOWN` and `HIDDEN` for the
editor with its invisible characters shown and hidden.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from tokviz.text.bytetext import from_bytes

NEWLINE = "⏎"
TAB = "→"
RAW_BYTE_RUNS = re.compile("[\udc80-\udcff]+")
"""Matches the characters of byte text that represent bytes outside UTF-8."""

UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # formats, bidi controls, line separators
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"  # ignorable
    "\U000e0000-\U000e0fff"  # tags, variation selectors
    "\ud800-\udfff\ufdd0-\ufdef"  # surrogates, noncharacters
    + "".join(chr((plane << 16) + last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
    + "]"
)
"""Matches a character that must never reach a terminal.

Unicode 17: general categories Cc, Cf, Cs, Zl and Zp, Default_Ignorable_Code_Point and the
noncharacters (DerivedCoreProperties.txt, UnicodeData.txt).
"""

_EMPTY = re.compile(
    "["
    "\u0897\u0cf3\u0ece\u1176-\u11a7\u11c3-\u11ff\u1acf-\u1add\u1ae0-\u1aeb\ud7b0-\ud7ff"
    "\U00010d69-\U00010d6d\U00010efa-\U00010eff\U00011241\U000113b8-\U000113d2"
    "\U000113e1\U000113e2\U00011b60-\U00011b67\U00011f00-\U00011f03\U00011f34-\U00011f42"
    "\U00011f5a\U00013440\U00013447-\U00013455\U0001611e-\U0001612f\U0001e08f"
    "\U0001e4ec-\U0001e4ef\U0001e5ee\U0001e5ef\U0001e6e3\U0001e6e6\U0001e6ee\U0001e6ef"
    "\U0001e6f5"
    "]"
)
"""Matches characters to which Rich, and so Textual, gives no cell, unlike their category suggests.

These are letters of old Korean syllables, and marks newer than Python's Unicode tables.
"""

_RING = "◌"
_DOT = "◦"
_BOX = "▯"
_SKIN_TONE = "▒"
_BLANKS = {" ": "·", "\xa0": "⍽", "\u3000": "□ "}
_BRAILLE_BLANK = "\u2800"
_MARKS_PER_BASE = 2
_CACHE_SIZE = 16_384
_LONGEST_LABEL = 40
_SPACING_MARK, _ENCLOSING_MARK, _SIMPLE_MARK = "Mc", "Me", "Mn"
# The letters of a decomposed Korean syllable and their standalone counterparts.
_JAMO_VOWELS = {0x1161 + i: chr(0x314F + i) for i in range(21)}
_FINAL_LETTERS = "ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
_JAMO_FINALS = {0x11A8 + i: letter for i, letter in enumerate(_FINAL_LETTERS)}
_JAMO = _JAMO_VOWELS | _JAMO_FINALS


class GlyphStyle(NamedTuple):
    """The way a table draws characters that cannot be drawn unchanged."""

    blanks: bool
    """Draw spaces as glyphs."""
    names: bool
    """Draw an invisible character as its name, ‹U+200B›, instead of as one cell."""
    compact: bool
    """Draw skin tones and spacing marks in one cell even where others have names."""
    clusters: bool
    """Keep simple combining marks on their letters instead of drawing them separately."""


class Glyphs(dict[str, str]):
    """The glyph of each character, computed on first use.

    Every value is safe and takes at least one cell. A simple combining mark is drawn on a dotted
    circle, `◌́`; `display` puts it back on its letter if the style has `clusters`.
    """

    def __init__(self, style: GlyphStyle) -> None:
        """Create an empty table for a style."""
        super().__init__()
        self.style = style
        self.marks: set[str] = set()
        """The simple combining marks seen so far."""

    def __missing__(self, char: str) -> str:
        """Compute the glyph of a character."""
        if len(self) > _CACHE_SIZE:
            self.clear()
        glyph = _glyph(char, self.style)
        if len(glyph) == 2 and glyph[1] == char:
            self.marks.add(char)
        self[char] = glyph
        return glyph


PLAIN = Glyphs(GlyphStyle(blanks=False, names=True, compact=False, clusters=True))
"""For a line of text."""
LABEL = Glyphs(GlyphStyle(blanks=True, names=True, compact=False, clusters=False))
"""For the text of a token."""
SHOWN = Glyphs(GlyphStyle(blanks=True, names=True, compact=True, clusters=False))
"""For the editor with invisible characters shown."""
HIDDEN = Glyphs(GlyphStyle(blanks=False, names=False, compact=True, clusters=True))
"""For the editor with invisible characters hidden: the dangerous ones are one cell."""


def safe(text: str) -> str:
    r"""Return any text as one line that is safe for a terminal.

    >>> safe("a\tb\x1b[0m\n")
    'a→b␛[0m⏎'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(display(text, PLAIN))


def safe_lines(text: str) -> str:
    """Return safe text like `safe`, but keep line feeds."""
    return "\n".join(map(safe, text.split("\n")))


def n_cells(text: str) -> int:
    """Return the width of glyphs in cells; a mark takes none."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char)
        for char in text
    )


def token_label(data: bytes) -> str:
    r"""Return a token's bytes in readable form: text if possible, else hexadecimal.

    >>> token_label(b" the"), token_label(b"\xe4\xb8")
    ('·the', '‹e4 b8›')
    """
    text = from_bytes(data)
    if text.isascii() and text.isprintable():
        return text.replace(" ", "·")
    parts = []
    end = 0
    for run in RAW_BYTE_RUNS.finditer(text):
        parts += display(text[end : run.start()], LABEL)
        parts.append(f"‹{' '.join(f'{ord(char) - 0xDC00:02x}' for char in run[0])}›")
        end = run.end()
    return "".join(parts + display(text[end:], LABEL))


def short_label(data: bytes) -> str:
    """Return the `token_label` of a token, truncated if it is very long."""
    shown = token_label(data)
    return shown if len(shown) <= _LONGEST_LABEL else f"{shown[: _LONGEST_LABEL - 1]}…"


def display(text: str, glyphs: Glyphs) -> list[str]:
    r"""Return the glyph of every character.

    A mark that stays on its letter belongs to the letter's glyph; its own is empty.

    >>> [len(glyph) for glyph in display("e\u0301x", HIDDEN)]
    [2, 0, 1]
    """
    drawn = [glyphs[char] for char in text]
    if glyphs.style.clusters and not glyphs.marks.isdisjoint(text):
        _put_marks_on_letters(text, drawn, glyphs.marks)
    return drawn


def _put_marks_on_letters(text: str, drawn: list[str], marks: set[str]) -> None:
    """Move marks to the letter before them, as many as all terminals support."""
    base, room = 0, 0
    for index, char in enumerate(text):
        if char in marks:
            if room:
                drawn[base] += char
                drawn[index] = ""
                room -= 1
        else:
            base, room = index, _room_for_marks(char) if drawn[index] == char else 0


def _room_for_marks(char: str) -> int:
    if char == _RING:
        return 1
    return _MARKS_PER_BASE if unicodedata.category(char)[0] in "LN" else 0


def _glyph(char: str, style: GlyphStyle) -> str:
    if " " < char < "\x7f":
        return char
    if style.blanks and char in _BLANKS:
        return _BLANKS[char]
    if UNSAFE.match(char):
        return _unsafe_glyph(char, style)
    return _part_glyph(char, style) or char


def _unsafe_glyph(char: str, style: GlyphStyle) -> str:
    """Return the glyph of an unsafe character, such as a control or a raw byte."""
    code = ord(char)
    if code == 0x0A:
        return NEWLINE
    if code == 0x09:
        return TAB
    if code == 0x0D and not style.names:
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xDC80 <= code <= 0xDCFF:
        return f"‹{code - 0xDC00:02x}›"
    return _name(code) if style.names else _DOT


def _part_glyph(char: str, style: GlyphStyle) -> str:
    """Return the glyph of a character whose width is uncertain; "" for any other character."""
    code, category = ord(char), unicodedata.category(char)
    one_cell = _name(code) if style.names else _BOX
    if category == _SIMPLE_MARK:
        return _RING + char
    if category == _SPACING_MARK:
        return _RING if style.compact else _name(code)
    if category == _ENCLOSING_MARK:
        return one_cell
    if 0x1F3FB <= code <= 0x1F3FF:
        return _SKIN_TONE if style.compact else _name(code)
    if 0x1F1E6 <= code <= 0x1F1FF:
        return chr(0x24B6 + code - 0x1F1E6)
    if code in _JAMO:
        return _JAMO[code]
    if style.blanks and (category == "Zs" or char == _BRAILLE_BLANK):
        return _name(code)
    return one_cell if _EMPTY.match(char) else ""


def _name(code: int) -> str:
    return f"‹U+{code:04X}›"
