"""Registry of the commands. To add one, write its module and add its name to `COMMANDS`."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from tokviz.cli.opening import may_be_command
from tokviz.cli.output import ERROR, report
from tokviz.errors import TokvizError

COMMANDS = {
    "encode": "encode texts as token ids",
    "decode": "decode token ids to the exact bytes",
    "count": "count the tokens, characters and bytes of files and folders",
    "truncate": "print the first or the last N tokens of a text",
    "show": "show tokens in color, as a web page, as a picture, or line by line",
    "compare": "compare tokenizers on a text, with the cause of every difference",
    "diff": "compare two tokenizers: whether all texts have the same ids, and if not, why",
    "eval": "count the tokens of texts of many kinds and languages",
    "drift": "compare sampled token ids with the encoding of their text",
    "chat": "show and check which tokens of conversations are in the loss",
    "train": "train a tokenizer on texts",
    "check-bpe": "find the mistake in a BPE trainer that you wrote",
    "replay": "step through a training or a vocabulary, merge by merge",
    "lesson": "learn how byte pair encoding works from small examples",
    "tokenizers": "list the available tokenizers, or check a tokenizer file",
    "convert": "save a tokenizer in the format of another library",
    "config": "show, check or change the settings",
    "web": "open the app in a browser",
    "help": "read the guide",
    "completion": "print the completion script for bash, zsh, fish or tcsh",
}
"""Every command and its summary; each is a module of this package, see `Command`."""

_SYNONYMS = {
    "tokenize": "encode",
    "tokenise": "encode",
    "detokenize": "decode",
    "detokenise": "decode",
    "stats": "count",
    "wc": "count",
    "du": "count",
    "budget": "count",
    "head": "truncate",
    "tail": "truncate",
    "trim": "truncate",
    "print": "show",
    "render": "show",
    "export": "show",
    "html": "show",
    "same": "diff",
    "identical": "diff",
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
"""Names that other programs use for our commands."""

APP = "app"
"""The module of `tokviz` without a command."""


class Command(NamedTuple):
    """A command of `tokviz`: a module whose docstring is its help.

    Attributes:
        name: The words on the command line, such as "tokviz count".
        help: The text of `--help`: its first line goes above the options, the rest below.
        add_arguments: Adds the command's arguments to a parser.
        run: Does the work and returns the exit code.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, safe for terminals."""

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse a command line. Options may follow files, but nothing after `--` is an option."""
        n_before = words.index("--") + 1 if "--" in words else len(words)
        # argparse parses them twice, the second time without the `--`, so mark them with a NUL.
        hidden = [f"{_HIDDEN}{word}" if word[:1] == "-" else word for word in words[n_before:]]
        parsed = self.parse_intermixed_args([*words[:n_before], *hidden])
        for name, value in vars(parsed).items():
            if isinstance(value, list):
                value[:] = [it.removeprefix(_HIDDEN) if isinstance(it, str) else it for it in value]
            elif isinstance(value, str):
                setattr(parsed, name, value.removeprefix(_HIDDEN))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Report a usage error and exit with code 2."""
        message = message.replace("ignored explicit argument", "takes no value, but got")
        message = message.replace(_HIDDEN, "") + self._suggestion(message)
        report(f"{TokvizError(message)} (see {self.prog} --help)")
        raise SystemExit(ERROR)

    def _suggestion(self, message: str) -> str:
        """Suggest the option or the value that is nearest to an unknown one."""
        if unknown := re.match("unrecognized arguments: .*?(--[^ =]+)", message):
            names = [name for name in self._option_string_actions if name.startswith("--")]
        elif unknown := re.search("invalid choice: '(.*)' \\(choose from (.*)\\)", message):
            names = re.findall("[^', ]+", unknown[2])
        else:
            return ""
        near = difflib.get_close_matches(unknown[1], names, n=1)
        return f"; did you mean {near[0]}?" if near else ""


_HIDDEN = "\0"


def unknown_command(arguments: Sequence[str]) -> str | None:
    """Return an error message if the first word looks like a misspelled command.

    Returns:
        The message with the nearest command; None if the word is an option or a file, or is alone
        and close to no command, so that it is a missing file.
    """
    word = arguments[0] if arguments else ""
    if not may_be_command(word) or os.path.lexists(word):
        return None
    near = difflib.get_close_matches(word.lower(), [*COMMANDS, *_SYNONYMS], n=1)
    if not near and len(arguments) == 1:
        return None
    hint = f"; did you mean `tokviz {_SYNONYMS.get(near[0], near[0])}`?" if near else ""
    return f"no such command or file: {word!r}{hint}"


def load_command(name: str) -> Command:
    """Import a command; the others are not imported."""
    module = importlib.import_module(f"tokviz.cli.{name.replace('-', '_')}")
    words = "tokviz" if name == APP else f"tokviz {name}"
    return Command(words, module.__doc__ or "", module.add_arguments, module.run)


def command_parser(command: Command) -> Parser:
    """Create the parser of a command."""
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
