"""`tokviz tokenizers`: the names that `-t` takes."""

from __future__ import annotations

import argparse

from tokviz.cli.command import Command
from tokviz.cli.output import print_json

_NOTES = """\
output: the name, the number of tokens, the models, and other names it goes by.

--json, one object per tokenizer:
  {"name", "aliases", "title", "n_vocab", "split_pattern", "special_tokens", "source"}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz tokenizers`."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per tokenizer")


def run(arguments: argparse.Namespace) -> int:
    """List the built-in tokenizers."""
    from tokviz.formats.registry import builtin_names

    for builtin in builtin_names():
        if arguments.json:
            print_json(
                {
                    "name": builtin.name,
                    "aliases": builtin.aliases,
                    "title": builtin.title,
                    "n_vocab": builtin.n_vocab,
                    "split_pattern": builtin.split_pattern,
                    "special_tokens": builtin.special_tokens,
                    "source": builtin.source,
                }
            )
        else:
            names = ", ".join(builtin.aliases)
            print(f"{builtin.name:<12} {builtin.n_vocab:>7}  {builtin.title} (also: {names})")
    return 0


COMMAND = Command(
    name="tokviz tokenizers",
    description="List the built-in tokenizers.",
    add_arguments=add_arguments,
    run=run,
    notes=_NOTES,
)
