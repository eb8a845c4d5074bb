"""Search language of a vocabulary: words that every matching token must satisfy.

>>> parse_query('han -is:special').terms[1]
FlagTerm(flag='special', negated=True)
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import Literal

from tokviz.explain.vocabulary.index import fold
from tokviz.explain.vocabulary.scripts import find_scripts
from tokviz.text import bytetext

Flag = Literal["special", "partial", "unreachable", "used"]
FLAGS: tuple[Flag, ...] = ("special", "partial", "unreachable", "used")

MAX_REGEX = 500
"""Maximum length of a regex in characters, because compiling a longer one can take seconds."""
_MAX_NUMBER = 2**62

SYNTAX: tuple[tuple[str, str], ...] = (
    ("the", "text in any case; with a capital letter, case-sensitive; a leading space counts"),
    ('" the"', 'exactly this, with its spaces; \\n \\t \\xe4 \\u4e16 \\" and \\\\ as in JSON or C'),
    ("^pre  ing$", "at the start, at the end; ^word$ is the whole token"),
    ("/^ ?[A-Z]+$/", "a regex, with \\p{L} and other classes; /…/i ignores case"),
    ("0xe4b8", "bytes in hexadecimal; also bytes:e4b8"),
    ("#498  #0-255", "an id, a range of ids; also #1000- and #-255"),
    ("len:>10  len:3-5", "length in bytes; chars: counts characters"),
    ("script:han,thai", "letters of these scripts; also mixed, common, bytes"),
    (
        "is:special",
        "also is:partial (part of a character), is:unreachable, is:used (in your text)",
    ),
    ("-script:latin", "a minus excludes; all words must match"),
)
"""Examples of the syntax with their meaning, for help texts."""


@dataclass(frozen=True, slots=True)
class TextTerm:
    """Matches tokens that contain some bytes."""

    data: bytes
    folded: bool
    """True if case is ignored; `data` is then case-folded."""
    at_start: bool = False
    at_end: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class RegexTerm:
    """Matches tokens in whose byte text a regex is found."""

    pattern: str
    ignore_case: bool = False
    negated: bool = False


@dataclass(frozen=True, slots=True)
class RangeTerm:
    """Matches tokens with a number in a range, inclusive."""

    what: Literal["id", "len", "chars"]
    low: int
    high: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class ScriptTerm:
    """Matches tokens in one of some scripts, given by number."""

    scripts: tuple[int, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class FlagTerm:
    """Matches tokens with a property."""

    flag: Flag
    negated: bool = False


Term = TextTerm | RegexTerm | RangeTerm | ScriptTerm | FlagTerm


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    Attributes:
        terms: Conditions; a token must satisfy all of them.
        notes: Sentences about invalid or unfinished words, which are ignored.
    """

    terms: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query as typed: `text[start:stop]`."""

    start: int
    stop: int
    negated: bool
    name: str
    """The name before the colon in lower case, or empty."""
    value: str


_NAMES = ("id", "len", "chars", "script", "is", "bytes")
_NAMED = re.compile(rf"({'|'.join(_NAMES)}):", re.IGNORECASE)
_LOOKS_NAMED = re.compile(r"([A-Za-z]+):(?![/:]|$)")
_LEADING = re.compile(rf' +(?![-"/^#]|0x|(?:{"|".join(_NAMES)}):)[^\s]+| +$', re.IGNORECASE)
"""Matches spaces before plain text, or alone."""
_HEX = re.compile(r"0x([0-9a-fA-F]*)")
_RANGE = re.compile(r"([<>]=?|=)?\s*([0-9][0-9_,]*)|([0-9][0-9_,]*)?-([0-9][0-9_,]*)?")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "f": "\f", "v": "\v"}


class _Unusable(ValueError):
    """An invalid word; its message is the sentence to show."""


def split_words(text: str) -> list[Word]:
    """Split a query into words. Quotes and slashes keep spaces together.

    Spaces before the first word belong to it if it is plain text: most tokens start with a space.
    """
    words: list[Word] = []
    leading = _LEADING.match(text)
    at = leading.end() if leading else 0
    if leading:
        words.append(Word(0, at, False, "", leading[0]))
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        negated = text[at] == "-" and at + 1 < len(text) and not text[at + 1].isspace()
        at += negated
        named = _NAMED.match(text, at)
        name = named[1].lower() if named else ""
        at = named.end() if named else at
        stop = _end_of_word(text, at)
        words.append(Word(start, stop, negated, name, text[at:stop]))
        at = stop
    return words


def _end_of_word(text: str, at: int) -> int:
    if text[at : at + 1] == "/":
        closing = re.compile(r"/(?:[^/\\]|\\.)*/i?(?=\s|$)", re.DOTALL).match(text, at)
        return closing.end() if closing else len(text.rstrip())
    quoted = re.compile(r'\^?"(?:[^"\\]|\\.)*(?:"\$?|$)', re.DOTALL).match(text, at)
    if quoted:
        return quoted.end()
    while at < len(text) and not text[at].isspace():
        at += 1
    return at


def parse_query(text: str) -> Query:
    """Parse a query; see `SYNTAX`. Invalid words are skipped, with a note."""
    terms: list[Term] = []
    notes: list[str] = []
    for word in split_words(text):
        try:
            term = _term(word)
        except _Unusable as error:
            notes.append(str(error))
            continue
        if isinstance(term, TextTerm) and (named := _LOOKS_NAMED.match(word.value.lstrip())):
            notes.append(_unknown_filter(named[1]))
        terms.append(replace(term, negated=word.negated))
    return Query(tuple(terms), tuple(notes))


def _unknown_filter(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), _NAMES, n=1)
    known = ", ".join(f"{known}:" for known in _NAMES)
    offer = f"Did you mean “{near[0]}:”?" if near else f"The filters are {known}."
    return f"“{name}:” is not a filter, so it is searched as text. {offer}"


def _term(word: Word) -> Term:
    value = word.value
    match word.name:
        case "len" | "chars":
            example = f"{word.name}:5, {word.name}:>10 or {word.name}:3-5"
            return RangeTerm(word.name, *_range(value, example))
        case "id":
            return RangeTerm("id", *_range(value, "#498, #0-255 or #1000-"))
        case "script":
            return ScriptTerm(_scripts(value))
        case "is":
            return FlagTerm(_flag(value))
        case "bytes":
            return TextTerm(_hex(value.strip('"').removeprefix("0x"), "bytes:"), False)
    if value.startswith("#") and len(value) > 1 and not value[1:].strip("0123456789-<>=_,"):
        return RangeTerm("id", *_range(value[1:], "#498, #0-255 or #1000-"))
    if match := _HEX.fullmatch(value):
        return TextTerm(_hex(match[1], "0x"), False)
    if value.startswith("/") and len(value) > 1:
        return _regex(value)
    return _text(value)


def _range(value: str, example: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(value)
    if not value or match is None or value == "-":
        raise _Unusable(f"Type a number or a range: {example}.")
    sign, number, low, high = match.groups()
    if number is None:
        return _number(low, 0), _number(high, _MAX_NUMBER)
    bound = _number(number, 0)
    return {
        ">": (bound + 1, _MAX_NUMBER),
        ">=": (bound, _MAX_NUMBER),
        "<": (0, bound - 1),
        "<=": (0, bound),
    }.get(sign, (bound, bound))


def _number(digits: str | None, otherwise: int) -> int:
    if digits is None:
        return otherwise
    plain = re.sub("[_,]", "", digits)
    return min(int(plain), _MAX_NUMBER) if len(plain) <= 20 else _MAX_NUMBER


def _scripts(value: str) -> tuple[int, ...]:
    names = [name for name in value.strip('"').split(",") if name.strip()]
    if not names:
        raise _Unusable("Type a script: script:latin, script:han, script:mixed or script:common.")
    numbers: list[int] = []
    for name in names:
        matching = find_scripts(name)
        if not matching:
            raise _Unusable(f"No script is named {name}. Click one in the overview, or type its "
                            "English name.")  # fmt: skip
        numbers += matching
    return tuple(sorted(set(numbers)))


def _flag(value: str) -> Flag:
    matching = [flag for flag in FLAGS if value and flag.startswith(value.lower())]
    if not matching:
        raise _Unusable(f"Type a property: {', '.join(f'is:{flag}' for flag in FLAGS)}.")
    return matching[0]


def _hex(digits: str, prefix: str) -> bytes:
    plain = re.sub("[ :_-]", "", digits)
    if not plain or len(plain) % 2 or re.fullmatch("[0-9a-fA-F]*", plain) is None:
        raise _Unusable(f"Type two hexadecimal digits per byte: {prefix}e4b8.")
    return bytes.fromhex(plain)


def _regex(value: str) -> RegexTerm:
    body = value[1:]
    ignore_case = False
    if value.endswith("/i") and len(value) > 2:
        body, ignore_case = value[1:-2], True
    elif value.endswith("/") and not value.endswith("\\/"):
        body = value[1:-1]
    if not body:
        raise _Unusable("Type a regex between slashes: /^[0-9]+$/.")
    if len(body) > MAX_REGEX:
        raise _Unusable(f"The regex has {len(body):,} characters; the limit is {MAX_REGEX}.")
    return RegexTerm(body.replace("\\/", "/"), ignore_case)


def _text(value: str) -> TextTerm:
    at_start = value.startswith("^") and len(value) > 1
    body = value[1:] if at_start else value
    if body.startswith('"') and len(body) > 1:
        at_end = body.endswith('"$')
        inner = body[1:].removesuffix("$") if at_end else body[1:]
        data = _unescape(inner.removesuffix('"'))
        if not data:
            raise _Unusable('Type text between the quotes: " the".')
        return TextTerm(data, False, at_start, at_end)
    at_end = body.endswith("$") and len(body) > 1
    body = body.removesuffix("$") if at_end else body
    exact = body != body.lower()
    data = bytetext.to_bytes(bytetext.as_byte_text(body)) if exact else fold(body)
    return TextTerm(data, not exact, at_start, at_end)


def _unescape(text: str) -> bytes:
    """Decode the escapes of a quoted text, and keep everything else."""
    parts: list[bytes] = []
    end = 0
    for escape in _ESCAPE.finditer(text):
        parts.append(bytetext.to_bytes(bytetext.as_byte_text(text[end : escape.start()])))
        end = escape.end()
        byte, short, long, other = escape.groups()
        code = int(short or long or "0", 16)
        if byte is not None:
            parts.append(bytes([int(byte, 16)]))
        elif other is not None:
            parts.append(_ESCAPES.get(other, other).encode("utf-8", "replace"))
        elif code < 0x110000:
            parts.append(chr(code).encode("utf-8", "replace"))
    parts.append(bytetext.to_bytes(bytetext.as_byte_text(text[end:])))
    return b"".join(parts)


def toggle_word(text: str, name: str, value: str) -> str:
    """Add a named word to a query in place of others with that name, or remove it.

    >>> toggle_word("the script:han", "script", "Thai"), toggle_word("the is:used", "is", "used")
    ('the script:thai', 'the')
    """
    wanted = f"{name}:{value.lower()}"
    words = split_words(text)
    same = [word for word in words if word.name == name and not word.negated]
    is_there = any(text[word.start : word.stop].lower() == wanted for word in same)
    # A query may contain several properties, but only one length and one script.
    if name == "is":
        same = [word for word in same if word.value.lower() == value.lower()]
    kept = [text[word.start : word.stop] for word in words if word not in same]
    return " ".join(kept if is_there else [*kept, wanted])
