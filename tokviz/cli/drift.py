"""Compare sampled token ids with what their text is encoded to.

input: as for `tokviz decode`: files of ids, or the ids themselves.

output: how many of the sampled tokens drift: they lie where encoding the text again gives other
ids. Then each such stretch, with its tokens and its cause:
  split          a sampled token crosses a border of pre-tokens, which encoding never does
  merges         the same pre-tokens, other merges
  specials       a special token for one, plain text for the other
  normalization  encoding changes the text first

Each object of an input is a text of its own.

--json, one object per text:
  {"file", "tokenizer", "n_tokens", "n_drifting",
   "spans": [{"first", "bytes": [start, end], "text", "sampled", "encoded", "cause", "why"}]}
  "first" is the number of the first sampled token, from 0; "sampled" and "encoded" are ids; "text"
  may hold U+FFFD. All spans are listed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokviz.cli import options
from tokviz.cli.decode import id_sources, texts_of_ids
from tokviz.cli.inputs import Source, display_name, file_name, for_each_input
from tokviz.cli.output import print_json
from tokviz.text.glyphs import safe, short_label
from tokviz.text.sentences import format_sentences

if TYPE_CHECKING:
    from tokviz.compare.drift import Drift
    from tokviz.tokenizer.tokenizer import Tokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz drift`."""
    options.add_files(parser, "sampled token ids, or a file of them")
    options.add_tokenizer(parser)
    options.add_specials(parser)
    options.add_most(parser, "stretches to list")
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare each input."""
    from tokviz.compare.drift import Drift

    sources = id_sources(arguments.files)
    default = options.tokenizer_name(arguments)
    overrule = arguments.tokenizer is not None

    doubted: set[Tokenizer] = set()

    def compare_one(source: Source) -> None:
        for tokenizer, ids in texts_of_ids(source, default, overrule=overrule):
            if tokenizer not in doubted:
                options.note_doubt(tokenizer)
                doubted.add(tokenizer)
            drift = Drift(tokenizer, ids, options.SPECIALS[arguments.specials])
            if arguments.json:
                print_json(_record(source, drift))
                continue
            name = f"{safe(display_name(source))}: " if len(sources) > 1 else ""
            print(f"{name}{drift.summary}")
            for line in _lines(drift, arguments.most):
                print(line)

    return for_each_input(sources, compare_one)


def _lines(drift: Drift, most: int) -> Iterator[str]:
    for span in drift.spans[:most]:
        yield f"token #{span.first:,}: {short_label(drift.data[slice(*span.byte_span)])}"
        for lane, ids in (("sampled", span.sampled), ("encoded", span.encoded)):
            yield f"  {lane}  {' '.join(map(short_label, drift.tokens(ids)))}"
        yield f"  {span.cause}: {format_sentences([span.why], short_label)}"
    if len(drift.spans) > most:
        yield options.more_listed(len(drift.spans) - most)


def _record(source: Source, drift: Drift) -> dict[str, object]:
    return {
        "file": file_name(source),
        "tokenizer": drift.tokenizer.name,
        "n_tokens": len(drift.sampled.ids),
        "n_drifting": drift.n_drifting,
        "spans": [
            {
                "first": span.first,
                "bytes": list(span.byte_span),
                "text": drift.data[slice(*span.byte_span)].decode("utf-8", "replace"),
                "sampled": list(span.sampled),
                "encoded": list(span.encoded),
                "cause": span.cause,
                "why": format_sentences([span.why]),
            }
            for span in drift.spans
        ],
    }
