"""What a command is, and which there are. To add one, write its module and add its name here."""

from __future__ import annotations

import argparse
import importlib
from typing import NoReturn, Protocol, cast

from tokviz.cli.output import report

COMMANDS = {
    "encode": "turn texts into token ids",
    "decode": "turn token ids back into the exact bytes",
    "count": "count tokens, characters and bytes",
    "chat": "see and check which tokens of conversations are learned",
    "train": "learn a tokenizer from texts",
    "replay": "travel through a training or a vocabulary, merge by merge",
    "tokenizers": "list the built-in tokenizers, or check a tokenizer file",
    "completion": "print the completion script for bash, zsh or tcsh",
}
"""Every command and what it does; each is a module beside this one, a `Command`."""

USAGE_ERROR = 2
"""Exit code for a command line that makes no sense."""


class Command(Protocol):
    """What the module of a command holds."""

    DESCRIPTION: str
    """What `--help` says above the options."""
    NOTES: str
    """What it says below them."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments to a parser."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do the work and return the exit code."""
        ...


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line that is safe to show."""

    def error(self, message: str) -> NoReturn:
        """Report the mistake and exit with code 2."""
        report(f"{message} (see {self.prog} --help)")
        raise SystemExit(USAGE_ERROR)


def load_command(name: str) -> Command:
    """Import one command, or "app"; the others stay unimported."""
    return cast(Command, importlib.import_module(f"tokviz.cli.{name}"))


def command_parser(name: str) -> Parser:
    """Make the parser of one command, or of the app."""
    command = load_command(name)
    parser = Parser(
        prog="tokviz" if name == "app" else f"tokviz {name}",
        description=command.DESCRIPTION,
        epilog=command.NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser
