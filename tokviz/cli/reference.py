"""Reference of all commands, from their parsers: a page of the guide, and the manual page."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import partial

from tokviz.cli.command import APP, COMMANDS, Command, Parser, command_parser, load_command
from tokviz.guide import page as page_of_guide
from tokviz.storage.version import __version__

_WIDTH = 88
_TABLES = {
    "EXIT STATUS": "Exit codes",
    "ENVIRONMENT": "Environment variables",
    "FILES": "Files",
}
"""Sections of the manual page, and the headings of their tables in the guide."""


def page() -> str:
    """Return the page of the guide: the `--help` of each command."""
    parts = ["# Every command and option", "This is what `tokviz COMMAND --help` prints."]
    for command, parser in _commands():
        parts.append(f"## {command.name}\n\n```text\n{parser.format_help().rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def manual() -> str:
    """Return the manual page, in roff."""
    lines = [f'.TH TOKVIZ 1 "" "tokviz {__version__}" "User Commands"', ".SH NAME"]
    lines += [r"tokviz \- see what a tokenizer does", ".SH SYNOPSIS", ".nf"]
    lines += ["tokviz [OPTION]... [FILE]", "tokviz COMMAND [OPTION]... [ARGUMENT]...", ".fi"]
    for command, parser in _commands():
        is_app = command.name == "tokviz"
        lines.append(".SH DESCRIPTION" if is_app else f".SH {_roff(command.name).upper()}")
        lines += [_roff(parser.description or ""), ".PP"]
        lines.append(_roff(" ".join(parser.format_usage().split()[1:])))
        formatter = parser._get_formatter()
        for action in parser._actions[1:]:  # without --help
            words = formatter._format_action_invocation(action)
            text = formatter._expand_help(action) if action.help else ""
            lines += [".TP", rf"\fB{_roff(words)}\fR", _roff(text)]
        lines += [".PP", ".nf", _roff(parser.epilog or ""), ".fi"]
    for head, section in _TABLES.items():
        lines.append(f".SH {head}")
        lines += [line for row in _rows(section) for line in (".TP", *map(_roff, row))]
    return "\n".join([*lines, ".SH SEE ALSO", "`tokviz help` prints the guide."]) + "\n"


def _rows(heading: str) -> Iterator[list[str]]:
    """Yield the rows of the table below a heading of the page about commands."""
    text = page_of_guide("commands").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for line in [line for line in text.splitlines() if line.startswith("|")][2:]:
        name, *cells = (cell.strip() for cell in line.replace("`", "").strip("|").split(" | "))
        yield [name, "; ".join(cells)]


def _commands() -> Iterator[tuple[Command, Parser]]:
    for name in (APP, *COMMANDS):
        command = load_command(name)
        parser = command_parser(command)
        # The page must not depend on the width or colors of a terminal.
        parser.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=_WIDTH)
        setattr(parser, "color", False)  # noqa: B010 (from Python 3.14 on)
        yield command, parser


def _roff(text: str) -> str:
    """Escape the commands of roff in a text."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)
