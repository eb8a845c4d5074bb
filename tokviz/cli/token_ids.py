"""Token ids in the forms that people and programs write."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tokviz.cli.inputs import read_whole
from tokviz.errors import TokvizError

_SEPARATORS = bytes.maketrans(b",[]\t\r\n\v\f", b"        ")
_MAX_DIGITS = 18
_NUMBER = re.compile(rb"-?[0-9]{1,%d}" % _MAX_DIGITS)


@dataclass(frozen=True)
class IdBlock:
    """Ids of an input.

    Attributes:
        ids: The ids in order.
        tokenizer: The tokenizer that the input names; None if it names none.
        is_text: Whether they are a complete text, and not a part of the ids of the input.
    """

    ids: list[int]
    tokenizer: str | None = None
    is_text: bool = False


def read_ids(blocks: Iterable[bytes]) -> Iterator[IdBlock]:
    """Read ids: numbers between spaces, newlines, commas or brackets, or JSON of `tokviz encode`.

    Numbers are read block by block; JSON objects are read whole.

    Raises:
        TokvizError: If something is not an id; the message names it and its position.
    """
    rest = iter(blocks)
    head = b""
    while not head.strip():
        block = next(rest, None)
        if block is None:
            return
        head += block
    head = head.removeprefix(BOM_UTF8)  # many programs on Windows add it
    everything = chain([head], rest)
    if head.lstrip().startswith(b"{"):
        yield from _from_json(everything)
    else:
        yield from _from_numbers(everything)


def _from_numbers(blocks: Iterable[bytes]) -> Iterator[IdBlock]:
    n_before, cut_off = 0, b""
    # A final space, so that the last number is complete.
    for block in chain(blocks, [b" "]):
        whole, _, cut_off = (cut_off + block.translate(_SEPARATORS)).rpartition(b" ")
        words = whole.split()
        n_digits = max(map(len, words), default=0)
        if n_digits > _MAX_DIGITS or whole.translate(None, b"0123456789 "):
            _check_each(words, n_before)
        ids = list(map(int, words))
        n_before += len(ids)
        if len(cut_off) > _MAX_DIGITS:
            _check_each([cut_off], n_before)
        yield IdBlock(ids)


def _check_each(words: list[bytes], n_before: int) -> None:
    for position, word in enumerate(words, n_before):
        if not _NUMBER.fullmatch(word):
            raise TokvizError(f"not a token id at position {position}: {_shorten(word)}")


def _shorten(word: bytes) -> str:
    text = word.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _from_json(blocks: Iterable[bytes]) -> Iterator[IdBlock]:
    text = read_whole(blocks, " of JSON").decode("utf-8", "replace").rstrip()
    decoder = json.JSONDecoder()
    position, number = 0, 0
    while position < len(text):
        number += 1
        try:
            value, position = decoder.raw_decode(text, _skip_space(text, position))
        except (ValueError, RecursionError) as error:
            raise TokvizError(f"object {number} is not valid JSON: {error}") from None
        yield _from_object(value, number)


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _from_object(value: object, number: int) -> IdBlock:
    ids = value.get("ids") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(ids, list):
        raise TokvizError(f'object {number} has no list "ids"')
    for index, token_id in enumerate(ids):
        if not isinstance(token_id, int) or isinstance(token_id, bool):
            raise TokvizError(
                f"object {number}: not a token id at position {index}: {json.dumps(token_id)[:40]}"
            )
    tokenizer = value.get("tokenizer")
    return IdBlock(ids, tokenizer if isinstance(tokenizer, str) else None, is_text=True)
