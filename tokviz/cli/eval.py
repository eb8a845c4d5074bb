"""Measure how many tokens texts of many kinds and languages take.

The texts: news in six languages, code in three, LaTeX, science, a chat, a log, JSON; then your
files; then one text in 32 languages, to see what each pays. Each must decode to what it was.

output: for each text, a line per tokenizer
  NAME  TOKENS  BYTES/TOKEN  DIFFERENCE
  DIFFERENCE is to the first tokenizer, and "best" takes the fewest tokens. GPT-2's and GPT-4's
  tokenizers are shown for reference, after yours. On a terminal, bars show the tokens.
  Then for each language, the tokens that it takes for one token of English, by tokenizer.
  --by-script adds a line a script of all texts but those in 32 languages: its characters, and by
  tokenizer the characters of a token.
  --table nanochat prints the tables of nanochat's tok_eval instead, one for each other tokenizer:
  NAME  BYTES  TOKENS  RATIO (of the other)  TOKENS  RATIO (of your first)  DIFF %  BETTER
  RATIO is bytes per token, DIFF % the share of the other's tokens that your first one saves.

--json, one object:
  {"texts": [{"text", "n_bytes", "tokenizers": [{"name", "n_tokens", "bytes_per_token",
   "difference", "lossless"}], "best"}],
   "languages": [{"language", "n_bytes", "tokenizers": [{"name", "n_tokens", "relative"}]}]}
  "best" lists names, none where all take as many. "relative" is to English. The last of "texts" is
  the sum of all.
  --by-script adds "scripts": [{"script", "n_chars", "n_bytes", "n_tokens": [by tokenizer]}].
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from tokviz.cli import options, workers
from tokviz.cli.inputs import display_name, for_each_input, read_blocks, read_whole
from tokviz.cli.output import print_json, report
from tokviz.cli.tables import plain_table
from tokviz.compare.figures import (
    ScriptFigures,
    TableRow,
    figures_by_script,
    markdown_table,
    script_cells,
    sum_by_script,
)
from tokviz.text import bytetext
from tokviz.text.glyphs import safe

if TYPE_CHECKING:
    from tokviz.compare.report import Group, Report
    from tokviz.tokenizer.encoding.specials import AllowedSpecial
    from tokviz.tokenizer.tokenizer import Tokenizer

REFERENCES = ("gpt2", "cl100k_base")
_BAR = 30
"""Columns of the longest bar, where the terminal has them."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz eval`."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="a text to measure too; `-` is standard input"
    )
    options.add_tokenizers(parser)
    options.add_specials(parser)
    options.add_flag(parser, "--by-script", "also what each script of the texts takes")
    workers.add_arguments(parser, "measure your files")
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--json", "print one JSON object")
    options.add_flag(form, "--markdown", "print tables in Markdown")
    form.add_argument(
        "--table", choices=("nanochat",), help="print tables of your first tokenizer and each other"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    from tokviz.compare.report import report_on, sample_texts, totals
    from tokviz.compare.report_tables import markdown, record

    tokenizers = _with_references(options.load_tokenizers(arguments))
    allowed = options.SPECIALS[arguments.specials]
    own: list[Group] = []
    scripts: list[list[ScriptFigures]] = []

    def measure(name: str) -> None:
        here = partial(_measured, read_blocks(name), tokenizers, allowed, arguments.by_script)
        groups, by_script = zip(*(part() for part in parts[name] or [here]), strict=True)
        own.append(totals(groups, display_name(name)))
        scripts.extend(by_script)

    # A script goes on across all that belongs to none, however far apart two letters are.
    is_cut = not arguments.by_script
    names = [tokenizer.name for tokenizer in tokenizers]
    work = partial(_measured_stretch, names=names, allowed=allowed, by_script=arguments.by_script)
    files = options.input_names(arguments.files) if arguments.files else []
    with workers.by_source(arguments, work, files, tokenizers, is_cut=is_cut) as parts:
        exit_code = for_each_input(files, measure)
    found = report_on(tokenizers, own)
    if arguments.by_script:
        scripts += [_by_script(tokenizers, text, False) for _, text in sample_texts()]
    sums = sum_by_script(scripts)
    if arguments.json:
        more = {"scripts": [one._asdict() for one in sums]} if arguments.by_script else {}
        print_json(record(*found) | more)
    else:
        as_text = _nanochat if arguments.table else _plain
        print(*(markdown(*found) if arguments.markdown else as_text(found)), sep="\n")
        if arguments.by_script:
            write = markdown_table if arguments.markdown else plain_table
            print("", *write(list(script_cells(sums, [*map(safe, names)]))), sep="\n")
    for row in (row for row in found.texts[-1] if not row.lossless):
        report(f"note: {row.tokenizer} changes some of the texts (*): its ids decode to others")
    return exit_code


def _measured_stretch(
    stretch: workers.Stretch, names: Sequence[str], allowed: AllowedSpecial | bool, by_script: bool
) -> tuple[Group, list[ScriptFigures]]:
    tokenizers = [workers.tokenizer_of(name) for name in names]
    return _measured(workers.blocks_of(stretch, tokenizers), tokenizers, allowed, by_script)


def _measured(
    blocks: Iterable[bytes],
    tokenizers: Sequence[Tokenizer],
    allowed: AllowedSpecial | bool,
    by_script: bool,
) -> tuple[Group, list[ScriptFigures]]:
    """Count the tokens of a text, and of its scripts if that is asked."""
    from tokviz.compare.report import measured

    data = read_whole(blocks, " are too many to measure: take a part of them")
    text = bytetext.from_bytes(data)
    group = measured(tokenizers, "the text", text, allowed)
    return group, _by_script(tokenizers, text, allowed) if by_script else []


def _by_script(
    tokenizers: Sequence[Tokenizer], text: str, allowed: AllowedSpecial | bool
) -> list[ScriptFigures]:
    """Count the tokens of a text by script."""
    from tokviz.compare.tokenized_text import Side

    sides = [Side.of(tokenizer, text, allowed) for tokenizer in tokenizers]
    return figures_by_script(text, sides)


def _with_references(tokenizers: list[Tokenizer]) -> list[Tokenizer]:
    """Add the tokenizers that all are compared with, unless they are there."""
    names = {tokenizer.name for tokenizer in tokenizers}
    return tokenizers + [options.load_named(name) for name in REFERENCES if name not in names]


def _plain(found: Report) -> Iterator[str]:
    from tokviz.compare.report_tables import by_cost, cells_of, language_rows, languages_title

    groups, languages = found
    rows: list[TableRow] = [("", "tokens", "bytes/token", "difference", "")]
    shares = [0.0]
    for group in groups:
        rows += ((f"  {name}", *cells) for name, *cells in cells_of(group))
        shares += _shares([row.n_tokens for row in group])
    lines = _with_bars(list(plain_table(rows)), shares)
    yield next(lines)
    for group in groups:
        yield f"{safe(group[0].text)} ({group[0].n_bytes:,} bytes)"
        yield from islice(lines, len(group))
    yield from ("", *languages_title(languages))
    ordered = by_cost(languages)
    costs = [group[0].relative(languages[0][0]) or 0.0 for group in ordered]
    table = list(plain_table(list(language_rows(ordered, languages[0]))))
    yield from _with_bars(table, [0.0, *_shares(costs), 0.0])


def _nanochat(found: Report) -> Iterator[str]:
    from tokviz.compare.report_tables import nanochat_rows

    for number, row in enumerate(found.texts[0][1:], 1):
        yield f"Comparison with {safe(row.tokenizer)}:"
        yield from (*plain_table(list(nanochat_rows(found.texts, number))), "")


def _shares(counts: Sequence[float]) -> list[float]:
    """Give what share each number is of the largest."""
    most = max(counts, default=0)
    return [count / most if most else 0.0 for count in counts]


def _with_bars(table: list[str], shares: Sequence[float]) -> Iterator[str]:
    """Add a bar to each line, on a terminal with room for it."""
    width = max(map(len, table)) + 2
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    room = min(_BAR, columns - width - 1)
    for line, share in zip(table, shares, strict=True):
        bar = "█" * max(1, round(share * room)) if share and room >= 8 else ""
        yield f"{line:<{width}}{bar}".rstrip()
