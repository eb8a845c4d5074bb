"""Count the tokens, characters and bytes of files, like wc.

output: one line per input, and a total for several inputs:
  TOKENS CHARACTERS BYTES BYTES/TOKEN NAME
A byte that is not valid UTF-8 counts as one character.

--json, one object per input and no total:
  {"file", "tokenizer", "specials", "n_tokens", "n_chars", "n_bytes", "bytes_per_token"}
  "file" is "-" for standard input, null for --text; "bytes_per_token" is null if there is
  no token.

--cost adds a line for each model of your price table that uses the tokenizer; with --json
  "costs": [{"model", "cost", "currency", "window", "window_share"}], null if the table has no
  value. The table is models.toml in the config folder; if it is missing, the error message has its
  path. tokviz itself knows no prices.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from typing import Literal

from tokviz.cli import options, workers
from tokviz.cli.inputs import (
    STDIN,
    InputSource,
    display_name,
    file_name,
    for_each_input,
    read_blocks,
)
from tokviz.cli.output import print_json, report
from tokviz.cli.text_blocks import InputCounts, map_ahead, text_blocks
from tokviz.errors import InputFileError
from tokviz.process.limits import n_processors
from tokviz.text.glyphs import safe
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.workspace.prices import ModelPrice, cost_text, load_prices, models_for, prices_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz count`."""
    options.add_texts(parser, "a text to count")
    workers.add_arguments(parser, "count")
    options.add_flag(parser, "--cost", "add the cost with the models of your price table")


def run(arguments: argparse.Namespace) -> int:
    """Count each input."""
    tokenizer = options.load_tokenizer(arguments)
    sources = options.text_sources(arguments)
    is_named = len(sources) > 1 or file_name(sources[0]) not in (None, STDIN)
    models = _models(tokenizer) if arguments.cost else None
    specials = options.SPECIALS[arguments.specials]
    total = InputCounts()

    def count_input(source: InputSource) -> None:
        nonlocal total
        counts = InputCounts()
        count_here = partial(count_blocks, read_blocks(source), tokenizer, specials)
        for result in results[source] or [count_here]:
            counts += result()
        if counts.note:
            report(counts.note)
        total += counts
        if arguments.json:
            entry = record(source, tokenizer, arguments.specials, counts)
            if models is not None:
                entry["costs"] = [cost_record(model, counts.n_tokens) for model in models]
            print_json(entry)
        else:
            name = file_name(source) or display_name(source)
            print(_line(counts, name if is_named else ""))
            if models and len(sources) == 1:
                _print_costs(models, counts)

    if not arguments.json and sys.stdout.isatty():
        print(_HEADER)
    names = tokenizer.name, arguments.split_pattern
    count = partial(_count_part, names=names, parse_specials=specials)
    with workers.results_by_source(arguments, count, sources, [tokenizer]) as results:
        exit_code = for_each_input(sources, count_input)
    if len(sources) > 1 and not arguments.json:
        print(_line(total, "total"))
        if models:
            _print_costs(models, total)
    return exit_code


def _models(tokenizer: Tokenizer) -> list[ModelPrice]:
    """Read the models of the user's price table that use a tokenizer.

    Raises:
        InputFileError: If there is no table, or it is malformed or has no such model.
    """
    path = prices_path()
    if not path.exists():
        raise InputFileError(
            path, "there is no price table; to create one, choose “Costs” in the app's Ctrl+P menu"
        )
    models = models_for(load_prices(), tokenizer.name)
    if not models:
        raise InputFileError(path, f"it has no [[model]] for the tokenizer {tokenizer.name}")
    return models


def _print_costs(models: list[ModelPrice], counts: InputCounts) -> None:
    width = max(len(model.name) for model in models)
    for model in models:
        text = cost_text(model, counts.n_tokens) or "the table has no price and no window"
        print(f"  {safe(model.name):<{width}}  {safe(text)}")


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


def _count_part(
    part: workers.FilePart,
    names: tuple[str, str | None],
    parse_specials: bool | Literal["huggingface"],
) -> InputCounts:
    tokenizer = workers.cached_tokenizer(*names)
    return count_blocks(workers.read_part(part, [tokenizer]), tokenizer, parse_specials)


def count_blocks(
    data: Iterable[bytes], tokenizer: Tokenizer, parse_specials: bool | Literal["huggingface"]
) -> InputCounts:
    """Count an input in bounded memory."""
    counts = InputCounts()
    blocks = text_blocks(data, tokenizer, parse_specials=parse_specials, counts=counts)

    def count(text: str) -> int:
        return len(tokenizer.encode_to_array(text, parse_specials))

    # A child process that splits text handles one block at a time.
    n_threads = 1 if tokenizer.in_child else max(n_processors(), 1)
    counts.n_tokens = sum(map_ahead(count, blocks, n_threads))
    return counts


def record(
    source: InputSource, tokenizer: Tokenizer, specials: str, counts: InputCounts
) -> dict[str, object]:
    """Return the JSON record of an input."""
    ratio = counts.bytes_per_token
    return {
        "file": file_name(source),
        "tokenizer": tokenizer.name,
        "specials": specials,
        "n_tokens": counts.n_tokens,
        "n_chars": counts.n_chars,
        "n_bytes": counts.n_bytes,
        "bytes_per_token": None if ratio is None else round(ratio, 6),
    }


_HEADER = f"{'tokens':>9} {'chars':>9} {'bytes':>9} {'bytes/token':>11}"


def _line(counts: InputCounts, name: str) -> str:
    ratio = counts.bytes_per_token
    shown = "-" if ratio is None else f"{ratio:.2f}"
    numbers = f"{counts.n_tokens:>9} {counts.n_chars:>9} {counts.n_bytes:>9} {shown:>11}"
    return f"{numbers} {safe(name)}".rstrip()
