r"""Files that list merges in order: GPT-2's `merges.txt`, and formats that students write.

| form | one merge |
|---|---|
| GPT-2's text (`vocab.bpe`) | a line `Ġ t`, after an optional first line `#version: …` |
| Python's text | a line `(b' ', b't')`, `b' ' b't'` or `[32] [116]` |
| JSON | an item `["Ġ", "t"]`, `"Ġ t"` or `[[32], [116]]` of one list |

No file says how the characters of a token encode its bytes. GPT-2's alphabet is common; some files
have Latin-1 or hexadecimal. The merges themselves tell: each side of a merge is one byte, or the
product of an earlier merge. The first spelling for which that holds is used.

>>> in_spelling([("68", "65"), ("6865", "79")])
[(b'h', b'e'), (b'he', b'y')]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from os import fspath

from tokviz.errors import InputFileError, VocabularyError
from tokviz.formats.byte_level import from_characters
from tokviz.storage.files import StrPath, decode_utf8, read_file
from tokviz.storage.json_file import parse_json
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.encoding.packed import pack_merges
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer

MAX_MERGES = 4_000_000
"""More merges than any tokenizer has."""

Spelling = Callable[[str], bytes]
"""A function that decodes the text of a token; raises `ValueError` if the text is invalid."""

Sides = tuple[str, str] | Merge
"""A merge as in its file: as text, or as bytes if the file format is unambiguous."""


def _latin1(text: str) -> bytes:
    return text.encode("latin-1")


SPELLINGS: tuple[Spelling, ...] = (from_characters, _latin1, bytes.fromhex)
"""The spellings of tokens, most likely first."""


def read_merges(path: StrPath) -> list[Merge]:
    """Read a file of merges in any of the formats above, in the order in which they apply.

    Raises:
        InputFileError: If the file cannot be read or is not a list of merges; it names the line or
            the item of the list.
    """
    return parse_merges(read_file(path), path)


def parse_merges(data: bytes, path: StrPath) -> list[Merge]:
    """Parse merges as `read_merges` does; the path is for error messages only."""
    text = decode_utf8(data, path, "; merges are text")
    sides, place, first = _sides_of(text, data, path)
    if len(sides) > MAX_MERGES:
        raise InputFileError(path, f"{len(sides):,} merges are too many (at most {MAX_MERGES:,})")
    try:
        return in_spelling(sides)
    except MergeError as error:
        raise InputFileError(path, f"{place} {first + error.index}: {error}") from None


def _sides_of(text: str, data: bytes, path: StrPath) -> tuple[list[Sides], str, int]:
    """Read the merges of a text; return the name of its units too, and the first one's number."""
    if _PYTHON.match(text):
        return _from_python(text, path), "line", 1
    if JSON_LIST.match(text):
        content = parse_json(data, path)
        assert isinstance(content, list)  # because it starts with a bracket
        return merges_of_list(content, path), "item", 0
    sides, first = _from_lines(text, path)
    return sides, "line", first


class MergeError(ValueError):
    """A merge that cannot be read; `index` counts from 0."""

    def __init__(self, index: int, reason: str) -> None:
        """Create the error from the merge's index and a reason."""
        self.index = index
        super().__init__(reason)


def in_spelling(sides: Sequence[Sides]) -> list[Merge]:
    """Convert merges to bytes, with the first spelling for which every side is made before its use.

    If there is none, GPT-2's is used: the list may lack merges.

    Raises:
        MergeError: If a token is invalid in GPT-2's alphabet.
    """
    for spelling in SPELLINGS:
        try:
            merges = list(_spelled(sides, spelling))
        except MergeError:
            continue
        if _is_closed(merges):
            return merges
    return list(_spelled(sides, from_characters))


def _spelled(sides: Iterable[Sides], spelling: Spelling) -> Iterator[Merge]:
    for index, (left, right) in enumerate(sides):
        try:
            yield in_bytes(left, spelling), in_bytes(right, spelling)
        except ValueError as error:
            raise MergeError(index, f"{left!r} + {right!r}: {error} in GPT-2's alphabet") from None


def in_bytes(token: str | bytes, spelling: Spelling) -> bytes:
    """Decode a token, unless it is bytes already; raise `ValueError` as the spelling does."""
    return token if isinstance(token, bytes) else spelling(token)


def _is_closed(merges: Iterable[Merge]) -> bool:
    """Return whether each side of each merge is a byte or the product of an earlier merge."""
    made: set[bytes] = set()
    for left, right in merges:
        if (len(left) != 1 and left not in made) or (len(right) != 1 and right not in made):
            return False
        made.add(left + right)
    return True


# -- JSON

JSON_LIST = re.compile(r"""\s*\[(?:["\[{\r\n]|\s*\]\s*$)""")
"""Matches the start of a JSON list of merges, but not of a line of GPT-2's text."""


def merges_of_list(content: Sequence[object], path: StrPath, place: str = "") -> list[Sides]:
    """Read the items of a JSON list of merges; `place` is the key that has it.

    Raises:
        InputFileError: If an item is not a merge; it names the item, counted from 0.
    """
    sides: list[Sides] = []
    for index, item in enumerate(content):
        where = f"{place}[{index}]" if place else f"item {index}"
        pair = _sides(item)
        if pair is None:
            shown = repr(item)[:60]
            raise InputFileError(path, f"{where}: {shown} is not a pair of tokens")
        if sides and type(pair[0]) is not type(sides[0][0]):
            raise InputFileError(path, f"{where}: is not written as item 0 is")
        sides.append(pair)
    return sides


def _sides(item: object) -> Sides | None:
    if isinstance(item, str):
        item = item.split(" ")
    if not isinstance(item, (list, tuple)) or len(item) != 2:
        return None
    left, right = item
    if isinstance(left, str) and isinstance(right, str) and left and right:
        return left, right
    if isinstance(left, list) and isinstance(right, list) and left and right:
        with suppress(TypeError, ValueError):
            return bytes(left), bytes(right)
    return None


# -- text

_LITERAL = r"""b'(?:[^'\\\n]|\\.)*'|b"(?:[^"\\\n]|\\.)*"|\[[\d, ]+\]"""
_PYTHON_TOKEN = re.compile(_LITERAL)
_PYTHON = re.compile(rf"\s*[\[(]?\s*\(?(?:{_LITERAL})\s*,?\s*(?:{_LITERAL})\)?,?\s*(?!\])")
"""Matches a first merge in Python's syntax, but not one in JSON."""

_BETWEEN_TOKENS = " ,()[]\r\t"


def _from_python(text: str, path: StrPath) -> list[Sides]:
    """Read `(b'a', b'b')`, `b'a' b'b'` or `[97] [98]`, one per line or all in one list.

    Only literals are parsed; no code is run.
    """
    sides: list[Sides] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        between = _PYTHON_TOKEN.split(line)
        tokens = [_literal(token) for token in _PYTHON_TOKEN.findall(line)]
        odd = len(tokens) % 2 or (not tokens and line.strip(_BETWEEN_TOKENS + "\n"))
        if odd or None in tokens or any(part.strip(_BETWEEN_TOKENS) for part in between):
            raise _no_merge(path, number, line)
        sides += zip(filter(None, tokens[::2]), filter(None, tokens[1::2]), strict=True)
    return sides


def _literal(token: str) -> bytes | None:
    try:
        value = ast.literal_eval(token)
        return bytes(value) or None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _from_lines(text: str, path: StrPath) -> tuple[list[Sides], int]:
    """Read one merge per line; return the number of the first merge's line too."""
    lines = text.split("\n")
    first = 1
    if lines[0].startswith("#version"):
        del lines[0]
        first = 2
    while lines and not lines[-1].strip():
        del lines[-1]
    sides: list[Sides] = []
    for number, line in enumerate(lines, first):
        line = line.removesuffix("\r")
        pair = _sides(line.split("\t") if "\t" in line else line.split(" "))
        if pair is None:
            raise _no_merge(path, number, line)
        sides.append(pair)
    return sides, first


def _no_merge(path: StrPath, number: int, line: str) -> InputFileError:
    shown = repr(line[:60])
    return InputFileError(
        path, f"line {number}: {shown} is not a merge: write two tokens with a space between them"
    )


def of_merges(merges: Sequence[Merge], split_pattern: str | SplitPattern, name: str) -> Tokenizer:
    """Create a tokenizer from merges alone: bytes first, then each merge's token.

    Raises:
        VocabularyError: If a merge has a side that no earlier merge makes.
    """
    tokens = dict.fromkeys(bytes([byte]) for byte in range(256))
    for number, (left, right) in enumerate(merges, 1):
        for part in (left, right):
            if part not in tokens:
                raise VocabularyError(
                    f"merge {number:,} ({left!r} + {right!r}): {part!r} is neither a byte nor "
                    "made by a merge before"
                )
        tokens[left + right] = None
    packed = pack_merges(enumerate(tokens), merges)
    pattern = get_split_pattern(split_pattern)
    return Tokenizer.of(packed, split_pattern=pattern, name=name)


def read_merges_tokenizer(path: StrPath, split_pattern: str | SplitPattern) -> Tokenizer:
    """Read a file that holds only merges.

    Raises:
        InputFileError: If it cannot be read, or its merges are inconsistent.
    """
    merges = read_merges(path)
    if not merges:
        raise InputFileError(path, "holds no merges")
    try:
        return of_merges(merges, split_pattern, fspath(path))
    except VocabularyError as error:
        raise InputFileError(path, str(error)) from None
