"""Search for Unicode characters by number or name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_NUMBER = re.compile(r"(?:U\+|0x|\\u\{?|\\U\{?|&#x)?([0-9A-Fa-f]{1,8})[};]?", re.IGNORECASE)
_UNNAMED_BY_PATTERN = ("CJK UNIFIED IDEOGRAPH-", "HANGUL SYLLABLE ", "CJK COMPATIBILITY IDEOGRAPH-")
_MOST_FOUND = 500
_LAST_NAMED = (range(0x0, 0x33480), range(0xE0000, 0xE01F0))

_USEFUL = (
    "\u200b\u200d\u200c\xa0\u202f\u3000\ufeff\xad\ufe0f\u0301\u202e\u200f\u2028"
    "\t\n\r\v\f\x85\0\x1b\ufffd\u0130\U0001f468\U000e0041"
)
_OWN_NAMES = {
    0xFEFF: "ZERO WIDTH NO-BREAK SPACE (byte order mark)",
    0xFE0F: "VARIATION SELECTOR-16 (emoji style)",
    0x0009: "CHARACTER TABULATION (tab)",
    0x000A: "LINE FEED (LF)",
    0x000D: "CARRIAGE RETURN (CR)",
    0x000B: "LINE TABULATION (VT)",
    0x000C: "FORM FEED (FF)",
    0x0085: "NEXT LINE (NEL)",
    0x0000: "NULL",
    0x001B: "ESCAPE",
}


@dataclass(frozen=True, slots=True)
class Character:
    """A code point with its name."""

    code: int
    name: str

    @property
    def text(self) -> str:
        """The character itself."""
        return chr(self.code)

    @property
    def label(self) -> str:
        """Its number in the form U+00E9."""
        return f"U+{self.code:04X}"


def named(code: int) -> Character:
    """Return a code point with its name, or with "(no name)"."""
    return Character(code, _OWN_NAMES.get(code, "") or unicodedata.name(chr(code), "(no name)"))


USEFUL: tuple[Character, ...] = tuple(named(ord(character)) for character in _USEFUL)
"""Characters that tokenizers treat in surprising ways, listed before a search."""


def by_number(text: str) -> Character | str | None:
    r"""Read `U+E9`, `0xE9`, `\u00e9` or plain hexadecimal digits.

    Returns:
        The character; an error message for an invalid code point; None if it is not a number.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    code = int(match[1], 16)
    if code > 0x10FFFF:
        return f"U+{code:X} is beyond Unicode, which ends at U+10FFFF."
    if 0xD800 <= code <= 0xDFFF:
        return f"U+{code:X} is half of a UTF-16 pair: no text can contain it."
    return named(code)


@lru_cache(maxsize=1)
def all_names() -> dict[int, str]:
    """Return the names of the 40,000 individually named code points; the first call takes 50 ms."""
    return {
        code: name
        for codes in _LAST_NAMED
        for code in codes
        if (name := unicodedata.name(chr(code), "")) and not name.startswith(_UNNAMED_BY_PATTERN)
    }


def search(text: str, *, stop: Callable[[], bool] = lambda: False) -> Sequence[Character]:
    """Find characters by number or by words of their name, the shortest names first.

    Args:
        text: A number, an official name or alias (such as ZWSP or ESC), or the starts of words.
        stop: Called regularly; the search ends once it returns True.
    """
    wanted = text.strip().upper()
    if not wanted:
        return USEFUL
    first: list[Character] = []
    number = by_number(wanted)
    if isinstance(number, Character):
        first.append(number)
    try:
        alias = unicodedata.lookup(wanted)
        if len(alias) == 1:
            first.append(named(ord(alias)))
    except KeyError:
        pass
    words = wanted.split()
    matches: list[Character] = []
    for position, (code, name) in enumerate(all_names().items()):
        if position % 4096 == 0 and stop():
            break
        if all(word in name for word in words):
            matches.append(Character(code, name))
    matches.sort(key=lambda item: (not _starts_words(item.name, words), len(item.name), item.code))
    listed = {character.code: character for character in (*first, *matches[:_MOST_FOUND])}
    return list(listed.values())[:_MOST_FOUND]


def _starts_words(name: str, words: Sequence[str]) -> bool:
    spaced = f" {name}"
    return all(f" {word}" in spaced for word in words)
