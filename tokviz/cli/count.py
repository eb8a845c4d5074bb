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
from collections.abc import Sequence
from functools import partial
from typing import Literal

from tokviz.cli import options, workers
from tokviz.cli.inputs import STDIN, Inputs, InputSource, display_name, file_name, read_whole
from tokviz.cli.output import FINDINGS, print_json, report, with_bars
from tokviz.compare.count_tree import Counts, CountTree, count_tree, sum_counts
from tokviz.errors import InputFileError
from tokviz.live.text_blocks import InputCounts, count_blocks
from tokviz.storage.files import is_pipe
from tokviz.text.glyphs import safe
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace.prices import ModelPrice, cost_text, load_prices, models_for, prices_path

_LARGEST = 10
"""Files listed if the total exceeds the budget."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz count`."""
    options.add_paths(parser, "the texts to count")
    options.add_tokenizers(parser, options.DEFAULT_TOKENIZERS)
    options.add_encoding(parser)
    options.add_flag(parser, "--tree", "print the sizes of folders")
    help_text = "sort the files, largest first"
    parser.add_argument("--sort", choices=("tokens", "chars", "bytes"), help=help_text)
    options.add_number(parser, "--top", "print only the N largest files or folders")
    options.add_number(parser, "--budget", "exit with code 1 if all texts have more than N tokens")
    options.add_flag(parser, "--cost", "add the cost with the models of your price table")
    workers.add_arguments(parser, "count")


def run(arguments: argparse.Namespace) -> int:
    """Count each input."""
    tokenizers = options.load_one_or_more(arguments)
    models = [_models(tokenizer) for tokenizer in tokenizers] if arguments.cost else []
    specials = options.SPECIALS[arguments.specials]
    inputs = Inputs(arguments)
    if not inputs.is_single:
        inputs.found.update(inputs.sources)  # the shell expands `*` to binary files, too
    output = _Output(arguments, tokenizers, models)
    is_listed = not (arguments.sort or arguments.top or arguments.tree or arguments.budget)
    total, notes = [InputCounts() for _ in tokenizers], set[str]()
    files: list[tuple[InputSource, Counts]] = []

    def count_input(source: InputSource) -> None:
        counts = [InputCounts() for _ in tokenizers]
        parts = [result() for result in results[source]]
        for part in parts:
            sum_counts(counts, part)
        is_stream = len(tokenizers) > 1 and (source == STDIN or is_pipe(display_name(source)))
        reading = inputs.read(source) if is_stream else ()
        kept = [[read_whole(one, " are too many for several tokenizers")] for one in reading]
        for count, tokenizer in zip(counts, tokenizers, strict=True) if not parts else ():
            for document in kept if is_stream else inputs.read(source):
                count += count_blocks(document, tokenizer, specials)
        sum_counts(total, counts)
        new_notes = {count.note for count in counts if count.note} - notes
        for note in new_notes:
            report(note)
        notes.update(new_notes)
        if is_listed:
            is_file = file_name(source) not in (None, STDIN)
            name = file_name(source) or display_name(source)
            output.file(source, counts, name if is_file or not inputs.is_single else "")
        else:
            files.append((source, counts))

    output.head()
    names = [tokenizer.name for tokenizer in tokenizers]
    work = partial(_count_part, names=names, pattern=arguments.split_pattern, specials=specials)
    parts = inputs.in_parts(arguments)
    with workers.results_by_source(arguments, work, parts, tokenizers) as results:
        inputs.each(count_input, inputs.sources)
    over = [one for one in zip(names, total, strict=True) if one[1].n_tokens > _budget(arguments)]
    if arguments.tree and files:
        root = inputs.groups[0][0] if len(inputs.groups) == 1 else ""
        named = ((display_name(source), counts) for source, counts in files)
        output.tree(count_tree(named, root if os.path.isdir(root) else ""))
    elif arguments.json or over or not arguments.budget:
        key = f"n_{arguments.sort or 'tokens'}"
        files.sort(key=lambda file: -getattr(file[1][0], key))
        for source, counts in files[: arguments.top or (_LARGEST if over else None)]:
            output.file(source, counts, display_name(source))
    if inputs.sources and not arguments.json:
        if not (inputs.is_single or arguments.tree):
            output.line(total, "total")
        output.costs(total)
    sys.stdout.flush()
    code = inputs.end()
    for name, count in over:
        report(f"over budget: {count.n_tokens:,} tokens of {arguments.budget:,} ({name})")
    return code or (FINDINGS if over else 0)


def _budget(arguments: argparse.Namespace) -> float:
    return float("inf") if arguments.budget is None else arguments.budget


def _count_part(
    part: workers.FilePart,
    names: Sequence[str],
    pattern: str | None,
    specials: bool | Literal["huggingface"],
) -> Counts:
    tokenizers = [workers.cached_tokenizer(name, pattern) for name in names]
    return [
        count_blocks(workers.read_part(part, tokenizers), tokenizer, specials)
        for tokenizer in tokenizers
    ]


class _Output:
    """Prints counts."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        tokenizers: Sequence[Tokenizer],
        models: Sequence[list[ModelPrice]],
    ) -> None:
        self._arguments, self._tokenizers, self._models = arguments, tokenizers, models
        self._is_several = len(tokenizers) > 1

    def head(self) -> None:
        """Print the heads of the columns, which name the tokenizers."""
        names = [safe(tokenizer.name) for tokenizer in self._tokenizers]
        if not self._arguments.json and (self._is_several or sys.stdout.isatty()):
            end = "" if self._is_several else f" ({names[0]})"
            heads = ["files"] if self._arguments.tree else ["chars", "bytes"]
            heads += ["bytes/token"] * (end != "" and not self._arguments.tree)
            print(self._columns(names if self._is_several else ["tokens"], *heads) + end)

    def file(self, source: InputSource, counts: Counts, name: str) -> None:
        """Print the counts of an input."""
        if self._arguments.json:
            self._print_records({"file": file_name(source)}, counts)
        else:
            self.line(counts, name)

    def line(self, counts: Counts, name: str) -> None:
        """Print a line of the table."""
        ratio = counts[0].bytes_per_token
        ratios = [] if self._is_several else ["-" if ratio is None else f"{ratio:.2f}"]
        sizes = [str(counts[0].n_chars), str(counts[0].n_bytes), *ratios]
        print(f"{self._columns([one.n_tokens for one in counts], *sizes)} {safe(name)}".rstrip())

    def tree(self, tree: CountTree) -> None:
        """Print the largest folders, each after the one that it is in."""
        rows = [(depth, node) for depth, node in tree.rows() if node.n_files]
        sizes = [node.counts[0].n_tokens for _, node in rows]
        largest = sorted(range(len(rows)), key=lambda row: -sizes[row])[: self._arguments.top]
        table = []
        for depth, node in (rows[row] for row in sorted(largest)):
            if self._arguments.json:
                head = {"folder": node.path or ".", "n_files": node.n_files}
                self._print_records(head, node.counts)
            numbers = self._columns([one.n_tokens for one in node.counts], str(node.n_files))
            table.append(f"{numbers} {'  ' * depth}{safe(node.name)}")
        if not self._arguments.json:
            shares = [sizes[row] / max(sizes[0], 1) for row in sorted(largest)]
            print(*with_bars(table, shares), sep="\n")

    def costs(self, total: Counts) -> None:
        """Print the costs of the total."""
        for models, counts in zip(self._models, total, strict=False):
            width = max(len(model.name) for model in models)
            for model in models:
                text = cost_text(model, counts.n_tokens)
                text = text or "the table has no price and no window"
                print(f"  {safe(model.name):<{width}}  {safe(text)}")

    def _columns(self, n_tokens: Sequence[object], *more: str) -> str:
        names = [safe(tokenizer.name) if self._is_several else "" for tokenizer in self._tokenizers]
        cells = [f"{n:>{max(9, len(name))}}" for n, name in zip(n_tokens, names, strict=True)]
        return " ".join([*cells, *map("{:>9}".format, more[:2]), *map("{:>11}".format, more[2:])])

    def _print_records(self, head: dict[str, object], counts: Counts) -> None:
        for number, count in enumerate(counts):
            entry = record(head, self._tokenizers[number], self._arguments.specials, count)
            if self._models:
                own = self._models[number]
                entry["costs"] = [cost_record(model, count.n_tokens) for model in own]
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
    head: dict[str, object], tokenizer: Tokenizer, specials: str, counts: InputCounts
) -> dict[str, object]:
    """Return the JSON record of an input; `head` names it."""
    ratio = counts.bytes_per_token
    return {
        **head,
        "tokenizer": tokenizer.name,
        "specials": specials,
        "n_tokens": counts.n_tokens,
        "n_chars": counts.n_chars,
        "n_bytes": counts.n_bytes,
        "bytes_per_token": None if ratio is None else round(ratio, 6),
    }
