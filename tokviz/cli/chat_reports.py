"""Reports of `tokviz chat` about prompts and datasets: --prefix, --cost, --packing and --stats."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from tokviz.chat.conversation import Conversation
from tokviz.chat.cost import Path, part_tokens, totals
from tokviz.chat.dataset import Dataset
from tokviz.chat.packing import STRATEGIES, pack
from tokviz.chat.prefix import prefix_diff
from tokviz.chat.render import render
from tokviz.chat.rendering import Rendering
from tokviz.chat.requests import request_row
from tokviz.chat.statistics import GROUPS, RowCounts, count_rows, length_bins, percentile
from tokviz.chat.template_files import load_template
from tokviz.cli import options, workers
from tokviz.cli.count import cost_record
from tokviz.cli.inputs import STDIN, display_name, for_each_input, read_blocks, read_whole
from tokviz.cli.output import USAGE_ERROR, plain_table, print_json, report, with_bars
from tokviz.cli.progress import StatusLine
from tokviz.errors import TokvizError
from tokviz.storage.files import is_pipe
from tokviz.text.glyphs import safe, token_label
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace.prices import cost_text, load_prices, models_for, percent

_ROWS_PER_TASK = 1000
_ERRORS_SHOWN = 10
_DIFFERENT = 1
_TOKENS_SHOWN = 8
_WINDOWS_DRAWN, _CELLS = 3, 60


def run(arguments: argparse.Namespace, names: Sequence[str]) -> int:
    """Print the requested report; return 2 if a file or a row cannot be read or rendered."""
    tokenizer = options.load_tokenizer(arguments)
    if arguments.prefix:
        try:
            return _print_prefixes(arguments, tokenizer, names)
        except TokvizError as error:
            report(error)
            return USAGE_ERROR
    show = _print_cost if arguments.cost else _print_counts
    return USAGE_ERROR if for_each_input(names, partial(show, arguments, tokenizer)) else 0


@lru_cache(1)
def _open(name: str) -> Dataset:
    if name != STDIN and not is_pipe(name):
        dataset = Dataset.open(name)
        dataset.index_all()
        return dataset
    return Dataset.from_bytes(name, read_whole(read_blocks(name), "; write it to a file first"))


def _spans(arguments: argparse.Namespace, name: str, most: int) -> list[range]:
    """Return the requested rows, or all rows, counted from 0, in ranges of limited length."""
    n_rows = _open(name).n_rows
    for row in arguments.rows:
        if row > n_rows:
            has = pluralize(n_rows, "row")
            raise TokvizError(f"there is no row {row:,}; it has {has}")
    chosen = [range(row - 1, row) for row in arguments.rows]
    return chosen or [range(first, min(first + most, n_rows)) for first in range(0, n_rows, most)]


def _renderer(
    arguments: argparse.Namespace, tokenizer: Tokenizer
) -> Callable[[Conversation], Rendering]:
    kept = arguments.max_tokens if arguments.stats else sys.maxsize
    return partial(render, tokenizer, template=load_template(arguments.template), max_tokens=kept)


def _print_prefixes(
    arguments: argparse.Namespace, tokenizer: Tokenizer, names: Sequence[str]
) -> int:
    """Compare the first row, or the requested row, of each file, or the rows of one file."""
    if len(names) > 1 and not arguments.rows:
        arguments.rows = [1]
    places = [(name, row) for name in names for (row,) in _spans(arguments, name, 1)]
    if len(places) < 2:
        raise TokvizError("--prefix compares two files, or two rows of one file")
    models = models_for(load_prices(), tokenizer.name)
    rendered, code = _renderer(arguments, tokenizer), 0
    for pair in pairwise(places):
        first, second = (request_row(_open(name), row) for name, row in pair)
        diff = prefix_diff(first, second, rendered)
        code = max(code, _DIFFERENT if diff.cause else 0)
        n_tokens, texts = [len(diff.first), len(diff.second)], diff.texts(_TOKENS_SHOWN)
        if arguments.json:
            record = {
                "files": [name for name, _ in pair],
                "rows": [row + 1 for _, row in pair],
                "n_tokens": n_tokens,
                "n_common": diff.n_common,
                "n_lost": diff.n_lost,
                "cause": diff.cause or None,
                "explanation": diff.explanation,
                "message_index": diff.message,
                "texts": [text.decode("utf-8", "replace") for text in texts],
                "costs": [cost_record(model, diff.n_lost) for model in models],
            }
            print_json(record)
            continue
        labels = [f"{display_name(name)}, row {row + 1:,}" for name, row in pair]
        print(safe(f"{' → '.join(labels)}: {diff.n_common:,} tokens in common"))
        if diff.cause:
            for label, n, text in zip(labels, n_tokens, texts, strict=True):
                shown = token_label(text) or "(the end)"
                print(safe(f"  {label}: token {diff.n_common + 1:,} of {n:,}: {shown}"))
            print(safe(f"  cause: {diff.cause}. {diff.explanation}"))
            print(f"  {pluralize(diff.n_lost, 'token')} of the cache lost")
            for model in models:
                print(safe(f"  {model.name}: {cost_text(model, diff.n_lost)}"))
    return code


def _print_cost(arguments: argparse.Namespace, tokenizer: Tokenizer, name: str) -> None:
    rendered, tokens = _renderer(arguments, tokenizer), Counter[Path]()
    for rows in _spans(arguments, name, 1):
        tokens += part_tokens(request_row(_open(name), rows[0]), rendered)
    models = models_for(load_prices(), tokenizer.name)
    parts = totals(tokens)
    if arguments.json:
        listed = [
            {"path": path, "n_tokens": n, "costs": [cost_record(model, n) for model in models]}
            for path, n in parts.items()
        ]
        print_json({"file": name, "tokenizer": tokenizer.name, "parts": listed})
        return
    table = [("", "tokens", "", *(safe(model.name) for model in models))]
    for path, n in parts.items():
        label = "  " * len(path) + safe(path[-1] if path else display_name(name))
        costs = (cost_text(model._replace(window=None), n) or "-" for model in models)
        table.append((label, f"{n:,}", percent(n / max(1, parts[()])), *costs))
    print(*plain_table(table), sep="\n")


def _print_counts(arguments: argparse.Namespace, tokenizer: Tokenizer, name: str) -> None:
    """Print --packing or --stats."""
    spans = _spans(arguments, name, _ROWS_PER_TASK)
    work, counts = partial(_count_span, arguments, name), RowCounts()
    with workers.submitter(arguments) as submit, StatusLine() as status:
        is_local = name == STDIN or is_pipe(name)
        for result in [partial(work, it) for it in spans] if is_local else submit(work, spans):
            counts += result()
            if status.is_due:
                status.draw(pluralize(len(counts.lengths), "row"))
    for error in counts.errors[:_ERRORS_SHOWN]:
        report(f"{display_name(name)}: {error}")
    if counts.lengths:
        record = {"file": name, "tokenizer": tokenizer.name, "n_rows": len(counts.lengths)}
        show = _show_packing if arguments.packing else _show_statistics
        lines = show(counts, record, arguments.packing)
        if arguments.json:
            print_json(record)
        else:
            print(safe(f"{display_name(name)}: {pluralize(len(counts.lengths), 'row')}"))
            print(*lines, sep="\n")
    if counts.errors or not counts.lengths:
        rows = pluralize(len(counts.errors), "row")
        raise TokvizError(f"{rows} not counted" if counts.errors else "there are no rows in it")


def _count_span(arguments: argparse.Namespace, name: str, rows: range) -> RowCounts:
    names = options.tokenizer_name(arguments), arguments.split_pattern
    return count_rows(_open(name), rows, _renderer(arguments, workers.cached_tokenizer(*names)))


def _show_packing(counts: RowCounts, record: dict[str, object], context: int) -> list[str]:
    """Complete the record; return the lines of a table and, on a terminal, the first windows."""
    packings = {name: pack(counts.row_lengths, name, context) for name in STRATEGIES}
    table: list[Sequence[str]] = [
        ("", "windows", "padding", "cut answers", "tokens lost", "shared windows")
    ]
    listed: list[dict[str, object]] = []
    drawn: list[str] = []
    for name, packing in packings.items():
        n_shared, n_windows = int((packing.documents > 1).sum()), len(packing.fills)
        numbers = packing.n_cut_answers, packing.n_lost, n_shared
        listed.append({"strategy": name, "n_windows": n_windows, "waste": round(packing.waste, 6)})
        listed[-1].update(zip(("n_cut_answers", "n_lost", "n_shared"), numbers, strict=True))
        cells = (f"{n:,}" for n in numbers)
        table.append((name, f"{n_windows:,}", percent(packing.waste), *cells))
        for window in range(min(_WINDOWS_DRAWN, n_windows)):
            ends = packing.sizes[packing.windows == window].cumsum() * _CELLS // context
            bar = "".join(
                "█▒"[number % 2] * (end - start)
                for number, (start, end) in enumerate(pairwise([0, *ends.tolist()]))
            )
            drawn.append(f"{name if not window else '':<8}{bar:·<{_CELLS}}")
    record.update(context=context, n_answers=len(counts.answers), strategies=listed)
    return [*plain_table(table), *(drawn if sys.stdout.isatty() else ())]


def _show_statistics(counts: RowCounts, record: dict[str, object], _: None) -> list[str]:
    """Complete the record; return the lines of the tables."""
    lengths = counts.row_lengths.lengths
    learned = {group: counts.learned_by(group) for group in GROUPS}
    shares = {"p50": 50, "p95": 95, "max": 100}
    figures = {name: percentile(lengths, share) for name, share in shares.items()}
    bins = length_bins(lengths)
    n_tokens, n_learned = int(lengths.sum()), counts.learned.total()
    record.update(n_tokens=n_tokens, n_learned=n_learned, learned=learned, lengths=figures)
    record["histogram"] = [dict(zip(("from", "to", "n_rows"), it, strict=True)) for it in bins]
    table = [("", "in the loss", "")]
    for group, by_value in learned.items():
        table.append((f"by {group}", "", ""))
        for value, n in by_value.items():
            table.append((f"  {safe(value) or '(none)'}", f"{n:,}", percent(n / n_learned)))
    sizes = [("tokens", "rows"), *((f"{a:,}–{b:,}", f"{n:,}") for a, b, n in bins)]
    most = max(n for *_, n in bins)
    return [
        f"{n_tokens:,} tokens, {n_learned:,} in the loss",
        ", ".join(f"{name} {length:,}" for name, length in figures.items()),
        *plain_table(table),
        *with_bars([*plain_table(sizes)], [0, *(n / most for *_, n in bins)]),
    ]
