r"""Description of a token: a word, white space, a part of a character; and similar tokens.

>>> kind(b" the")
'Latin letters after a space'
>>> kind(b"\n\n")
'2 line breaks'
>>> cut_characters(b"\xe4\xb8", b"\x96", b"!")
[CutCharacter(character='世', first=3, last=3, n_bytes=3)]
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tokviz.text import bytetext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokviz.tokenizer.tokenizer import Tokenizer

_READ = 256
"""A token's description is based on at most this many characters."""
_MAX_LOOK_ALIKES = 8
_WHITE_SPACE = {
    " ": "space", "\t": "tab", "\n": "line break", "\r\n": "Windows line break",
    "\r": "carriage return", "\v": "vertical tab", "\f": "form feed", "\x85": "next line",
    "\xa0": "no-break space", "\u3000": "ideographic space", "\u2028": "line separator",
    "\u2029": "paragraph separator",
}  # fmt: skip
_SCRIPTS = {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana"}
_CLASSES = {
    "L": "letters", "M": "letters", "N": "digits", "P": "punctuation", "S": "symbols",
    "Z": "white space", "Cc": "control characters", "Cf": "format characters",
}  # fmt: skip


class CutCharacter(NamedTuple):
    """A character whose bytes a token shares with its neighbors.

    The token contains its bytes `first` to `last`, counted from 1.
    """

    character: str
    first: int
    last: int
    n_bytes: int


def kind(token: bytes) -> str:
    """Describe a token's text, or its bytes if they are not whole characters."""
    text = bytetext.from_bytes(token)[:_READ]
    if bytetext.has_raw_bytes(text):
        return "a byte" if len(token) == 1 else "bytes that are not whole characters"
    if text.isspace():
        return _white_space(text)
    before = len(text) - len(text.lstrip(" "))
    after = len(text) - len(text.rstrip(" "))
    return _visible(text.strip(" ")) + _beside_spaces(before, after)


def _beside_spaces(before: int, after: int) -> str:
    if before and after:
        return " between spaces"
    n, side = (before, "after") if before else (after, "before")
    return "" if not n else f" {side} a space" if n == 1 else f" {side} {n} spaces"


def _white_space(text: str) -> str:
    counts = Counter(
        _WHITE_SPACE.get("\r\n" if character == "\0" else character, "other white space")
        for character in text.replace("\r\n", "\0")
    )
    return ", ".join(
        name if name == "other white space" else f"{n} {name}{'s' if n > 1 else ''}"
        for name, n in counts.items()
    )


def _visible(text: str) -> str:
    if all(unicodedata.category(character).startswith(("L", "M")) for character in text):
        script = _script(text)
        single = "letter" if len(text) == 1 else "letters"
        return f"{script} {single}" if script else single
    classes: dict[str, None] = {}
    for character in text:
        category = unicodedata.category(character)
        if character in "\r\n":
            name = "line breaks"
        elif character.isspace():
            name = "white space"
        else:
            name = _CLASSES.get(category[0]) or _CLASSES.get(category, "unassigned characters")
        classes[name] = None
    if list(classes) == ["digits"]:
        return "a digit" if len(text) == 1 else f"{len(text)} digits"
    *others, last = classes
    return f"{', '.join(others)} and {last}" if others else last


def _script(text: str) -> str:
    """Return the script of letters from the first word of their Unicode names, if they agree."""
    names = {
        unicodedata.name(character, " ").partition(" ")[0]
        for character in text
        if unicodedata.category(character).startswith("L")
    }
    scripts = {_SCRIPTS.get(name, name.capitalize()) for name in names}
    return scripts.pop() if len(scripts) == 1 else ""


def cut_characters(before: bytes, token: bytes, after: bytes) -> list[CutCharacter]:
    """Find the characters at a token's edges that it contains only partly.

    Args:
        before: The three bytes before the token in the text, or fewer.
        token: The token's bytes.
        after: The three bytes after it, or fewer.

    Returns:
        Up to two characters, the one at the token's start first.
    """
    start, end = len(before), len(before) + len(token)
    return [
        CutCharacter(character, max(at, start) - at + 1, min(past, end) - at, past - at)
        for at, past, character in _edge_characters(before + token + after, start, end)
        if at < end and past > start and (at < start or past > end)
    ]


def _edge_characters(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the characters that may span either edge, with their byte spans."""
    edges = [start] if start == end else [start, end]
    seen = -1
    for edge in edges:
        first = max(0, edge - 3)
        while first < edge and data[first] & 0xC0 == 0x80:
            first += 1
        at = first
        for character in bytetext.from_bytes(data[first : edge + 3]):
            past = at + bytetext.n_bytes(character)
            if at < edge < past and at != seen:
                seen = at
                yield at, past, character
            at = past


def look_alikes(tok: Tokenizer, token: bytes) -> list[tuple[bytes, int]]:
    """Find tokens that differ from this one only by a leading space or by case.

    Returns:
        (bytes, id) of those in the vocabulary, at most 8.
    """
    text = bytetext.from_bytes(token[:_READ])
    if len(token) > _READ or bytetext.has_raw_bytes(text) or text.isspace():
        return []
    bare = text.removeprefix(" ")
    cases = dict.fromkeys((bare, bare.lower(), bare.capitalize(), bare.upper()))
    spaces = (" ", "") if text.startswith(" ") else ("", " ")
    look_alikes: list[tuple[bytes, int]] = []
    for case in cases:
        for space in reversed(spaces) if case == bare else spaces:
            candidate = (space + case).encode()
            token_id = tok.token_id(candidate)
            if token_id is not None and candidate != token:
                look_alikes.append((candidate, token_id))
    return look_alikes[:_MAX_LOOK_ALIKES]
