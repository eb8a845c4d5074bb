"""Write the bytes that token ids stand for.

input: ids between spaces, newlines, commas or brackets, in a file or as the arguments themselves
(those that are all numbers, unless a file is called so); or the objects of `tokviz encode --json`,
which name their tokenizer themselves (-t overrules them).

output: the bytes of the tokens, one input after another, with nothing added. On a terminal, control
characters and broken UTF-8 are shown as glyphs instead.

--stream shows what a program that reads the tokens of an answer one by one can show at each step,
and the bytes that it must hold back, as the rest of their character has not come:
  POSITION ID TOKEN SHOWN HELD ALONE
  ALONE is what decoding the token by itself prints, only where that does not stand in the text
  (U+FFFD). With --json, one object per text:
  {"file", "tokenizer", "steps": [{"id", "token", "shown", "held", "alone"}]}
  "token" and "held" are hexadecimal.

--json, one object per input:
  {"file", "tokenizer", "n_tokens", "n_bytes", "text", "base64"}
  "file" is null for ids that are arguments, "text" has U+FFFD for what is not UTF-8, "base64" has
  the exact bytes. Where one input names several tokenizers, "tokenizer" is the last one.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz.cli import options
from tokviz.cli.inputs import Given, Source, file_name, for_each_input, read_blocks
from tokviz.cli.output import print_json
from tokviz.cli.tables import plain_table
from tokviz.cli.token_ids import IdBlock, read_ids
from tokviz.cli.workers import tokenizer_of
from tokviz.errors import TokenIdError

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

_NUMBERS = re.compile(r"[0-9\s,;\[\]()]*[0-9][0-9\s,;\[\]()]*", re.ASCII)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz decode`."""
    options.add_files(parser, "token ids, or a file of them")
    options.add_tokenizer(parser)
    unused = "accepted as by the other commands; ids decode the same"
    options.add_specials(parser, unused, options.SPECIALS)
    options.add_flag(parser, "--skip-special-tokens", "leave out special tokens")
    options.add_flag(parser, "--stream", "show what each token adds when they come one by one")
    options.add_json(parser)


@dataclass(frozen=True)
class DecodedPart:
    """The bytes of some of an input's ids.

    Attributes:
        tokenizer: The canonical name of the tokenizer.
        n_tokens: How many ids there were.
        data: The bytes of their tokens.
    """

    tokenizer: str
    n_tokens: int
    data: bytes


def run(arguments: argparse.Namespace) -> int:
    """Decode each input."""
    default = options.tokenizer_name(arguments)
    tokenizer_of(default)
    overrule = arguments.tokenizer is not None

    def decode_one(source: Source) -> None:
        skip = arguments.skip_special_tokens
        if arguments.stream:
            _stream(source, default, overrule=overrule, as_json=arguments.json, skip=skip)
            return
        parts = decode_input(source, default, overrule=overrule, skip_special_tokens=skip)
        if arguments.json:
            _print_record(source, default, parts)
        elif sys.stdout.isatty():
            _show(part.data for part in parts)
        else:
            for part in parts:
                sys.stdout.buffer.write(part.data)

    return for_each_input(id_sources(arguments.files), decode_one)


def id_sources(files: Sequence[str]) -> list[Source]:
    """The inputs to read; arguments that are all numbers, and no files, are ids themselves."""
    given = " ".join(files)
    if _NUMBERS.fullmatch(given) and not any(map(os.path.lexists, files)):
        return [Given("command line", " ".join(re.findall("[0-9]+", given)).encode())]
    return [*options.input_names(files)]


def decode_input(
    source: Source, tokenizer: str, *, overrule: bool, skip_special_tokens: bool = False
) -> Iterator[DecodedPart]:
    """Decode one input part by part.

    Args:
        source: The input.
        tokenizer: The tokenizer's name.
        overrule: Use it even where the input names another.
        skip_special_tokens: See `Tokenizer.decode`.

    Raises:
        TokenIdError: If an id is not in the vocabulary; its position counts from the first id.
        UnknownTokenizerError: If the input names a tokenizer that is not known.
    """
    n_before = 0
    for named, ids in _joined(read_ids(read_blocks(source)), tokenizer, overrule=overrule):
        tok = tokenizer_of(named)
        try:
            data = tok.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
        except TokenIdError as error:
            index = None if error.index is None else n_before + error.index
            raise TokenIdError(error.token_id, tok.name, tok.n_vocab, index) from None
        n_before += len(ids)
        yield DecodedPart(tok.name, len(ids), data)


def _joined(
    blocks: Iterable[IdBlock], tokenizer: str, *, overrule: bool
) -> Iterator[tuple[str, Sequence[int]]]:
    """Name each block's tokenizer; join the blocks where ids mean something only together."""
    gathered: list[int] = []
    before = ""
    for block in blocks:
        named = tokenizer if overrule else block.tokenizer or tokenizer
        if gathered and named != before:
            yield before, gathered
            gathered = []
        before = named
        if tokenizer_of(named).remote:
            gathered.extend(block.ids)
        else:
            yield named, block.ids
    if gathered:
        yield before, gathered


def texts_of_ids(
    source: Source, tokenizer: str, *, overrule: bool
) -> Iterator[tuple[Tokenizer, list[int]]]:
    """Give the ids of an input whole: each object is a text of its own; see `decode_input`."""
    numbers: list[int] | None = []
    for block in read_ids(read_blocks(source)):
        if block.is_text:
            numbers = None
            named = tokenizer if overrule else block.tokenizer or tokenizer
            yield tokenizer_of(named), block.ids
        elif numbers is not None:
            numbers += block.ids
    if numbers is not None:
        yield tokenizer_of(tokenizer), numbers


def _stream(source: Source, tokenizer: str, *, overrule: bool, as_json: bool, skip: bool) -> None:
    from tokviz.explain.stream import stream
    from tokviz.text.glyphs import token_label

    for tok, ids in texts_of_ids(source, tokenizer, overrule=overrule):
        left_out = tok.specials.skipped_ids if skip else ()
        steps = stream(tok, [one for one in ids if one not in left_out])
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
    """Print bytes on a terminal, through the sanitizer, and end the last line."""
    from tokviz.text.glyphs import safe_lines

    end = "\n"
    for text in codecs.iterdecode(datas, "utf-8", "surrogateescape"):
        shown = safe_lines(text)
        sys.stdout.write(shown)
        end = shown[-1:] or end
    if end != "\n":
        print()


def _print_record(source: Source, tokenizer: str, parts: Iterable[DecodedPart]) -> None:
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
