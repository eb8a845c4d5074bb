"""Read the guide: a page, or the list of pages.

TOPIC is the name of a command, whose help comes first, the name of a page, or words to search for.

--schema prints the JSON Schema of what a command prints with --json: tokviz help --schema count

--man prints the manual page: tokviz help --man > ~/.local/share/man/man1/tokviz.1
"""

from __future__ import annotations

import argparse
import re
import sys

from tokviz.cli.command import COMMANDS, command_parser, load_command
from tokviz.cli.options import add_flag
from tokviz.cli.output import ERROR, report
from tokviz.errors import TokvizError
from tokviz.guide import LINK, PAGES, chapters, page, page_path, resolve_link, sections, title
from tokviz.storage.assets import asset_path
from tokviz.workspace.settings import did_you_mean

_PAGE_OF_COMMANDS = "commands"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz help`."""
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help=f"a page: {', '.join(PAGES)}")
    add_flag(parser, "--man", "print the manual page, for man(1)")
    add_flag(parser, "--schema", "print the JSON Schema of the output of the command TOPIC")


def run(arguments: argparse.Namespace) -> int:
    """Print a page, the search results, or the list of pages."""
    if arguments.man:
        if arguments.topic:
            raise TokvizError("--man prints the whole manual page: leave out TOPIC")
        from tokviz.cli.reference import manual  # imports every command

        print(manual(), end="")
        return 0
    topic = " ".join(arguments.topic).casefold()
    if arguments.schema:
        print(_schema(topic), end="")
        return 0
    if not topic:
        for chapter, names in chapters().items():
            print(f"{chapter}:", *(f"  {name:<16} {title(name)}" for name in names), sep="\n")
        return 0
    if topic in COMMANDS:
        command_parser(load_command(topic)).print_help()
        print("" if topic in PAGES else f"\nMore: tokviz help {_PAGE_OF_COMMANDS}")
    if topic in PAGES:
        _print(topic)
    if topic in PAGES or topic in COMMANDS:
        return 0
    matches = [
        section
        for section in sections()
        if topic in section.title.casefold() or topic in section.text.casefold()
    ]
    for section in matches:
        print(f"{section.page:<16} {section.title}")
    if not matches:
        hint = did_you_mean(topic, [*PAGES, *COMMANDS])
        report(f"no page of the guide mentions {topic!r}; `tokviz help` lists the pages{hint}")
    return 0 if matches else ERROR


def _schema(command: str) -> str:
    """Return the JSON Schema of what a command prints with --json."""
    if command not in COMMANDS:
        hint = did_you_mean(command, COMMANDS)
        raise TokvizError(f"--schema needs the name of a command, not {command!r}{hint}")
    path = asset_path(f"schemas/{command}.json")
    if not path.exists():
        raise TokvizError(f"tokviz {command} has no option --json")
    return path.read_text("utf-8")


def _print(name: str) -> None:
    text = page(name)
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console  # slow to import, and useless in a pipe
    from rich.markdown import Markdown

    def add_command(match: re.Match[str]) -> str:
        target = resolve_link(page_path(name), match[2])
        return f"{match[1]} (`tokviz help {target[0]}`)" if target else match[0]

    Console().print(Markdown(LINK.sub(add_command, text), hyperlinks=False))
