"""Decode token ids to bytes.

input: ids separated by spaces, newlines, commas or brackets, in a file or as arguments (if all are
numbers and no file has such a name); or the objects of `tokviz encode --json`, which name their
tokenizer (-t overrides it).

output: the bytes of the tokens, one input after another, with nothing added. On a terminal, control
characters and invalid UTF-8 are shown as glyphs.

--stream shows what a program that streams an answer token by token can display at each step, and
the bytes that it must hold back until their character is complete:
  POSITION ID TOKEN SHOWN HELD ALONE
  ALONE is the token decoded separately, if that has a U+FFFD that is not in the text. With --json,
  one object per text:
  {"file", "tokenizer", "steps": [{"id", "token", "shown", "held", "alone"}]}
  "token" and "held" are hexadecimal.

--json, one object per input:
  {"file", "tokenizer", "n_tokens", "n_bytes", "text", "base64"}
  "file" is null for ids given as arguments, "text" has U+FFFD for invalid UTF-8, "base64" has the
  exact bytes. If an input names several tokenizers, "tokenizer" is the last one.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import json
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tokviz.cli import options
from tokviz.cli.inputs import (
    InlineInput,
    InputSource,
    file_name,
    for_each_input,
    read_blocks,
    read_whole,
)
from tokviz.cli.output import plain_table, print_json
from tokviz.cli.workers import cached_tokenizer
from tokviz.errors import TokenIdError, TokvizError
from tokviz.explain.stream import stream
from tokviz.text.glyphs import safe_lines, token_label
from tokviz.tokenizer.tokenizer import Tokenizer

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


_NUMBERS = re.compile(r"[0-9\s,;\[\]()]*[0-9][0-9\s,;\[\]()]*", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz decode`."""
    options.add_files(parser, "token ids, or a file of them")
    options.add_tokenizer(parser)
    ignored = "accepted for consistency with other commands; it does not change the output"
    options.add_specials(parser, ignored, options.SPECIALS)
    options.add_flag(parser, "--skip-special-tokens", "leave out special tokens")
    options.add_flag(parser, "--stream", "show what each token adds when an answer is streamed")
    options.add_json(parser)


@dataclass(frozen=True)
class DecodedPart:
    """The bytes of some ids of an input.

    Attributes:
        tokenizer: The canonical name of the tokenizer.
        n_tokens: Number of ids.
        data: The bytes of their tokens.
    """

    tokenizer: str
    n_tokens: int
    data: bytes


def run(arguments: argparse.Namespace) -> int:
    """Decode each input."""
    default = options.tokenizer_name(arguments)
    cached_tokenizer(default)
    override = arguments.tokenizer is not None

    def decode_input(source: InputSource) -> None:
        skip = arguments.skip_special_tokens
        if arguments.stream:
            _stream(source, default, override=override, as_json=arguments.json, skip=skip)
            return
        parts = decoded_parts(source, default, override=override, skip_special_tokens=skip)
        if arguments.json:
            _print_record(source, default, parts)
        elif sys.stdout.isatty():
            _show(part.data for part in parts)
        else:
            for part in parts:
                sys.stdout.buffer.write(part.data)

    return for_each_input(id_sources(arguments.files), decode_input)


def id_sources(files: Sequence[str]) -> list[InputSource]:
    """Return the inputs to read. Arguments that are numbers and not files are ids."""
    text = " ".join(files)
    if _NUMBERS.fullmatch(text) and not any(map(os.path.lexists, files)):
        return [InlineInput("command line", " ".join(re.findall("[0-9]+", text)).encode())]
    return [*options.input_names(files)]


def decoded_parts(
    source: InputSource, tokenizer: str, *, override: bool, skip_special_tokens: bool = False
) -> Iterator[DecodedPart]:
    """Decode an input part by part.

    Args:
        source: The input.
        tokenizer: The tokenizer's name.
        override: Whether to use it even if the input names another one.
        skip_special_tokens: See `Tokenizer.decode`.

    Raises:
        TokenIdError: If an id is not in the vocabulary; its position counts from the first id.
        UnknownTokenizerError: If the input names an unknown tokenizer.
    """
    n_before = 0
    for named, ids in _joined(read_ids(read_blocks(source)), tokenizer, override=override):
        tok = cached_tokenizer(named)
        try:
            data = tok.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
        except TokenIdError as error:
            index = None if error.index is None else n_before + error.index
            raise TokenIdError(error.token_id, tok.name, tok.n_vocab, index) from None
        n_before += len(ids)
        yield DecodedPart(tok.name, len(ids), data)


def _joined(
    blocks: Iterable[IdBlock], tokenizer: str, *, override: bool
) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield blocks with their tokenizers. Join them if a tokenizer cannot decode ids separately."""
    gathered: list[int] = []
    before = ""
    for block in blocks:
        named = tokenizer if override else block.tokenizer or tokenizer
        if gathered and named != before:
            yield before, gathered
            gathered = []
        before = named
        if cached_tokenizer(named).remote:
            gathered.extend(block.ids)
        else:
            yield named, block.ids
    if gathered:
        yield before, gathered


def read_id_texts(
    source: InputSource, tokenizer: str, *, override: bool
) -> Iterator[tuple[Tokenizer, list[int]]]:
    """Yield the ids of each text of an input: of each object, or of all numbers together."""
    numbers: list[int] | None = []
    for block in read_ids(read_blocks(source)):
        if block.is_text:
            numbers = None
            named = tokenizer if override else block.tokenizer or tokenizer
            yield cached_tokenizer(named), block.ids
        elif numbers is not None:
            numbers += block.ids
    if numbers is not None:
        yield cached_tokenizer(tokenizer), numbers


def _stream(
    source: InputSource, tokenizer: str, *, override: bool, as_json: bool, skip: bool
) -> None:
    for tok, ids in read_id_texts(source, tokenizer, override=override):
        skipped = tok.specials.skipped_ids if skip else ()
        steps = stream(tok, [token_id for token_id in ids if token_id not in skipped])
        if as_json:
            records = [
                {
                    "id": step.token_id,
                    "token": step.token.hex(),
                    "shown": step.shown,
                    "held": step.held.hex(),
                    "alone": step.alone,
                }
                for step in steps
            ]
            print_json({"file": file_name(source), "tokenizer": tok.name, "steps": records})
            continue
        rows = [("", "id", "token", "shown", "held", "alone")]
        for number, step in enumerate(steps):
            shown = token_label(step.shown.encode()) if step.shown else ""
            alone = token_label(step.alone.encode()) if step.is_broken_alone else ""
            rows.append((f"{number:,}", str(step.token_id), token_label(step.token), shown,
                         step.held.hex(" "), alone))  # fmt: skip
        print(*plain_table(rows), sep="\n")


def _show(datas: Iterable[bytes]) -> None:
    """Print bytes on a terminal with control characters escaped, and end the last line."""
    end = "\n"
    for text in codecs.iterdecode(datas, "utf-8", "surrogateescape"):
        shown = safe_lines(text)
        sys.stdout.write(shown)
        end = shown[-1:] or end
    if end != "\n":
        print()


def _print_record(source: InputSource, tokenizer: str, parts: Iterable[DecodedPart]) -> None:
    data, n_tokens = bytearray(), 0
    for part in parts:
        data += part.data
        n_tokens += part.n_tokens
        tokenizer = part.tokenizer
    print_json(
        {
            "file": file_name(source),
            "tokenizer": tokenizer,
            "n_tokens": n_tokens,
            "n_bytes": len(data),
            "text": data.decode("utf-8", "replace"),
            "base64": base64.b64encode(data).decode("ascii"),
        }
    )
