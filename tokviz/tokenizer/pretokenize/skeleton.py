r"""Splitting a short text without the `regex` package, whose import costs more than a frame.

A named split pattern tells a character beyond ASCII only by its class. So a text is reduced to its
*skeleton*: characters beyond ASCII are replaced by ASCII ones of the same class, and where there is
none (modifier letters, marks …) by a control character that stands for the class. The skeleton has
the length of the text, and the same pattern, with its classes spelled out in these characters,
cuts it at the same places. That pattern is one for Python's own `re`.

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
"""Characters of a text that is short: a longer one is worth the import."""

# What stands for a character of a class, and how a pattern spells the class.
_STAND_IN = {"Lu": "Q", "Ll": "q", "Lt": "\x01", "Lm": "\x02", "Lo": "\x03", "M": "\x04", "N": "0"}
_WHITE_SPACE = "\v"
_OTHER = "#"
_SPELLED = {
    **_STAND_IN,
    "Lu": "A-Z",
    "Ll": "a-z",
    "L": "A-Za-z\x01-\x03",
    "N": "0-9",
}
_CLASS = re.compile(r"\[[^\]]*\]|\\p\{\w+\}")

# A regex that says the same of a text and of its skeleton: it names only classes that the skeleton
# keeps, and no character that stands for others, by itself or within a range. Case is ignored only
# where letters are spelled out; of "i" the versions of Unicode have more than one opinion.
_KEPT = r"\\[sSrn] | \\p\{(?:L[ultmo]?|[MN])\} | [A-PR-Za-pr-z1-9\ '/,!:=]"
_SAYS_THE_SAME = re.compile(
    rf"""(?: {_KEPT} | \[ \^? (?:{_KEPT})+ \] | \{{ [0-9]+ (?:,[0-9]*)? \}}
        | \((?=\?[:=!]) | \(\?i: [a-hj-pr-z'|]* \) | [).?*+|^]
    )*""",
    re.VERBOSE,
)

# The only letters beyond ASCII that a pattern which ignores case takes for one of ASCII.
_FOLDED_TO_ASCII = "\u017f\u212a"


def pre_tokens(regex_text: str, text: str) -> list[str] | None:
    """Split a short text by the regex of a pattern that leaves no gap.

    Args:
        regex_text: The regex.
        text: Any text.

    Returns:
        The pre-tokens, each as long as the text it stands for; None if the text, or the regex, is
        one for the `regex` package.
    """
    compiled = _compiled(regex_text) if len(text) <= LONGEST else None
    bones = skeleton(text) if compiled else None
    return None if compiled is None or bones is None else compiled.findall(bones)


def skeleton(text: str) -> str | None:
    """Replace every character beyond ASCII by one of its class; None if one's is not certain."""
    bones = text.translate(_STAND_INS)
    return bones if bones.isascii() else None


def skeleton_regex(regex_text: str) -> str:
    """Spell the Unicode classes of a regex in the characters that a skeleton has."""

    def spelled(match: re.Match[str]) -> str:
        if match[0][0] == "[":
            return re.sub(r"\\p\{(\w+)\}", lambda inner: _SPELLED[inner[1]], match[0])
        return f"[{_SPELLED[match[0][3:-1]]}]"

    return _CLASS.sub(spelled, regex_text)


@lru_cache(maxsize=16)
def _compiled(regex_text: str) -> re.Pattern[str] | None:
    if _SAYS_THE_SAME.fullmatch(regex_text) is None:
        return None
    # ASCII, so that U+001C to U+001F are no white space: they are not for Unicode.
    return re.compile(skeleton_regex(regex_text), re.ASCII)


class _StandIns(dict[int, str]):
    """Code point → what stands for it in a skeleton, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        """Work out what stands for a character, and remember it.

        Raises:
            LookupError: If that is not certain: the character then stays what it is.
        """
        char = chr(code)
        if code < 0x80:
            stand_in = char
        elif char in _FOLDED_TO_ASCII or not is_agreed(code):
            raise LookupError(char)
        else:
            stand_in = _stand_in(char)
        self[code] = stand_in
        return stand_in


def _stand_in(char: str) -> str:
    category = unicodedata.category(char)
    stand_in = _STAND_IN.get(category) or _STAND_IN.get(category[0])
    return stand_in or (_WHITE_SPACE if char.isspace() else _OTHER)


# The control characters themselves are not of the classes that they stand for.
_STAND_INS = _StandIns(dict.fromkeys(range(1, 5), _OTHER))
