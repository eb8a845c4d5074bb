"""Compare sampled token ids with the encoding of their text (retokenization drift).

input: files of ids, or ids as arguments, as for `tokviz decode`.

output: how many of the sampled tokens drift, because encoding the text again produces other ids.
Then each such stretch of text, with its tokens and its cause:
  split          a sampled token crosses a pre-token boundary
  merges         the pre-tokens are equal, the merges differ
  specials       a special token in one, plain text in the other
  normalization  encoding changes the text first

Each object of an input is a separate text.

--json, one object per text:
  {"file", "tokenizer", "n_tokens", "n_drifting",
   "spans": [{"first", "bytes": [start, end], "text", "sampled", "encoded", "cause", "why"}]}
  "first" is the index of the first sampled token, from 0; "sampled" and "encoded" are ids; "text"
  may contain U+FFFD. All spans are listed.

exit code: 0 if no token drifts, 1 if one does, 2 after an error.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokviz.cli import options
from tokviz.cli.decode import id_sources, read_id_texts
from tokviz.cli.inputs import InputSource, display_name, file_name, for_each_input
from tokviz.cli.output import FINDINGS, print_json
from tokviz.text.glyphs import safe, short_label
from tokviz.text.sentences import format_sentences
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.compare.drift import Drift


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz drift`."""
    options.add_files(parser, "sampled token ids, or a file of them")
    options.add_tokenizer(parser)
    options.add_specials(parser)
    options.add_most(parser, "stretches")
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare each input."""
    from tokviz.compare.drift import Drift  # imports NumPy

    sources = id_sources(arguments.files)
    default = options.tokenizer_name(arguments)
    override = arguments.tokenizer is not None
    seen: set[Tokenizer] = set()
    n_drifting = 0

    def compare_input(source: InputSource) -> None:
        nonlocal n_drifting
        for tokenizer, ids in read_id_texts(source, default, override=override):
            if tokenizer not in seen:
                options.warn_guessed_pattern(tokenizer)
                seen.add(tokenizer)
            drift = Drift(tokenizer, ids, options.SPECIALS[arguments.specials])
            n_drifting += drift.n_drifting
            if arguments.json:
                print_json(_record(source, drift))
                continue
            name = f"{safe(display_name(source))}: " if len(sources) > 1 else ""
            print(f"{name}{drift.summary}")
            for line in _lines(drift, arguments.most):
                print(line)

    return for_each_input(sources, compare_input) or (FINDINGS if n_drifting else 0)


def _lines(drift: Drift, most: int) -> Iterator[str]:
    for span in drift.spans[:most]:
        yield f"token #{span.first:,}: {short_label(drift.data[slice(*span.byte_span)])}"
        for label, ids in (("sampled", span.sampled), ("encoded", span.encoded)):
            yield f"  {label}  {' '.join(map(short_label, drift.tokens(ids)))}"
        yield f"  {span.cause}: {format_sentences([span.why], short_label)}"
    if len(drift.spans) > most:
        yield options.more_listed(len(drift.spans) - most)


def _record(source: InputSource, drift: Drift) -> dict[str, object]:
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
