r"""Unicode properties of a character and its tokens: code points, normal forms, look-alikes.

>>> import tokviz
>>> found = inspect("caf\u00e9", 3, tokviz.load("gpt2"))
>>> [(point.label, point.name, point.category, point.script) for point in found.points]
[('U+00E9', 'LATIN SMALL LETTER E WITH ACUTE', 'lowercase letter', 'Latin')]
>>> [(form.name, form.data, len(form.tokens)) for form in found.forms]
[('original, NFC, NFKC', b'\xc3\xa9', 1), ('NFD, NFKD', b'e\xcc\x81', 3)]
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from tokviz import bytetext
from tokviz.assets import asset_path
from tokviz.characters import Character, named
from tokviz.glyphs import UNSAFE
from tokviz.sentences import Sentence

if TYPE_CHECKING:
    from tokviz.tokenizer import Tokenizer

MOST_POINTS = 64
"""Maximum number of code points listed for a character, because marks stack without limit."""

_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
_CATEGORIES = {
    "Lu": "uppercase letter", "Ll": "lowercase letter", "Lt": "titlecase letter",
    "Lm": "modifier letter", "Lo": "letter", "Mn": "combining mark", "Mc": "spacing mark",
    "Me": "enclosing mark", "Nd": "decimal digit", "Nl": "letter-like number", "No": "number",
    "Pc": "connector", "Pd": "dash", "Ps": "opening bracket", "Pe": "closing bracket",
    "Pi": "opening quote", "Pf": "closing quote", "Po": "punctuation", "Sm": "mathematical symbol",
    "Sc": "currency symbol", "Sk": "modifier symbol", "So": "symbol", "Zs": "space",
    "Zl": "line separator", "Zp": "paragraph separator", "Cc": "control character",
    "Cf": "format character", "Cs": "surrogate", "Co": "private use", "Cn": "not assigned",
}  # fmt: skip
_BLANK = "\u2800"


class Point(NamedTuple):
    """A code point of a character.

    Attributes:
        label: Its number, such as U+00E9; for invalid UTF-8 the byte.
        name: Its name.
        category: Its general category, in words.
        script: Its script.
        data: Its bytes in UTF-8.
    """

    label: str
    name: str
    category: str
    script: str
    data: bytes


class Form(NamedTuple):
    """A normal form of a character.

    Attributes:
        name: The forms with this result, such as "NFD, NFKD".
        data: Its bytes.
        tokens: The bytes and id of each token of its encoding.
    """

    name: str
    data: bytes
    tokens: tuple[tuple[bytes, int], ...]


@dataclass(frozen=True, slots=True)
class Inspected:
    """A character as perceived by users: a grapheme cluster (UAX #29).

    Attributes:
        text: The character, as byte text.
        start: Offset of its first code point in the text that contains it.
        points: Its code points, at most `MOST_POINTS`.
        n_points: Number of its code points.
        forms: Its normal forms; one if normalization does not change it.
        notes: Hidden properties: it is invisible, or looks like another character.
    """

    text: str
    start: int
    points: tuple[Point, ...]
    n_points: int
    forms: tuple[Form, ...]
    notes: tuple[Sentence, ...]


def clusters(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each grapheme cluster of a text."""
    import regex

    ends = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    return list(pairwise(ends))


def char_at(text: str, byte: int) -> int:
    """Return the index of the character of byte text that contains a byte."""
    return bisect_right(list(accumulate(map(bytetext.n_bytes, text))), byte)


def inspect(text: str, at: int, tok: Tokenizer) -> Inspected:
    """Inspect the grapheme cluster of byte text that contains the character `at`.

    Raises:
        TokvizError: If the tokenizer cannot encode it.
    """
    start, end = next(span for span in clusters(text) if at < span[1])
    cluster = text[start:end]
    shown = cluster[:MOST_POINTS]
    forms: dict[str, list[str]] = {cluster: ["original"]}
    for name in _FORMS:
        forms.setdefault(unicodedata.normalize(name, cluster), []).append(name)
    return Inspected(
        cluster,
        start,
        tuple(map(_point, shown)),
        len(cluster),
        tuple(_form(", ".join(names), form, tok) for form, names in forms.items()),
        tuple(note for char in dict.fromkeys(shown) for note in _notes(char)),
    )


def _form(name: str, text: str, tok: Tokenizer) -> Form:
    ids = tok.encode_byte_text(text, False)
    return Form(name, bytetext.to_bytes(text), tuple((tok.token_bytes(one), one) for one in ids))


def _point(char: str) -> Point:
    import numpy as np

    from tokviz.vocabulary.scripts import SCRIPTS, scripts_of

    data = bytetext.to_bytes(char)
    if bytetext.has_raw_bytes(char):
        return Point(f"byte {data.hex()}", "not valid UTF-8", "not a character", "no script", data)
    known = Character(ord(char), named(ord(char)).name)
    script = SCRIPTS[scripts_of(np.array([known.code], np.uint32))[0]]
    return Point(known.label, known.name, _CATEGORIES[_category(char)], script, data)


def _category(char: str) -> str:
    """Return the general category; `regex` has newer tables than Python's `unicodedata`."""
    import regex

    found = unicodedata.category(char)
    if found != "Cn":
        return found
    return next(name for name in _CATEGORIES if regex.match(rf"\p{{{name}}}", char))


def _notes(char: str) -> Iterator[Sentence]:
    code = f"U+{ord(char):04X}"
    category = unicodedata.category(char)
    if bytetext.has_raw_bytes(char):
        yield ("This byte is not part of a character: the text is not valid UTF-8 here.",)
    elif char != " " and (category == "Zs" or char == _BLANK):
        yield (f"{code} is invisible: it looks like the space U+0020, but has other tokens.",)
    elif UNSAFE.match(char):
        yield (f"{code} is invisible: it has no visible glyph.",)
    like = _look_alikes().get(char)
    if like is not None:
        known = named(ord(like))
        yield (f"{code} looks like “{like}” ({known.label} {known.name}), but has other tokens.",)


@lru_cache(maxsize=1)
def _look_alikes() -> dict[str, str]:
    """Return the ASCII character that a character looks like; see assets/unicode for the source."""
    lines = asset_path("unicode/confusables.txt").read_text(encoding="utf-8").splitlines()
    return {char: line[0] for line in lines if line[:2] != "# " for char in line[2:]}
