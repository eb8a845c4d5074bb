"""The guide: Markdown pages for the app, `tokviz help`, the site and readers of the repository.

To add a page, write it in this folder and add it to `PAGES`. The tests run its examples.
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
    "scripts",
    "python",
    "notebooks",
    "plugins",
    "tutorial-split",
    "tutorial-mask",
    "tutorial-template",
    "tutorial-train",
    "tutorial-courses",
    "tutorial-debug",
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
"""The names of the pages in reading order; the page of a screen has the name of the screen."""

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
"""First page of a chapter → title of the chapter."""

_ELSEWHERE = {
    "architecture": ".github/CONTRIBUTING.md",
    "notice": "assets/NOTICE.md",
    "performance": "tests/benchmarks/README.md",
    "security": ".github/SECURITY.md",
}
"""Pages outside this folder, at paths where readers expect them; wheels contain copies."""

MADE = {
    "glossary": "tokviz.guide.glossary:page",
    "reference": "tokviz.cli.reference:page",
    "api": "tokviz.guide.api:page",
}
"""Pages generated from the code: name → "module:function"."""

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)")
"""A Markdown link: its text and its target."""

_SCHEME = "help:"
"""Scheme of the links that `with_links` creates."""

_IMAGE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
_RULE = re.compile(r"^[-| :]{3,}$|^```.*$|^#+ ", re.MULTILINE)
_ROW = re.compile(r"^\|.*", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


class Section(NamedTuple):
    """A section of a page.

    Attributes:
        page: The name of the page.
        title: Its heading; for the first section, the title of the page.
        text: The text below the heading, in one line and without Markdown syntax.
    """

    page: str
    title: str
    text: str


def page_path(name: str) -> str:
    """Return the path of a page in the repository."""
    return _ELSEWHERE.get(name, f"tokviz/guide/{name}.md")


def page_source(name: str) -> str:
    """Read or generate a page, including its pictures.

    Raises:
        KeyError: If there is no such page.
    """
    if name not in PAGES:
        raise KeyError(name)
    if name in MADE:
        module, function = MADE[name].split(":")
        text: str = getattr(import_module(module), function)()
        return text
    in_wheel = asset_path(f"guide/{name}.md")
    in_repository = Path(__file__).parent.parent.parent / page_path(name)
    return (in_wheel if in_wheel.exists() else in_repository).read_text("utf-8")


@cache
def page(name: str) -> str:
    """Read a page without its pictures.

    Raises:
        KeyError: If there is no such page.
    """
    return _IMAGE.sub("", page_source(name))


def with_links(text: str) -> str:
    """Turn text like `tokviz help train` into links."""
    names = "|".join(PAGES)
    return re.sub(rf"(?<!\[)`tokviz help ({names})`", rf"[\g<0>]({_SCHEME}\1)", text)


def resolve_link(base: str, href: str) -> tuple[str, str] | None:
    """Find the page that a link leads to.

    Args:
        base: The path in the repository of the text with the link; see `page_path`.
        href: The target of the link.

    Returns:
        The page and the anchor in it (see `anchor`; may be empty). None if the link leads out of
        the guide.
    """
    path, _, heading = href.partition("#")
    if path.startswith(_SCHEME):
        return path.removeprefix(_SCHEME), heading
    target = normpath(join(dirname(base), path)) if path else base
    return next(((name, heading) for name in PAGES if page_path(name) == target), None)


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MkDocs generate it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def chapters() -> dict[str, list[str]]:
    """Return the pages by chapter."""
    by_chapter: dict[str, list[str]] = {}
    chapter = ""
    for name in PAGES:
        chapter = _CHAPTERS.get(name, chapter)
        by_chapter.setdefault(chapter, []).append(name)
    return by_chapter


def title(name: str) -> str:
    """Return the title of a page."""
    return page(name).partition("\n")[0].removeprefix("# ")


def sections(names: Iterable[str] = PAGES) -> Iterator[Section]:
    """Yield the sections of pages, by default of all."""
    for name in names:
        text = page(name)
        # Blank out code blocks, because their comments look like headings.
        hidden = _BLOCK.sub(lambda block: re.sub("[^\n]", " ", block[0]), text)
        headings = list(_HEADING.finditer(hidden))
        for heading, following in zip(headings, [*headings[1:], None], strict=True):
            body = text[heading.end() : following.start() if following else None].strip()
            if body:
                yield Section(name, heading[1], _plain(body))


def _plain(text: str) -> str:
    text = _RULE.sub("", LINK.sub(r"\1", text))
    text = _ROW.sub(lambda row: row[0].strip("| ").replace(" | ", " · "), text)
    return " ".join(re.sub(r"\*\*|`+", "", text).split())
