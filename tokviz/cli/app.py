"""See what a tokenizer does to your text. Opens FILE, a folder, piped text or a sample.

commands (see tokviz COMMAND --help):
$commands

To open a file that has the name of a command: tokviz ./count
"""

from __future__ import annotations

import argparse
import os

from tokviz.cli import options
from tokviz.cli.command import COMMANDS
from tokviz.cli.inputs import STDIN
from tokviz.cli.opening import open_app
from tokviz.errors import InputFileError
from tokviz.storage.version import __version__


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the app, without FILE."""
    options.add_tokenizer(parser, default="the last one used")
    options.add_specials(parser)
    parser.add_argument(
        "--profile", default="", metavar="NAME", help="use [profile.NAME] of the settings"
    )
    parser.add_argument("--version", action="version", version=f"tokviz {__version__}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz`."""
    commands = "\n".join(f"  {name:<12} {summary}" for name, summary in COMMANDS.items())
    parser.epilog = (parser.epilog or "").replace("$commands", commands)
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="the text to open, or a folder to count; `-` is standard input, like a pipe",
    )
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Open the app and return its exit code."""
    path: str | None = arguments.file
    if path in COMMANDS and not os.path.exists(path):
        raise InputFileError(path, f"there is no such file; write the command first: tokviz {path}")
    return open_app(
        None if path == STDIN else path,
        tokenizer=options.requested_tokenizer(arguments),
        parse_specials=arguments.specials == "parsed",
        profile=arguments.profile,
    )
