"""Read the guide: a page, or the list of pages.

TOPIC is the name of a page, or words that stand in it.
"""

from __future__ import annotations

import argparse
import sys

from tokviz.cli.output import report
from tokviz.guide import PAGES, page, sections, title


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tokviz help`."""
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help=f"a page: {', '.join(PAGES)}")


def run(arguments: argparse.Namespace) -> int:
    """Print a page, or what there is to read."""
    topic = " ".join(arguments.topic).casefold()
    if not topic:
        print(*(f"{name:<16} {title(name)}" for name in PAGES), sep="\n")
        return 0
    if topic in PAGES:
        _print(page(topic))
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


def _print(text: str) -> None:
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
