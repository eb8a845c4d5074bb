r"""Unicode properties of a character and its tokens: code points, normal forms, look-alikes.

>>> import tokviz
>>> found = inspect("caf\u00e9", 3, tokviz.load("gpt2"))
>>> [(point.label, point.name, point.category, point.script) for point in found.points]
[('U+00E9', 'LATIN SMALL LETTER E WITH ACUTE', 'lowercase letter', 'Latin')]
>>> [(form.name, form.data, len(form.tokens)) for form in found.forms]
[('original, NFC, NFKC', b'\xc3\xa9', 1), ('NFD, NFKD', b'e\xcc\x81', 3)]
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import regex

from tokviz.explain.vocabulary.scripts import SCRIPTS, scripts_of
from tokviz.storage.assets import asset_path
from tokviz.text import bytetext
from tokviz.text.characters import Character, named
from tokviz.text.glyphs import UNSAFE
from tokviz.text.sentences import Sentence, pluralize

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

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
_INVALID = re.compile(
    "[\udcc0-\udcdf][\udc80-\udcbf]?|[\udce0-\udcef][\udc80-\udcbf]{0,2}"
    "|[\udcf0-\udcf7][\udc80-\udcbf]{0,3}|[\udc80-\udcff]"
)
"""Matches a lead byte with its continuation bytes, or any other byte, in invalid UTF-8."""


class Point(NamedTuple):
    """A code point of a character, or a byte of invalid UTF-8.

    Attributes:
        label: The code point, such as U+00E9, or the byte.
        name: The name in Unicode, or why the byte is invalid.
        category: The general category, in words.
        script: The script.
        data: The bytes in UTF-8.
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
        notes: Warnings: invisible characters, look-alikes, and the rule that invalid bytes break.
    """

    text: str
    start: int
    points: tuple[Point, ...]
    n_points: int
    forms: tuple[Form, ...]
    notes: tuple[Sentence, ...]


def clusters(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each grapheme cluster of a text."""
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
    if bytetext.has_raw_bytes(cluster):  # always a single byte
        points, notes = _invalid(text, start)
    else:
        points = tuple(map(_point, shown))
        notes = tuple(note for char in dict.fromkeys(shown) for note in _notes(char))
    named_forms = tuple(_form(", ".join(names), form, tok) for form, names in forms.items())
    return Inspected(cluster, start, points, len(cluster), named_forms, notes)


def _form(name: str, text: str, tok: Tokenizer) -> Form:
    ids = tok.byte_text.encode(text, False).tolist()
    return Form(
        name,
        bytetext.to_bytes(text),
        tuple((tok.token_bytes(token_id), token_id) for token_id in ids),
    )


def _point(char: str) -> Point:
    known = Character(ord(char), named(ord(char)).name)
    script = SCRIPTS[scripts_of(np.array([known.code], np.uint32))[0]]
    return Point(known.label, known.name, _CATEGORIES[_category(char)], script, char.encode())


def _invalid(text: str, at: int) -> tuple[tuple[Point, ...], tuple[Sentence, ...]]:
    """Describe an invalid byte, and the rule that the sequence around it breaks.

    A sequence has at most 4 bytes, so 3 characters on either side are enough context.
    """
    matches = _INVALID.finditer(text, max(0, at - 3), at + 4)
    match = next(match for match in matches if match.end() > at)
    data = bytetext.to_bytes(match[0])
    kind, rule = _broken_rule(data)
    byte, number = bytetext.to_bytes(text[at]), at - match.start() + 1
    place = f", byte {number} of {data.hex(' ')}" if len(data) > 1 else ""
    n_replaced = len(data.decode(errors="replace"))
    note = (
        f"{data.hex(' ')} {rule} "
        f"Decoders reject the bytes, skip them, or replace them with U+FFFD (here {n_replaced} ×)."
    )
    name = f"invalid UTF-8: {kind}{place}"
    return (Point(f"byte {byte.hex()}", name, "no character", "no script", byte),), ((note,),)


def _broken_rule(data: bytes) -> tuple[str, str]:
    """Classify an invalid sequence by RFC 3629, section 3: its kind, and the rule in words."""
    lead = data[0]
    if lead < 0xC0:
        return "stray continuation byte", (
            "only continues a character, as all bytes from 80 to bf do, and no lead byte before it"
            " takes it."
        )
    if lead >= 0xF8:
        return "impossible byte", (
            "never occurs in UTF-8: a character has at most 4 bytes, and the last one,"
            " U+10FFFF, starts with f4."
        )
    size = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    missing = size - len(data)
    lowest = lead & (0x7F >> size)
    for byte in data[1:]:
        lowest = lowest << 6 | byte & 0x3F
    lowest <<= 6 * missing
    highest = lowest + (1 << 6 * missing) - 1
    code = f"U+{lowest:04X}" + (f" to U+{highest:04X}" if missing else "")
    if lowest >= 0xD800 and highest <= 0xDFFF:
        return "surrogate", (
            f"would be {code}, a surrogate: half of a pair in UTF-16, which is not a character."
            " UTF-8 encodes characters only."
        )
    if highest < (0x80, 0x800, 0x10000)[size - 2]:
        shortest = "" if missing else f", here {chr(lowest).encode().hex(' ')}"
        return "overlong sequence", (
            f"is overlong: it would be {code} in {size} bytes, and fewer are enough. Only the"
            f" shortest form is valid{shortest}, so that each character has one encoding."
        )
    if lowest > 0x10FFFF:
        return "beyond U+10FFFF", f"would be {code}, beyond U+10FFFF, the last code point."
    return "truncated sequence", (
        f"is truncated: {lead:02x} starts a character of {size} bytes, and"
        f" {pluralize(missing, 'continuation byte')} (80 to bf) must follow."
    )


def _category(char: str) -> str:
    """Return the general category; `regex` has newer tables than Python's `unicodedata`."""
    category = unicodedata.category(char)
    if category != "Cn":
        return category
    return next(name for name in _CATEGORIES if regex.match(rf"\p{{{name}}}", char))


def _notes(char: str) -> Iterator[Sentence]:
    code = f"U+{ord(char):04X}"
    category = unicodedata.category(char)
    if char != " " and (category == "Zs" or char == _BLANK):
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
