r"""Print the token ids of texts.

output: the ids of each input on a line of their own, separated by spaces. The n-th line belongs
to the n-th FILE; a FILE that cannot be read leaves its line empty.
`tokviz encode FILE | tokviz decode` gives FILE back byte for byte.

--json, one object per input:
  {"file", "tokenizer", "specials", "n_tokens", "n_chars", "n_bytes", "bytes_per_token", "ids"}
  "file" is null for --text. With --spans also "tokens" (each token's text; a byte that is not UTF-8
  as \xhh) and "byte_spans" (each token's [start, end) in the bytes of the input; empty for what
  --add-special-tokens adds).
"""

from __future__ import annotations

import argparse
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Literal

from tokviz.cli import options
from tokviz.cli.count import record
from tokviz.cli.inputs import Source, for_each_input, read_blocks
from tokviz.cli.output import print_json, report_note
from tokviz.cli.text_blocks import InputCounts, text_blocks

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz encode`."""
    options.add_texts(parser, "a text to encode")
    options.add_flag(parser, "--spans", "add every token's text and byte span (implies --json)")
    adds = "add the tokens, such as BOS, that a tokenizer.json's post-processor adds around a text"
    options.add_flag(parser, "--add-special-tokens", adds)


def run(arguments: argparse.Namespace) -> int:
    """Encode each input."""
    tokenizer = options.load_tokenizer(arguments)
    around = tokenizer.ids_around() if arguments.add_special_tokens else ((), ())
    specials = options.SPECIALS[arguments.specials]

    def encode_one(source: Source) -> None:
        counts = InputCounts()
        blocks = text_blocks(read_blocks(source), tokenizer, parse_specials=specials, counts=counts)
        if arguments.json or arguments.spans:
            fields = _record(blocks, tokenizer, specials, arguments.spans, around)
            counts.n_tokens = len(fields["ids"])
            print_json(record(source, tokenizer, arguments.specials, counts) | fields)
        else:
            encoded = (tokenizer.encode_to_array(text, specials) for text in blocks)
            _print_ids(chain([around[0]], encoded, [around[1]]))
        report_note(counts.note)

    return for_each_input(options.text_sources(arguments), encode_one)


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
        found, edges = tokenizer.encode_with_borders(text, parse_specials)
        ids.extend(found)
        if with_spans:
            if edges is None:
                sizes = [len(tokenizer.token_bytes(token_id)) for token_id in found]
                borders.extend(list(accumulate(sizes, initial=borders[-1]))[1:])
            else:
                start = borders[-1]
                borders.extend(start + edge for edge in edges[1:])
    ids.extend(around[1])
    borders += [borders[-1]] * len(around[1])
    fields: dict[str, Any] = {"ids": ids.tolist()}
    if with_spans:
        tokens = [tokenizer.token_bytes(token_id) for token_id in ids]
        fields["tokens"] = [token.decode("utf-8", "backslashreplace") for token in tokens]
        fields["byte_spans"] = list(pairwise(borders))
    return fields
