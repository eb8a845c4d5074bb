"""The guide: Markdown pages for the app, for `tokviz help` and for readers of the repository.

To add a page, write it in this folder and add it to `PAGES`. The tests run what stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PAGES = (
    "start",
    "tokens",
    "why",
    "compare",
    "chat",
    "train",
    "cluster",
    "replay",
    "vocabulary",
    "commands",
    "tokenizers",
    "python",
    "algorithm",
    "troubleshooting",
)
"""The pages by name, in the order in which they are read; a screen's page has its name."""

_IMAGE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n", re.MULTILINE)
_HEADING = re.compile(r"^#{1,2} (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


class Section(NamedTuple):
    """A part of a page.

    Attributes:
        page: The name of the page.
        title: Its heading, that of the page for the first part.
        text: What stands below it.
    """

    page: str
    title: str
    text: str


@cache
def page(name: str) -> str:
    """Read a page, without its pictures.

    Raises:
        KeyError: If there is none.
    """
    if name not in PAGES:
        raise KeyError(name)
    return _IMAGE.sub("", Path(__file__).with_name(f"{name}.md").read_text("utf-8"))


def title(name: str) -> str:
    """Give the title of a page."""
    return page(name).partition("\n")[0].removeprefix("# ")


def sections() -> Iterator[Section]:
    """Give the parts of all pages."""
    for name in PAGES:
        text = page(name)
        # A comment in a block of code looks like a heading.
        hidden = _BLOCK.sub(lambda block: re.sub("[^\n]", " ", block[0]), text)
        found = list(_HEADING.finditer(hidden))
        for heading, following in zip(found, [*found[1:], None], strict=True):
            said = text[heading.end() : following.start() if following else None].strip()
            if said:
                yield Section(name, heading[1], said)
