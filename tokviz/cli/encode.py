r"""Print the token ids of texts.

output: one line per text with its ids, separated by spaces. If a FILE cannot be read, its line is
empty. `tokviz encode FILE | tokviz decode` prints FILE byte for byte, except if the tokenizer
normalizes text, or encodes U+FFFD for bytes that are not UTF-8. A message notes both.

exit code: 1 if bytes were replaced by U+FFFD.

--json, one object per text:
  {"file", "tokenizer", "specials", "n_tokens", "n_chars", "n_bytes", "bytes_per_token", "ids"}
  "file" is null for --text. --spans adds "tokens" (the text of each token; bytes that are not UTF-8
  as \xhh) and "byte_spans" ([start, end) of each token in the bytes of the input; empty for tokens
  added by --add-special-tokens).
"""

from __future__ import annotations

import argparse
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, Literal

from tokviz.cli import options
from tokviz.cli.count import record
from tokviz.cli.inputs import Inputs, InputSource, file_name
from tokviz.cli.output import print_json, report
from tokviz.live.text_blocks import InputCounts, text_blocks
from tokviz.tokenizer.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz encode`."""
    options.add_paths(parser, "the texts to encode")
    options.add_tokenizer(parser)
    options.add_encoding(parser)
    options.add_flag(
        parser, "--spans", "add the text and byte span of every token (implies --json)"
    )
    help_text = "add the tokens, such as BOS, that the post-processor of a tokenizer.json adds"
    options.add_flag(parser, "--add-special-tokens", help_text)


def run(arguments: argparse.Namespace) -> int:
    """Encode each input."""
    tokenizer = options.load_tokenizer(arguments)
    around = tokenizer.ids_around() if arguments.add_special_tokens else ((), ())
    specials = options.SPECIALS[arguments.specials]

    inputs = Inputs(arguments)
    n_replaced = 0

    def encode_input(source: InputSource) -> None:
        n_documents = 0
        try:
            for document in inputs.read(source):
                n_documents += 1
                encode_text(source, document)
        finally:
            if not n_documents and not arguments.json and source not in inputs.found:
                print()

    def encode_text(source: InputSource, data: Iterable[bytes]) -> None:
        nonlocal n_replaced
        counts = InputCounts()
        blocks = text_blocks(data, tokenizer, parse_specials=specials, counts=counts)
        if arguments.json or arguments.spans:
            fields = _record(blocks, tokenizer, specials, arguments.spans, around)
            counts.n_tokens = len(fields["ids"])
            head: dict[str, object] = {"file": file_name(source)}
            print_json(record(head, tokenizer, arguments.specials, counts) | fields)
        else:
            encoded = (tokenizer.byte_text.encode(text, specials) for text in blocks)
            _print_ids(chain([around[0]], encoded, [around[1]]))
        n_replaced += counts.n_replaced
        if counts.note:
            report(counts.note)

    inputs.each(encode_input, inputs.sources)
    return inputs.end() or int(n_replaced > 0)


def _print_ids(parts: Iterable[Sequence[int]]) -> None:
    separator = ""
    try:
        for ids in filter(None, parts):
            sys.stdout.write(separator + " ".join(map(str, ids)))
            separator = " "
    finally:
        sys.stdout.write("\n")


def _record(
    blocks: Iterable[str], tokenizer: Tokenizer, parse_specials: bool | Literal["huggingface"],
    with_spans: bool, around: tuple[Sequence[int], Sequence[int]],
) -> dict[str, Any]:  # fmt: skip
    ids, borders = array("I", around[0]), [0] * (1 + len(around[0]))
    for text in blocks:
        if with_spans:
            found, start = tokenizer.byte_text.tokenize(text, parse_specials), borders[-1]
            ids.extend(found.ids)
            borders += [start + end for end in found.byte_spans[:, 1].tolist()]
        else:
            ids.extend(tokenizer.byte_text.encode(text, parse_specials))
    ids.extend(around[1])
    borders += [borders[-1]] * len(around[1])
    fields: dict[str, Any] = {"ids": ids.tolist()}
    if with_spans:
        tokens = [tokenizer.token_bytes(token_id) for token_id in ids]
        fields["tokens"] = [token.decode("utf-8", "backslashreplace") for token in tokens]
        fields["byte_spans"] = list(pairwise(borders))
    return fields
