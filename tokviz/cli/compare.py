"""Compare tokenizers on a text: a table, the disagreements, and their causes.

Each PATH is one text; a folder or a glob is the sum of the texts in it.

output: for each PATH and, if there are several, for all of them, one line per tokenizer
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

--json, one object per text:
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
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tokviz.cli import options
from tokviz.cli.inputs import STDIN, Inputs, InputSource, display_name, file_name, read_whole
from tokviz.cli.output import FigureOutput, plain_table, print_json
from tokviz.compare.figures import (
    HEADS,
    Figures,
    ScriptFigures,
    figure_cells,
    figures_by_script,
    markdown_table,
    script_cells,
    sum_by_script,
)
from tokviz.errors import TokvizError
from tokviz.share.figure import comparison_figure
from tokviz.text import bytetext
from tokviz.text.glyphs import safe, short_label
from tokviz.text.sentences import format_sentences, pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokviz.compare.boundaries import Comparison, Disagreement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz compare`."""
    options.add_paths(parser, "the texts to compare on")
    options.add_tokenizers(parser)
    options.add_specials(parser)
    options.add_flag(parser, "--by-script", "add the tokens of each script of the text")
    options.add_most(parser, "disagreements")
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--json", "print one JSON object per text")
    options.add_flag(form, "--markdown", "print tables in Markdown")
    options.add_forms(parser, form)


def run(arguments: argparse.Namespace) -> int:
    """Compare the tokenizers on each input."""
    from tokviz.compare.boundaries import Comparison  # imports NumPy

    tokenizers = options.load_tokenizers(arguments)
    if len(tokenizers) < 2:
        raise TokvizError("a comparison needs two tokenizers: repeat -t")
    inputs = Inputs(arguments)
    form = options.requested_form(arguments)
    if form and arguments.by_script:
        raise TokvizError("--by-script adds lines to the table: leave out the other form and -o")
    figures = FigureOutput(form, arguments.output) if form else None
    total = _Summary(arguments)

    def compare_input(source: InputSource) -> None:
        for document in inputs.read(source):
            data = read_whole(document, " are too many to compare: use a part of the text")
            text = bytetext.from_bytes(data)
            comparison = Comparison(text, tokenizers, options.SPECIALS[arguments.specials])
            scripts = figures_by_script(text, comparison.sides) if arguments.by_script else []
            if figures is not None:
                figures.write(comparison_figure(display_name(source), comparison))
            elif arguments.json:
                record = _record(source, comparison, arguments.most)
                if arguments.by_script:
                    record["scripts"] = [script._asdict() for script in scripts]
                print_json(record)
            else:
                summary.add("" if sources == [source] else display_name(source), comparison)
                summary.scripts = sum_by_script([summary.scripts, scripts])

    for name, sources in inputs.groups:
        summary = _Summary(arguments)
        inputs.each(compare_input, sources)
        if summary.figures:
            if len(inputs.groups) > 1:
                summary.print_title("standard input" if name == STDIN else name)
            summary.print_table(tokenizers)
            summary.print_disagreements()
            total.add_all(summary)
    if len(inputs.groups) > 1 and total.figures:
        print()
        total.print_title("total")
        total.print_table(tokenizers)
    code = inputs.end()
    if figures is not None:
        figures.end(has_failed=code != 0)
    return code


class _Summary:
    """The sum of the comparisons of texts.

    Attributes:
        figures: By tokenizer, the statistics of all texts; empty without a text.
        scripts: The statistics by script.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._is_markdown: bool = arguments.markdown
        self._most: int = arguments.most
        self.figures: tuple[Figures, ...] = ()
        self.scripts: list[ScriptFigures] = []
        self._causes = Counter[str]()
        self._examples: list[str] = []
        self._n_shown = 0

    def add(self, name: str, comparison: Comparison) -> None:
        """Add the comparison of a text; its disagreements are listed with the name, if any."""
        self._add_figures(comparison.figures)
        self._causes.update(found.cause for found in comparison.disagreements)
        for disagreement in comparison.disagreements[: self._most - self._n_shown]:
            self._examples += _disagreement_lines(name, comparison, disagreement)
            self._n_shown += 1

    def add_all(self, other: _Summary) -> None:
        """Add the statistics of another summary."""
        self._add_figures(other.figures)
        self.scripts = sum_by_script([self.scripts, other.scripts])

    def _add_figures(self, figures: Sequence[Figures]) -> None:
        both = zip(self.figures, figures, strict=True)
        self.figures = tuple(a.plus(b) for a, b in both) if self.figures else tuple(figures)

    def print_title(self, title: str) -> None:
        """Print the title of a table."""
        print(f"## {safe(title)}" if self._is_markdown else safe(title))

    def print_table(self, tokenizers: Sequence[Tokenizer]) -> None:
        """Print a line per tokenizer and, if requested, per script."""
        write = markdown_table if self._is_markdown else plain_table
        names = [safe(tokenizer.name) for tokenizer in tokenizers]
        bases = (None, *[self.figures[0]] * len(names))
        rows = zip(names, self.figures, bases, strict=False)
        table = [("", *HEADS), *((name, *figure_cells(own, base)) for name, own, base in rows)]
        print(*write(table), sep="\n")
        if self.scripts:
            print("", *write(list(script_cells(self.scripts, names))), sep="\n")

    def print_disagreements(self) -> None:
        """Print the number of disagreements and the first ones."""
        n_all = self._causes.total()
        by_cause = ", ".join(f"{cause} {number:,}" for cause, number in self._causes.most_common())
        head = f"{pluralize(n_all, 'disagreement')} ({by_cause})"
        more = [options.more_listed(n_all - self._n_shown)] if n_all > self._n_shown else []
        fence = ["```"] if self._is_markdown else []
        lines = [head, *self._examples, *more] if n_all else ["All produce the same tokens."]
        print("", *fence, *lines, *fence, sep="\n")


def _disagreement_lines(
    name: str, comparison: Comparison, disagreement: Disagreement
) -> Iterator[str]:
    width = max(len(safe(side.tokenizer.name)) for side in comparison.sides)
    start, end = disagreement.byte_span
    row, column = comparison.place(start)
    place = f"{safe(name)}, " if name else ""
    place += f"line {row + 1:,}, column {column + 1:,}"
    yield f"{place}: {short_label(comparison.data[start:end])}"
    for number, side in enumerate(comparison.sides):
        tokens = " ".join(map(short_label, disagreement.tokens(number)))
        yield f"  {safe(side.tokenizer.name):<{width}}  {tokens}"
    sentences = disagreement.sentences(disagreement.other)
    yield f"  {disagreement.cause}: {format_sentences(sentences, short_label)}"


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
