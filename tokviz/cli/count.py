"""Count the tokens, characters and bytes of files and folders, like wc and du.

In folders, hidden and binary files and files in .gitignore are skipped, links too; in a list of
files, binary ones. A message tells how many.

output: one line per file, and a total for several files:
  TOKENS CHARACTERS BYTES BYTES/TOKEN NAME
  With several -t: the tokens of each, then CHARACTERS BYTES NAME, with a header.
A byte that is not valid UTF-8 counts as one character.

--tree prints one line per folder instead, with everything in it: TOKENS FILES NAME.

--budget prints only the largest files, and only if the total exceeds the budget, then the total.

--json, one object per file and tokenizer, and no total:
  {"file", "tokenizer", "specials", "n_tokens", "n_chars", "n_bytes", "bytes_per_token"}
  "file" is "-" for standard input, null for --text; "bytes_per_token" is null if there is
  no token. With --tree, one per folder, with "folder" and "n_files" instead of "file".

--cost adds a line for each model of your price table that uses the tokenizer; with --json
  "costs": [{"model", "cost", "currency", "window", "window_share"}], null if the table has no
  value. `tokviz config prices` creates and opens the table; tokviz itself knows no prices.

exit code: 1 if the total exceeds the budget, 2 after an error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

from tokviz.cli import options, workers
from tokviz.cli.inputs import STDIN, Inputs, InputSource, display_name, file_name
from tokviz.cli.output import FINDINGS, print_json, report, with_bars
from tokviz.compare.file_counts import (
    CountTree,
    FileCount,
    count_blocks,
    count_files,
    count_tree,
)
from tokviz.errors import InputFileError, TokvizError
from tokviz.text.glyphs import safe
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace.prices import ModelPrice, cost_text, load_prices, models_for, prices_path

Counted = tuple[InputSource, FileCount]
_LARGEST = 10
"""Files listed if the total exceeds the budget."""
_SORT_KEYS: dict[str, Callable[[Counted], Any]] = {
    "name": lambda one: display_name(one[0]),
    "tokens": lambda one: -one[1].n_tokens[0],
    "chars": lambda one: -one[1].n_chars,
    "bytes": lambda one: -one[1].n_bytes,
    "ratio": lambda one: -(one[1].bytes_per_token() or 0),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz count`."""
    options.add_paths(parser, "the texts to count")
    options.add_tokenizers(parser, options.DEFAULT_TOKENIZERS)
    options.add_encoding(parser)
    options.add_flag(parser, "--tree", "print the sizes of folders")
    parser.add_argument(
        "--sort",
        choices=tuple(_SORT_KEYS),
        help="sort by this column, largest first; not with --tree, which sorts by tokens",
    )
    options.add_number(parser, "--top", "print only the N largest files or folders")
    options.add_number(parser, "--budget", "exit with code 1 if all texts have more than N tokens")
    options.add_flag(parser, "--cost", "add the cost with the models of your price table")
    workers.add_arguments(parser, "count")


def run(arguments: argparse.Namespace) -> int:
    """Count each input."""
    tokenizers = options.load_one_or_more(arguments)
    models = [_models(tokenizer) for tokenizer in tokenizers] if arguments.cost else []
    inputs = Inputs(arguments)
    sources = inputs.sources
    if not inputs.is_single:
        inputs.found.update(sources)  # the shell expands `*` to binary files, too
    output = _Output(arguments, tokenizers, models, file_name(sources[0]) if sources else None)
    output.is_named = not inputs.is_single or output.is_named
    total, notes = FileCount.zero(len(tokenizers)), set[str]()
    collected: list[Counted] = []
    is_collected = bool(arguments.sort or arguments.top or arguments.tree or arguments.budget)
    output.head()
    for source, found in _counts(arguments, inputs, tokenizers):
        if isinstance(found, TokvizError):
            inputs.note_failure(source, found)
        else:
            total = total.plus(found)
            if is_collected:
                collected.append((source, found))
            else:
                output.file(source, found)
            for note in set(found.notes) - notes:
                report(note)
            notes |= {*found.notes}
    is_over = arguments.budget is not None and max(total.n_tokens) > arguments.budget
    if arguments.tree and collected:
        root = inputs.groups[0][0] if len(inputs.groups) == 1 else ""
        counts = ((display_name(source), count) for source, count in collected)
        output.tree(count_tree(counts, root if os.path.isdir(root) else ""))
    elif is_collected and (arguments.json or is_over or arguments.budget is None):
        collected.sort(key=_SORT_KEYS[arguments.sort or "tokens"])
        top = arguments.top or (None if arguments.json or not is_over else _LARGEST)
        for source, count in collected[:top]:
            output.file(source, count)
    if sources and not inputs.is_single and not arguments.json and not arguments.tree:
        output.line(total, "total")
    if sources and not arguments.json:
        output.costs(total)
    sys.stdout.flush()
    code = inputs.end()
    if is_over:
        for tokenizer, n_tokens in zip(tokenizers, total.n_tokens, strict=True):
            if n_tokens > arguments.budget:
                report(
                    f"over budget: {n_tokens:,} tokens of {arguments.budget:,} ({tokenizer.name})"
                )
    return code or (FINDINGS if is_over else 0)


def _counts(
    arguments: argparse.Namespace, inputs: Inputs, tokenizers: Sequence[Tokenizer]
) -> Iterator[tuple[InputSource, FileCount | TokvizError]]:
    """Count the inputs, on workers if they are requested."""
    specials = options.SPECIALS[arguments.specials]
    sources = inputs.sources
    if not workers.uses_cluster(arguments):
        yield from count_files(sources, inputs.read, tokenizers, specials)
        return
    names = [tokenizer.name for tokenizer in tokenizers]
    count = partial(
        _count_part, names=names, split_pattern=arguments.split_pattern, specials=specials
    )
    files = inputs.in_parts(arguments)
    with workers.results_by_source(arguments, count, files, tokenizers) as results:
        for source in sources:
            if not results[source]:
                yield from count_files([source], inputs.read, tokenizers, specials)
                continue
            try:
                yield source, reduce(FileCount.plus, (result() for result in results[source]))
            except TokvizError as error:
                yield source, error


def _count_part(
    part: workers.FilePart,
    names: Sequence[str],
    split_pattern: str | None,
    specials: AllowedSpecial | bool,
) -> FileCount:
    tokenizers = [workers.cached_tokenizer(name, split_pattern) for name in names]
    return count_blocks(workers.read_part(part, tokenizers), tokenizers, specials)


class _Output:
    """Prints counts."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        tokenizers: Sequence[Tokenizer],
        models: Sequence[list[ModelPrice]],
        name: str | None,
    ) -> None:
        self._arguments, self._tokenizers, self._models = arguments, tokenizers, models
        self.is_named = name not in (None, STDIN)
        names = [safe(one.name) for one in tokenizers]
        self._heads = names if len(names) > 1 else ["tokens"]
        self._widths = [max(9, len(head)) for head in self._heads]

    def head(self) -> None:
        """Print the heads of the columns, which name the tokenizers."""
        is_several = len(self._tokenizers) > 1
        if self._arguments.json or not (is_several or sys.stdout.isatty()):
            return
        name = "" if is_several else f" ({safe(self._tokenizers[0].name)})"
        if self._arguments.tree:
            print(f"{self._numbers(self._heads)} {'files':>7}{name}")
        else:
            ratio = "" if is_several else f" {'bytes/token':>11}"
            print(f"{self._numbers(self._heads)} {'chars':>9} {'bytes':>9}{ratio}{name}")

    def file(self, source: InputSource, count: FileCount) -> None:
        """Print the counts of an input."""
        if self._arguments.json:
            self._print_records({"file": file_name(source)}, count)
        else:
            name = file_name(source) or display_name(source)
            self.line(count, name if self.is_named else "")

    def line(self, count: FileCount, name: str) -> None:
        """Print a line of the table."""
        sizes = f"{self._numbers(count.n_tokens)} {count.n_chars:>9} {count.n_bytes:>9}"
        if len(count.n_tokens) == 1:
            ratio = count.bytes_per_token()
            sizes += f" {'-' if ratio is None else f'{ratio:.2f}':>11}"
        print(f"{sizes} {safe(name)}".rstrip())

    def tree(self, tree: CountTree) -> None:
        """Print the largest folders, each after the one that it is in."""
        rows = [(depth, node) for depth, node in tree.rows() if node.n_files]
        by_size = sorted(range(len(rows)), key=lambda i: -rows[i][1].count.n_tokens[0])
        rows = [rows[i] for i in sorted(by_size[: self._arguments.top])]
        if self._arguments.json:
            for _, folder in rows:
                self._print_records(
                    {"folder": folder.path or ".", "n_files": folder.n_files}, folder.count
                )
            return
        table = [
            f"{self._numbers(folder.count.n_tokens)} {folder.n_files:>7} "
            f"{'  ' * depth}{safe(folder.name or '.')}"
            for depth, folder in rows
        ]
        most = max(rows[0][1].count.n_tokens[0], 1)
        shares = [folder.count.n_tokens[0] / most for _, folder in rows]
        print(*with_bars(table, shares), sep="\n")

    def costs(self, count: FileCount) -> None:
        """Print the costs of the total."""
        for models, n_tokens in zip(self._models, count.n_tokens, strict=False):
            width = max(len(model.name) for model in models)
            for model in models:
                text = cost_text(model, n_tokens) or "the table has no price and no window"
                print(f"  {safe(model.name):<{width}}  {safe(text)}")

    def _numbers(self, values: Sequence[object]) -> str:
        return " ".join(
            f"{value:>{width}}" for value, width in zip(values, self._widths, strict=True)
        )

    def _print_records(self, head: dict[str, object], count: FileCount) -> None:
        for number, tokenizer in enumerate(self._tokenizers):
            entry = head | record(tokenizer, self._arguments.specials, count, number)
            if self._models:
                n_tokens = count.n_tokens[number]
                entry["costs"] = [cost_record(model, n_tokens) for model in self._models[number]]
            print_json(entry)


def _models(tokenizer: Tokenizer) -> list[ModelPrice]:
    """Read the models of the user's price table that use a tokenizer.

    Raises:
        InputFileError: If there is no table, or it is malformed or has no such model.
    """
    path = prices_path()
    if not path.exists():
        raise InputFileError(path, "there is no price table: `tokviz config prices` creates it")
    models = models_for(load_prices(), tokenizer.name)
    if not models:
        reason = f"it has no [[model]] for the tokenizer {tokenizer.name}"
        raise InputFileError(path, f"{reason}: `tokviz config prices` opens it")
    return models


def cost_record(model: ModelPrice, n_tokens: int) -> dict[str, object]:
    """Return the JSON record of the cost of some tokens."""
    cost, share = model.cost(n_tokens), model.share(n_tokens)
    return {
        "model": model.name,
        "cost": None if cost is None else float(cost),
        "currency": None if cost is None else model.currency,
        "window": model.window,
        "window_share": None if share is None else round(share, 6),
    }


def record(
    tokenizer: Tokenizer, specials: str, count: FileCount, number: int = 0
) -> dict[str, object]:
    """Return the counts of a text in a tokenizer, the one with this number, for JSON."""
    ratio = count.bytes_per_token(number)
    return {
        "tokenizer": tokenizer.name,
        "specials": specials,
        "n_tokens": count.n_tokens[number],
        "n_chars": count.n_chars,
        "n_bytes": count.n_bytes,
        "bytes_per_token": None if ratio is None else round(ratio, 6),
    }
