"""Read the guide: a page, or the list of pages.

TOPIC is the name of a page, or words that stand in it.

--man writes the manual page: tokviz help --man > ~/.local/share/man/man1/tokviz.1
"""

from __future__ import annotations

import argparse
import re
import sys

from tokviz.cli.options import add_flag
from tokviz.cli.output import report
from tokviz.errors import TokvizError
from tokviz.guide import LINK, PAGES, chapters, link, page, place, sections, title


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz help`."""
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help=f"a page: {', '.join(PAGES)}")
    add_flag(parser, "--man", "write the manual page, for man(1)")


def run(arguments: argparse.Namespace) -> int:
    """Print a page, or what there is to read."""
    if arguments.man:
        if arguments.topic:
            raise TokvizError("--man writes all of it: leave TOPIC out")
        from tokviz.cli.reference import manual

        print(manual(), end="")
        return 0
    topic = " ".join(arguments.topic).casefold()
    if not topic:
        for chapter, names in chapters().items():
            print(f"{chapter}:", *(f"  {name:<16} {title(name)}" for name in names), sep="\n")
        return 0
    if topic in PAGES:
        _print(topic)
        return 0
    found = [
        part
        for part in sections()
        if topic in part.title.casefold() or topic in part.text.casefold()
    ]
    for part in found:
        print(f"{part.page:<16} {part.title}")
    if not found:
        report(f"the guide says nothing about {topic!r}; `tokviz help` lists its pages")
    return 0 if found else 1


def _print(name: str) -> None:
    text = page(name)
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    def named(found: re.Match[str]) -> str:
        leads = link(place(name), found[2])
        return f"{found[1]} (`tokviz help {leads[0]}`)" if leads else found[0]

    Console().print(Markdown(LINK.sub(named, text), hyperlinks=False))
