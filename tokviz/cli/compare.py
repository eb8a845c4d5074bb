"""Compare tokenizers on a text: a table, the disagreements, and their causes.

output: one line per tokenizer
  NAME  TOKENS  BYTES/TOKEN  CHARACTERS/TOKEN  TOKENS/WORD  DIFFERENCE
  DIFFERENCE is relative to the first tokenizer. --by-script adds one line per script: its
  characters, and by tokenizer the characters per token. Then the first disagreements: the smallest
  stretches of text that start and end at token borders in all tokenizers and that they do not all
  encode as the same tokens, each with its tokens and its cause:
    split          the split patterns cut it differently
    merges         the pre-tokens are equal, the merges differ
    ignore_merges  one of them uses a pre-token in its vocabulary without merging
    specials       a special token in one, plain text in another
    normalization  one of them changes the text first
  The cause is the part that, copied from one tokenizer to the other, makes the two agree.

--json, one object per input:
  {"file", "n_bytes", "n_chars", "n_words", "tokenizers": [{"name", "n_tokens", "bytes_per_token",
   "chars_per_token", "tokens_per_word", "difference"}], "n_disagreements",
   "causes": {cause: number},
   "disagreements": [{"bytes": [start, end], "text", "ids", "tokens", "cause", "why"}]}
  --by-script adds "scripts": [{"script", "n_chars", "n_bytes", "n_tokens": [by tokenizer]}].
  "file" is null for --text; "tokens" are hexadecimal; "text" may contain U+FFFD.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokviz.cli import options
from tokviz.cli.inputs import (
    InputSource,
    display_name,
    file_name,
    for_each_input,
    read_blocks,
    read_whole,
)
from tokviz.cli.output import FigureOutput, plain_table, print_json
from tokviz.compare.figures import (
    HEADS,
    Figures,
    TableRow,
    figure_cells,
    figures_by_script,
    markdown_table,
    script_cells,
)
from tokviz.errors import TokvizError
from tokviz.share.figure import comparison_figure
from tokviz.text import bytetext
from tokviz.text.glyphs import safe, short_label
from tokviz.text.sentences import format_sentences, pluralize

if TYPE_CHECKING:
    from tokviz.compare.boundaries import Comparison, Disagreement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz compare`."""
    options.add_text_files(parser, "a text to compare on")
    options.add_tokenizers(parser)
    options.add_specials(parser)
    options.add_flag(parser, "--by-script", "add the tokens of each script of the text")
    options.add_most(parser, "disagreements")
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--json", "print one JSON object per input")
    options.add_flag(form, "--markdown", "print tables in Markdown")
    options.add_forms(parser, form)


def run(arguments: argparse.Namespace) -> int:
    """Compare the tokenizers on each input."""
    from tokviz.compare.boundaries import Comparison  # imports NumPy

    tokenizers = options.load_tokenizers(arguments)
    if len(tokenizers) < 2:
        raise TokvizError("a comparison needs two tokenizers: repeat -t")
    sources = options.text_sources(arguments)
    form = options.requested_form(arguments)
    if form and arguments.by_script:
        raise TokvizError("--by-script adds lines to the table: leave out the other form and -o")
    figures = FigureOutput(form, arguments.output) if form else None

    def compare_input(source: InputSource) -> None:
        data = read_whole(read_blocks(source), " are too many to compare: use a part of the text")
        text = bytetext.from_bytes(data)
        comparison = Comparison(text, tokenizers, options.SPECIALS[arguments.specials])
        if figures is not None:
            figures.write(comparison_figure(display_name(source), comparison))
            return
        scripts = figures_by_script(text, comparison.sides) if arguments.by_script else []
        if arguments.json:
            record = _record(source, comparison, arguments.most)
            if arguments.by_script:
                record["scripts"] = [script._asdict() for script in scripts]
            print_json(record)
            return
        if len(sources) > 1:
            name = safe(display_name(source))
            print(f"## {name}" if arguments.markdown else name)
        write = markdown_table if arguments.markdown else plain_table
        print(*write(list(table_rows(comparison))), sep="\n")
        if arguments.by_script:
            names = [safe(side.tokenizer.name) for side in comparison.sides]
            print("", *write(list(script_cells(scripts, names))), sep="\n")
        fence = ["```"] if arguments.markdown else []
        for line in ("", *fence, *_disagreement_lines(comparison, arguments.most), *fence):
            print(line)

    code = for_each_input(sources, compare_input)
    if figures is not None:
        figures.end(has_failed=code != 0)
    return code


def table_rows(comparison: Comparison) -> Iterator[TableRow]:
    """Yield the rows of the table, heads first."""
    yield ("", *HEADS)
    figures = comparison.figures
    for number, (side, own) in enumerate(zip(comparison.sides, figures, strict=True)):
        base = figures[0] if number else None
        yield (safe(side.tokenizer.name), *figure_cells(own, base))


def _disagreement_lines(comparison: Comparison, most: int) -> Iterator[str]:
    disagreements = comparison.disagreements
    if not disagreements:
        yield "All produce the same tokens."
        return
    causes = Counter(disagreement.cause for disagreement in disagreements)
    by_cause = ", ".join(f"{cause} {number:,}" for cause, number in causes.most_common())
    yield f"{pluralize(len(disagreements), 'disagreement')} ({by_cause})"
    width = max(len(safe(side.tokenizer.name)) for side in comparison.sides)
    for disagreement in disagreements[:most]:
        start, end = disagreement.byte_span
        row, column = comparison.place(start)
        yield f"line {row + 1:,}, column {column + 1:,}: {short_label(comparison.data[start:end])}"
        for number, side in enumerate(comparison.sides):
            tokens = " ".join(map(short_label, disagreement.tokens(number)))
            yield f"  {safe(side.tokenizer.name):<{width}}  {tokens}"
        sentences = disagreement.sentences(disagreement.other)
        yield f"  {disagreement.cause}: {format_sentences(sentences, short_label)}"
    if len(disagreements) > most:
        yield options.more_listed(len(disagreements) - most)


def _record(source: InputSource, comparison: Comparison, most: int) -> dict[str, Any]:
    figures = comparison.figures
    disagreements = comparison.disagreements
    return {
        "file": file_name(source),
        "n_bytes": len(comparison.data),
        "n_chars": len(comparison.text),
        "n_words": figures[0].n_words,
        "tokenizers": [
            _figures_record(side.tokenizer.name, own, figures[0])
            for side, own in zip(comparison.sides, figures, strict=True)
        ],
        "n_disagreements": len(disagreements),
        "causes": dict(Counter(disagreement.cause for disagreement in disagreements)),
        "disagreements": [_disagreement_record(comparison, item) for item in disagreements[:most]],
    }


def _figures_record(name: str, own: Figures, base: Figures) -> dict[str, Any]:
    return {
        "name": name,
        "n_tokens": own.n_tokens,
        "bytes_per_token": own.bytes_per_token,
        "chars_per_token": own.chars_per_token,
        "tokens_per_word": own.tokens_per_word,
        "difference": own.difference(base),
    }


def _disagreement_record(comparison: Comparison, disagreement: Disagreement) -> dict[str, Any]:
    start, end = disagreement.byte_span
    numbers = range(len(comparison.sides))
    return {
        "bytes": [start, end],
        "text": comparison.data[start:end].decode("utf-8", "replace"),
        "ids": [list(ids) for ids in disagreement.ids],
        "tokens": [[token.hex() for token in disagreement.tokens(number)] for number in numbers],
        "cause": disagreement.cause,
        "why": disagreement.explanation,
    }
