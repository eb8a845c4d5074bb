"""What a command is, and which there are. To add one, write its file and add its name here."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from tokviz.cli.opening import may_be_command
from tokviz.cli.output import USAGE_ERROR, report
from tokviz.errors import TokvizError

COMMANDS = {
    "encode": "turn texts into token ids",
    "decode": "turn token ids back into the exact bytes",
    "count": "count tokens, characters and bytes",
    "show": "show tokens in colour, as a web page, as a picture, or line by line",
    "compare": "compare tokenizers on a text, with the cause of every difference",
    "eval": "measure how many tokens texts of many kinds and languages take",
    "drift": "compare sampled token ids with what their text is encoded to",
    "chat": "see and check which tokens of conversations are learned",
    "train": "learn a tokenizer from texts",
    "replay": "travel through a training or a vocabulary, merge by merge",
    "lesson": "learn how byte pair encoding works, from small examples",
    "tokenizers": "list the tokenizers there are, or check a tokenizer file",
    "convert": "write a tokenizer in the format of another library",
    "config": "show, check or change the settings",
    "web": "open the app in a browser",
    "help": "read the guide",
    "completion": "print the completion script for bash, zsh, fish or tcsh",
}
"""Every command and what it does; each is a module beside this one, see `Command`."""

_SYNONYMS = {
    "tokenize": "encode",
    "tokenise": "encode",
    "detokenize": "decode",
    "detokenise": "decode",
    "stats": "count",
    "print": "show",
    "render": "show",
    "export": "show",
    "html": "show",
    "diff": "compare",
    "versus": "compare",
    "evaluate": "eval",
    "report": "eval",
    "compression": "eval",
    "settings": "config",
    "preferences": "config",
    "guide": "help",
    "manual": "help",
    "lessons": "lesson",
    "serve": "web",
    "browser": "web",
    "tutorial": "lesson",
}
"""What other programs call our commands; none of them is one here."""

APP = "app"
"""The module of `tokviz` without a command."""


class Command(NamedTuple):
    """One command of `tokviz`: a module whose docstring is its help.

    Attributes:
        name: The words on the command line, such as "tokviz count".
        help: What `--help` says: its first line above the options, the rest below.
        add_arguments: Adds the command's arguments to a parser.
        run: Does the work and returns the exit code.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line that is safe to show."""

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Read a command line, in which options may stand behind files, but not behind `--`."""
        n_before = words.index("--") + 1 if "--" in words else len(words)
        # They are read twice, the second time without the `--`: no word begins with a NUL.
        hidden = [f"{_HIDDEN}{word}" if word[:1] == "-" else word for word in words[n_before:]]
        found = self.parse_intermixed_args([*words[:n_before], *hidden])
        for name, value in vars(found).items():
            if isinstance(value, list):
                value[:] = [one.removeprefix(_HIDDEN) for one in value]
            elif isinstance(value, str):
                setattr(found, name, value.removeprefix(_HIDDEN))
        return found

    def error(self, message: str) -> NoReturn:
        """Report the mistake and exit with code 2."""
        message = message.replace("ignored explicit argument", "takes no value, so not")
        message = message.replace(_HIDDEN, "")
        report(f"{TokvizError(message)} (see {self.prog} --help)")
        raise SystemExit(USAGE_ERROR)


_HIDDEN = "\0"


def unknown_command(arguments: Sequence[str]) -> str | None:
    """Say that the first word is no command, with the nearest one, where it was meant as one.

    Returns:
        None where it can be an option or a file, or nothing but a file that is missing.
    """
    word = arguments[0] if arguments else ""
    if not may_be_command(word) or os.path.lexists(word):
        return None
    import difflib

    near = difflib.get_close_matches(word.lower(), [*COMMANDS, *_SYNONYMS], n=1)
    if not near and len(arguments) == 1:
        return None
    hint = f": did you mean `tokviz {_SYNONYMS.get(near[0], near[0])}`?" if near else ""
    return f"there is no command and no file {word!r}{hint}"


def load_command(name: str) -> Command:
    """Import one command; the others stay unimported."""
    module = importlib.import_module(f"tokviz.cli.{name}")
    words = "tokviz" if name == APP else f"tokviz {name}"
    return Command(words, module.__doc__ or "", module.add_arguments, module.run)


def command_parser(command: Command) -> Parser:
    """Make the parser of one command."""
    description, _, notes = command.help.partition("\n\n")
    parser = Parser(
        prog=command.name,
        description=description,
        epilog=notes,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser
