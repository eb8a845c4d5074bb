"""Count the tokens of texts of many kinds and languages.

The texts are your files, folders and globs; each PATH is one text, with everything in it. Without a
PATH, or with --samples, they are those that ship with tokviz: news in six languages, code in three,
LaTeX, science, a chat, a log, JSON, and one text in 32 languages, to compare their costs. Each must
decode to the same text.

output: for each text and for all of them, one line per tokenizer
  NAME  TOKENS  BYTES/TOKEN  DIFFERENCE
  DIFFERENCE is relative to the first tokenizer; "best" has the fewest tokens. The tokenizers of
  GPT-2 and GPT-4 follow yours for reference. On a terminal, bars show the numbers of tokens.
  Then for each language and tokenizer, the number of tokens relative to English.
  --by-script adds one line per script of all texts but those in 32 languages: its characters, and
  by tokenizer the characters per token.
  --table nanochat prints the tables of nanochat's tok_eval instead, one per other tokenizer:
  NAME  BYTES  TOKENS  RATIO (of the other one)  TOKENS  RATIO (of your first one)  DIFF %  BETTER
  RATIO is bytes per token, DIFF % the share of the other one's tokens that your first one saves.

--json, one object:
  {"texts": [{"text", "n_bytes", "tokenizers": [{"name", "n_tokens", "bytes_per_token",
   "difference", "lossless"}], "best"}],
   "languages": [{"language", "n_bytes", "tokenizers": [{"name", "n_tokens", "relative"}]}]}
  "best" lists names; it is empty if all have the same number. "relative" is to English. The last
  of several "texts" is the sum of all.
  --by-script adds "scripts": [{"script", "n_chars", "n_bytes", "n_tokens": [by tokenizer]}].
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from tokviz.cli import options, workers
from tokviz.cli.inputs import Inputs, InputSource, display_name, read_whole
from tokviz.cli.output import plain_table, print_json, report, with_bars
from tokviz.compare.figures import (
    ScriptFigures,
    TableRow,
    figures_by_script,
    markdown_table,
    script_cells,
    sum_by_script,
)
from tokviz.compare.report import Group, Report, measured, report_on, sample_texts, totals
from tokviz.compare.report_tables import (
    by_cost,
    cells_of,
    language_rows,
    languages_title,
    markdown,
    nanochat_rows,
    record,
)
from tokviz.text import bytetext
from tokviz.text.glyphs import safe
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.tokenizer import Tokenizer

REFERENCES = ("gpt2", "cl100k_base")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz eval`."""
    options.add_paths(parser, "your texts", has_text=False)
    options.add_flag(parser, "--samples", "add the texts that ship with tokviz to yours")
    options.add_tokenizers(parser)
    options.add_specials(parser)
    options.add_flag(parser, "--by-script", "add the tokens of each script of the texts")
    workers.add_arguments(parser, "count your files")
    form = parser.add_mutually_exclusive_group()
    options.add_flag(form, "--json", "print one JSON object")
    options.add_flag(form, "--markdown", "print tables in Markdown")
    form.add_argument(
        "--table", choices=("nanochat",), help="print the tables of nanochat's tok_eval"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    tokenizers = _with_references(options.load_tokenizers(arguments))
    allowed = options.SPECIALS[arguments.specials]
    own: list[Group] = []
    scripts: list[list[ScriptFigures]] = []

    has_files = bool(arguments.files or arguments.files_from)
    inputs = Inputs(arguments, reads_stdin=False)

    def measure(source: InputSource) -> None:
        parts = [result() for result in results[source]]
        for document in inputs.read(source) if not parts else ():
            parts.append(_measured(document, tokenizers, allowed, arguments.by_script))
        for group, by_script in parts:
            documents.append(group)
            scripts.append(by_script)

    # Characters without a script belong to the letter before them, which may be in another part.
    is_cut = not arguments.by_script
    names = [tokenizer.name for tokenizer in tokenizers]
    work = partial(_measured_part, names=names, allowed=allowed, by_script=arguments.by_script)
    files = inputs.in_parts(arguments)
    with workers.results_by_source(arguments, work, files, tokenizers, is_cut=is_cut) as results:
        for name, sources in inputs.groups:
            documents: list[Group] = []
            inputs.each(measure, sources)
            if documents:
                own.append(totals(documents, display_name(name)))
    exit_code = inputs.end()
    with_samples = arguments.samples or not has_files
    if not own and not with_samples:
        return exit_code
    result = report_on(tokenizers, own, with_samples=with_samples)
    if arguments.by_script and with_samples:
        scripts += [_by_script(tokenizers, text, False) for _, text in sample_texts()]
    sums = sum_by_script(scripts)
    if arguments.json:
        more = {"scripts": [script._asdict() for script in sums]} if arguments.by_script else {}
        print_json(record(*result) | more)
    else:
        as_text = _nanochat if arguments.table else _plain
        print(*(markdown(*result) if arguments.markdown else as_text(result)), sep="\n")
        if arguments.by_script:
            write = markdown_table if arguments.markdown else plain_table
            print("", *write(list(script_cells(sums, [*map(safe, names)]))), sep="\n")
    for row in (row for row in result.texts[-1] if not row.lossless):
        report(f"note: {row.tokenizer} changes the texts marked *: its ids decode to other texts")
    return exit_code


def _measured_part(
    part: workers.FilePart, names: Sequence[str], allowed: AllowedSpecial | bool, by_script: bool
) -> tuple[Group, list[ScriptFigures]]:
    tokenizers = [workers.cached_tokenizer(name) for name in names]
    return _measured(workers.read_part(part, tokenizers), tokenizers, allowed, by_script)


def _measured(
    blocks: Iterable[bytes],
    tokenizers: Sequence[Tokenizer],
    allowed: AllowedSpecial | bool,
    by_script: bool,
) -> tuple[Group, list[ScriptFigures]]:
    """Count the tokens of a text and, if requested, of its scripts."""
    data = read_whole(blocks, " are too many to count here: use a part of the text")
    text = bytetext.from_bytes(data)
    group = measured(tokenizers, "the text", text, allowed)
    return group, _by_script(tokenizers, text, allowed) if by_script else []


def _by_script(
    tokenizers: Sequence[Tokenizer], text: str, allowed: AllowedSpecial | bool
) -> list[ScriptFigures]:
    """Count the tokens of a text by script."""
    from tokviz.compare.tokenized_text import Side  # imports NumPy

    sides = [Side.of(tokenizer, text, allowed) for tokenizer in tokenizers]
    return figures_by_script(text, sides)


def _with_references(tokenizers: list[Tokenizer]) -> list[Tokenizer]:
    """Add the reference tokenizers that are missing."""
    names = {tokenizer.name for tokenizer in tokenizers}
    return tokenizers + [options.load_named(name) for name in REFERENCES if name not in names]


def _plain(result: Report) -> Iterator[str]:
    groups, languages = result
    rows: list[TableRow] = [("", "tokens", "bytes/token", "difference", "")]
    shares = [0.0]
    for group in groups:
        rows += ((f"  {name}", *cells) for name, *cells in cells_of(group))
        shares += _shares([row.n_tokens for row in group])
    lines = with_bars(list(plain_table(rows)), shares)
    yield next(lines)
    for group in groups:
        yield f"{safe(group[0].text)} ({group[0].n_bytes:,} bytes)"
        yield from islice(lines, len(group))
    if not languages:
        return
    yield from ("", *languages_title(languages))
    ordered = by_cost(languages)
    costs = [group[0].relative(languages[0][0]) or 0.0 for group in ordered]
    table = list(plain_table(list(language_rows(ordered, languages[0]))))
    yield from with_bars(table, [0.0, *_shares(costs), 0.0])


def _nanochat(result: Report) -> Iterator[str]:
    for number, row in enumerate(result.texts[0][1:], 1):
        yield f"Comparison with {safe(row.tokenizer)}:"
        yield from (*plain_table(list(nanochat_rows(result.texts, number))), "")


def _shares(counts: Sequence[float]) -> list[float]:
    """Divide numbers by the largest one."""
    most = max(counts, default=0)
    return [count / most if most else 0.0 for count in counts]
