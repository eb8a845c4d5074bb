"""The guide: Markdown pages for the app, for `tokviz help`, for the site and for readers here.

To add a page, write it in this folder and add it to `PAGES`. The tests run what stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import NamedTuple

from tokviz.storage.assets import asset_path

PAGES = (
    "start",
    "commands",
    "python",
    "tutorial-split",
    "tutorial-mask",
    "tutorial-train",
    "tutorial-courses",
    "tokens",
    "why",
    "compare",
    "chat",
    "train",
    "cluster",
    "replay",
    "vocabulary",
    "sharing",
    "web",
    "settings",
    "tokenizers",
    "formats",
    "glossary",
    "reference",
    "api",
    "algorithm",
    "architecture",
    "performance",
    "peers",
    "troubleshooting",
    "security",
    "dependencies",
    "notice",
    "news",
)
"""The pages by name, in the order in which they are read; a screen's page has its name."""

_CHAPTERS = {
    "start": "First steps",
    "commands": "Command line and Python",
    "tutorial-split": "Tutorials",
    "tokens": "Screens",
    "sharing": "More ways to use it",
    "tokenizers": "Reference",
    "algorithm": "How it works",
    "troubleshooting": "Help and background",
}
"""The page that a chapter begins with, and the chapter."""

_ELSEWHERE = {
    "architecture": ".github/CONTRIBUTING.md",
    "notice": "assets/NOTICE.md",
    "performance": "tests/benchmarks/README.md",
    "security": ".github/SECURITY.md",
}
"""Pages that stand where others look for them; a wheel carries them with its assets."""

MADE = {
    "glossary": "tokviz.guide.glossary:page",
    "reference": "tokviz.cli.reference:page",
    "api": "tokviz.guide.api:page",
}
"""Pages that are made of the code when somebody reads them: "module:function"."""

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)")
"""The words of a link, and where it leads."""

_SCHEME = "help:"
"""What the links begin with that are made of words like `tokviz help train`."""

_IMAGE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
_RULE = re.compile(r"^[-| :]{3,}$|^```.*$|^#+ ", re.MULTILINE)
_ROW = re.compile(r"^\|.*", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


class Section(NamedTuple):
    """A part of a page.

    Attributes:
        page: The name of the page.
        title: Its heading, that of the page for the first part.
        text: What stands below it, in one line and without the marks of Markdown.
    """

    page: str
    title: str
    text: str


def place(name: str) -> str:
    """Say where a page stands in the repository."""
    return _ELSEWHERE.get(name, f"tokviz/guide/{name}.md")


def source(name: str) -> str:
    """Read or make a page, with its pictures.

    Raises:
        KeyError: If there is none.
    """
    if name not in PAGES:
        raise KeyError(name)
    if name in MADE:
        module, function = MADE[name].split(":")
        made: str = getattr(import_module(module), function)()
        return made
    carried = asset_path(f"guide/{name}.md")
    written = carried if carried.exists() else Path(__file__).parent.parent.parent / place(name)
    return written.read_text("utf-8")


@cache
def page(name: str) -> str:
    """Read a page, without its pictures.

    Raises:
        KeyError: If there is none.
    """
    return _IMAGE.sub("", source(name))


def with_links(text: str) -> str:
    """Make links of words like `tokviz help train`."""
    names = "|".join(PAGES)
    return re.sub(rf"(?<!\[)`tokviz help ({names})`", rf"[\g<0>]({_SCHEME}\1)", text)


def link(where: str, href: str) -> tuple[str, str] | None:
    """Follow a link.

    Args:
        where: The path of the text that holds it, in the repository; see `place`.
        href: What it says.

    Returns:
        The page that it leads to, and the anchor there (see `anchor`) or nothing. None where it
        leads out of the guide.
    """
    path, _, heading = href.partition("#")
    if path.startswith(_SCHEME):
        return path.removeprefix(_SCHEME), heading
    target = normpath(join(dirname(where), path)) if path else where
    return next(((name, heading) for name in PAGES if place(name) == target), None)


def anchor(heading: str) -> str:
    """Give what a link to a heading ends in, here and wherever Markdown is read."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def chapters() -> dict[str, list[str]]:
    """Give the pages by chapter."""
    found: dict[str, list[str]] = {}
    chapter = ""
    for name in PAGES:
        chapter = _CHAPTERS.get(name, chapter)
        found.setdefault(chapter, []).append(name)
    return found


def title(name: str) -> str:
    """Give the title of a page."""
    return page(name).partition("\n")[0].removeprefix("# ")


def sections(names: Iterable[str] = PAGES) -> Iterator[Section]:
    """Give the parts of pages, of all if none is named."""
    for name in names:
        text = page(name)
        # A comment in a block of code looks like a heading.
        hidden = _BLOCK.sub(lambda block: re.sub("[^\n]", " ", block[0]), text)
        found = list(_HEADING.finditer(hidden))
        for heading, following in zip(found, [*found[1:], None], strict=True):
            said = text[heading.end() : following.start() if following else None].strip()
            if said:
                yield Section(name, heading[1], _plain(said))


def _plain(text: str) -> str:
    text = _RULE.sub("", LINK.sub(r"\1", text))
    text = _ROW.sub(lambda row: row[0].strip("| ").replace(" | ", " · "), text)
    return " ".join(re.sub(r"\*\*|`+", "", text).split())
