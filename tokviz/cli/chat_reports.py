"""Reports of `tokviz chat` about prompts and datasets: --prefix, --cost, --packing and --stats."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from tokviz.chat import statistics
from tokviz.chat.cost import Path, part_tokens, totals
from tokviz.chat.dataset import Dataset
from tokviz.chat.messages import ConversationError
from tokviz.chat.packing import STRATEGIES, pack
from tokviz.chat.prefix import prefix_diff
from tokviz.chat.render import render
from tokviz.chat.requests import request_row
from tokviz.chat.template_files import load_template
from tokviz.cli import chat_variables, options, workers
from tokviz.cli.count import cost_record
from tokviz.cli.inputs import STDIN, display_name, for_each_input, open_dataset
from tokviz.cli.output import FINDINGS, plain_table, print_json, report, with_bars
from tokviz.cli.progress import StatusLine
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import is_pipe
from tokviz.text.bytetext import from_bytes
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace.prices import cost_text, load_prices, models_for, percent

_ERRORS_SHOWN, _TOKENS_SHOWN = 10, 8
_WINDOWS_DRAWN, _CELLS = 3, 60

_Record = dict[str, Any]


def run(arguments: argparse.Namespace, names: Sequence[str], rows_per_task: int) -> int:
    """Print the requested report; a worker counts `rows_per_task` rows at a time."""
    tokenizer = options.load_tokenizer(arguments)
    if arguments.prefix:
        return _print_prefixes(arguments, tokenizer, names)
    show = _print_cost if arguments.cost else partial(_print_counts, rows_per_task)
    return for_each_input(names, partial(show, arguments, tokenizer))


@lru_cache
def _open(name: str) -> Dataset:
    dataset = open_dataset(name)
    dataset.index_all()
    return dataset


def _spans(arguments: argparse.Namespace, name: str, most: int) -> list[range]:
    """Return the requested rows, or all rows, counted from 0, in ranges of limited length."""
    n_rows = _open(name).n_rows
    for row in arguments.rows or [1]:
        if row > n_rows:
            has = f"there is no row {row:,}; it has {pluralize(n_rows, 'row')}"
            raise InputFileError(display_name(name), has)
    chosen = [range(row - 1, row) for row in arguments.rows]
    return chosen or [range(first, min(first + most, n_rows)) for first in range(0, n_rows, most)]


def _renderer(arguments: argparse.Namespace, tokenizer: Tokenizer) -> statistics.Render:
    template = _cached_template(arguments.template, tokenizer)
    return partial(
        render,
        tokenizer,
        template=template,
        max_tokens=arguments.max_tokens if arguments.stats else None,
        variables=chat_variables.variables_of(arguments, template),
        specials=chat_variables.specials_of(arguments),
    )


_cached_template = lru_cache(load_template)


def _table(rows: Sequence[_Record]) -> list[str]:
    """Format records with the same keys, which become the heads; fractions are shares."""

    def cell(value: str | int | float) -> str:
        shown = percent(value) if isinstance(value, float) else value
        return safe(shown) if isinstance(shown, str) else f"{shown:,}"

    heads = [safe(key.removeprefix("n_").replace("_", " ")) for key in rows[0]]
    return [*plain_table([heads, *([*map(cell, row.values())] for row in rows)])]


def _print_prefixes(
    arguments: argparse.Namespace, tokenizer: Tokenizer, names: Sequence[str]
) -> int:
    """Compare each row with the next: the rows of one file, or the first row of each file."""
    if len(names) > 1 and not arguments.rows:
        arguments.rows = [1]
    places = [(name, row) for name in names for (row,) in _spans(arguments, name, 1)]
    if len(places) < 2:
        raise TokvizError("--prefix compares two files, or two rows of one file")
    models = models_for(load_prices(), tokenizer.name)
    rendered, code = _renderer(arguments, tokenizer), 0
    for pair in pairwise(places):
        try:
            first, second = (request_row(_open(name), row) for name, row in pair)
            diff = prefix_diff(first, second, rendered)
        except ConversationError as error:
            files = " and ".join(dict.fromkeys(display_name(name) for name, _ in pair))
            raise TokvizError(f"{files}: {error}") from None
        code = max(code, FINDINGS if diff.cause else 0)
        shown = zip(pair, (diff.first, diff.second), diff.texts(_TOKENS_SHOWN), strict=True)
        sides: list[_Record] = [
            {"file": name, "row": row + 1, "n_tokens": len(side), "text": from_bytes(text)}
            for (name, row), side, text in shown
        ]
        found = {"cause": diff.cause or None, "explanation": diff.explanation}
        counts = {"n_common": diff.n_common, "n_lost": diff.n_lost, "message_index": diff.message}
        costs = [cost_record(model, diff.n_lost) for model in models]
        if arguments.json:
            print_json({"requests": sides, **counts, **found, "costs": costs})
            continue
        cause = diff.cause and f"Cause: {diff.cause}. "
        print(*_table(sides), cause + safe(diff.explanation), sep="\n")
        print(f"{diff.n_common:,} tokens in common, {diff.n_lost:,} lost from the cache")
        for model in models if diff.n_lost else ():
            print(safe(f"{model.name}: {cost_text(model, diff.n_lost)}"))
    return code


def _print_cost(arguments: argparse.Namespace, tokenizer: Tokenizer, name: str) -> None:
    rendered, tokens = _renderer(arguments, tokenizer), Counter[Path]()
    with StatusLine() as status:
        for (row,) in _spans(arguments, name, 1):
            if status.is_due:
                status.draw(f"row {row + 1:,}")
            with _open(name).located(row):
                tokens += part_tokens(request_row(_open(name), row), rendered)
    models = models_for(load_prices(), tokenizer.name)
    parts: list[_Record] = []
    table: list[_Record] = []
    for path, n_tokens in totals(tokens).items():
        costs = [cost_record(model, n_tokens) for model in models]
        share = n_tokens / max(1, tokens.total())
        parts.append({"path": path, "n_tokens": n_tokens, "share": round(share, 6), "costs": costs})
        label = "  " * len(path) + (path[-1] if path else display_name(name))
        prices = {model.name: cost_text(model._replace(window=None), n_tokens) for model in models}
        table.append({"": label, "tokens": n_tokens, "share": share, **prices})
    if arguments.json:
        print_json({"file": name, "tokenizer": tokenizer.name, "parts": parts})
    else:
        print(*_table(table), sep="\n")


def _print_counts(
    rows_per_task: int, arguments: argparse.Namespace, tokenizer: Tokenizer, name: str
) -> None:
    """Print --packing or --stats."""
    spans = _spans(arguments, name, rows_per_task)
    work, counts = partial(_count_span, arguments, name), statistics.RowCounts()
    with workers.submitter(arguments) as submit, StatusLine() as status:
        is_local = name == STDIN or is_pipe(name)
        for result in [partial(work, it) for it in spans] if is_local else submit(work, spans):
            counts += result()
            if status.is_due:
                status.draw(pluralize(len(counts.lengths), "row"))
    for error in counts.errors[:_ERRORS_SHOWN]:
        report(f"{display_name(name)}: {error}")
    if counts.lengths:
        show = partial(_packing, context=arguments.packing) if arguments.packing else _statistics
        record, lines = show(counts)
        if arguments.json:
            print_json({"file": name, "tokenizer": tokenizer.name, **record})
        else:
            print(safe(f"{display_name(name)}: {pluralize(len(counts.lengths), 'row')}"))
            print(*lines, sep="\n")
    if counts.errors:
        raise TokvizError(f"{pluralize(len(counts.errors), 'row')} not counted")


def _count_span(arguments: argparse.Namespace, name: str, rows: range) -> statistics.RowCounts:
    names = options.tokenizer_name(arguments), arguments.split_pattern
    return statistics.count_rows(
        _open(name), rows, _renderer(arguments, workers.cached_tokenizer(*names))
    )


def _packing(counts: statistics.RowCounts, context: int) -> tuple[_Record, list[str]]:
    """Return the JSON of --packing, and its lines: a table and, on a terminal, some windows."""
    listed: list[_Record] = []
    drawn: list[str] = []
    for name in STRATEGIES:
        packing = pack(counts.row_lengths, name, context)
        listed.append(
            {
                "strategy": name,
                "n_windows": len(packing.fills),
                "padding": round(packing.waste, 6),
                "n_cut_answers": packing.n_cut_answers,
                "n_lost_tokens": packing.n_lost,
                "n_shared_windows": int((packing.documents > 1).sum()),
            }
        )
        for window in range(min(_WINDOWS_DRAWN, len(packing.fills))):
            ends = packing.sizes[packing.windows == window].cumsum() * _CELLS // context
            sizes = enumerate(np.diff(ends, prepend=0).tolist())
            bar = "".join("█▒"[number % 2] * size for number, size in sizes)
            drawn.append(f"{name:<8}{bar:·<{_CELLS}}")
    record = {"context": context, "n_rows": len(counts.lengths), "n_answers": len(counts.answers)}
    lines = [*_table(listed), *(drawn if sys.stdout.isatty() else ())]
    return {**record, "strategies": listed}, lines


def _statistics(counts: statistics.RowCounts) -> tuple[_Record, list[str]]:
    """Return the JSON of --stats, and its lines."""
    lengths = counts.row_lengths.lengths
    n_learned = counts.learned.total()
    learned = {group: counts.learned_by(group) for group in statistics.GROUPS}
    figures = {"p50": statistics.percentile(lengths, 50), "p95": statistics.percentile(lengths, 95)}
    figures["max"] = int(lengths.max())
    bins = statistics.length_bins(lengths)
    record = {"n_rows": len(lengths), "n_tokens": int(lengths.sum()), "n_learned": n_learned}
    table: list[_Record] = [
        {"in the loss": f"{group} {value or '-'}", "tokens": n, "share": n / n_learned}
        for group, by_value in learned.items()
        for value, n in by_value.items()
    ]
    most = max(row["n_rows"] for row in bins)
    lines = [
        f"{record['n_tokens']:,} tokens, {n_learned:,} in the loss",
        *(_table(table) if table else ()),
        "tokens of a row: " + ", ".join(f"{name} {length:,}" for name, length in figures.items()),
        *with_bars(_table(bins), [0, *(row["n_rows"] / most for row in bins)]),
    ]
    return {**record, "learned": learned, "lengths": figures, "histogram": bins}, lines
