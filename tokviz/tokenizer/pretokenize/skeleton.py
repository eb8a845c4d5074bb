r"""Splitting a short text without the `regex` package, whose import takes longer than a frame.

A named split pattern distinguishes characters beyond ASCII only by their class. So a text is
reduced to its *skeleton*: a character beyond ASCII is replaced by an ASCII character of its class,
or by a control character for a class without any (modifier letters, marks …). The skeleton has the
length of the text, and the same pattern, with its classes spelled out in these characters, splits
it at the same positions. Python's own `re` can run that pattern.

>>> skeleton("é世 ½'S\u0301")
"q\x03 0'S\x04"
>>> skeleton_regex(r"[^\s\p{L}]|\p{N}+")
'[^\\sA-Za-z\x01-\x03]|[0-9]+'

Python's Unicode version is neither tiktoken's nor that of `regex`. So a text has a skeleton only if
all its characters are in the blocks on which every version agrees.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from tokviz.tokenizer.pretokenize.unicode_classes import is_agreed

LONGEST = 4096
"""Maximum length of a short text, in characters; a longer one is worth the import."""

# The substitute for a character of a class, and the spelling of the class in a pattern.
_SUBSTITUTE = {
    "Lu": "Q",
    "Ll": "q",
    "Lt": "\x01",
    "Lm": "\x02",
    "Lo": "\x03",
    "M": "\x04",
    "N": "0",
}
_WHITE_SPACE = "\v"
_OTHER = "#"
_SPELLED = {
    **_SUBSTITUTE,
    "Lu": "A-Z",
    "Ll": "a-z",
    "L": "A-Za-z\x01-\x03",
    "N": "0-9",
}
_CLASS = re.compile(r"\[[^\]]*\]|\\p\{\w+\}")

# A regex that matches a text and its skeleton alike: it names only classes that the skeleton keeps,
# and no substitute character, alone or within a range. It ignores case only for spelled-out
# letters except "i", whose case mapping differs between Unicode versions.
_KEPT = r"\\[sSrn] | \\p\{(?:L[ultmo]?|[MN])\} | [A-PR-Za-pr-z1-9\ '/,!:=]"
_MATCHES_ALIKE = re.compile(
    rf"""(?: {_KEPT} | \[ \^? (?:{_KEPT})+ \] | \{{ [0-9]+ (?:,[0-9]*)? \}}
        | \((?=\?[:=!]) | \(\?i: [a-hj-pr-z'|]* \) | [).?*+|^]
    )*""",
    re.VERBOSE,
)

# The only letters beyond ASCII that match an ASCII letter if case is ignored.
_FOLDED_TO_ASCII = "\u017f\u212a"


def pre_tokens(regex_text: str, text: str) -> list[str] | None:
    """Split a short text by the regex of a gapless pattern.

    Args:
        regex_text: The regex.
        text: Any text.

    Returns:
        Strings with the lengths of the pre-tokens; None if the text or the regex needs the `regex`
        package.
    """
    compiled = _compiled(regex_text) if len(text) <= LONGEST else None
    bones = skeleton(text) if compiled else None
    return None if compiled is None or bones is None else compiled.findall(bones)


def skeleton(text: str) -> str | None:
    """Replace every character beyond ASCII by one of its class; None if a class is uncertain."""
    bones = text.translate(_SUBSTITUTES)
    return bones if bones.isascii() else None


def skeleton_regex(regex_text: str) -> str:
    """Spell the Unicode classes of a regex with the characters of a skeleton."""

    def spelled(match: re.Match[str]) -> str:
        if match[0][0] == "[":
            return re.sub(r"\\p\{(\w+)\}", lambda inner: _SPELLED[inner[1]], match[0])
        return f"[{_SPELLED[match[0][3:-1]]}]"

    return _CLASS.sub(spelled, regex_text)


@lru_cache(maxsize=16)
def _compiled(regex_text: str) -> re.Pattern[str] | None:
    if _MATCHES_ALIKE.fullmatch(regex_text) is None:
        return None
    # With re.ASCII, U+001C to U+001F are not white space, as in Unicode.
    return re.compile(skeleton_regex(regex_text), re.ASCII)


class _Substitutes(dict[int, str]):
    """Code point → its substitute in a skeleton, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        """Compute the substitute of a character.

        Raises:
            LookupError: If its class is uncertain; `str.translate` then keeps the character.
        """
        char = chr(code)
        if code < 0x80:
            substitute = char
        elif char in _FOLDED_TO_ASCII or not is_agreed(code):
            raise LookupError(char)
        else:
            substitute = _substitute(char)
        self[code] = substitute
        return substitute


def _substitute(char: str) -> str:
    category = unicodedata.category(char)
    substitute = _SUBSTITUTE.get(category) or _SUBSTITUTE.get(category[0])
    return substitute or (_WHITE_SPACE if char.isspace() else _OTHER)


# The control characters themselves are not in the classes that they represent.
_SUBSTITUTES = _Substitutes(dict.fromkeys(range(1, 5), _OTHER))
