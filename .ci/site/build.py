"""Build the guide as a site: `python .ci/site/build.py [FOLDER]`, with the extra `docs` installed.

The pages are those of the app (`tokviz/guide/`). Each is there as Markdown, too (`chat.md` beside
`chat/`), and `llms.txt` lists them for programs that read Markdown. It fails if a link is broken,
or if a page would load anything from another host.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from tokviz.guide import (  # noqa: E402
    PAGES,
    chapters,
    page_path,
    page_source,
    resolve_link,
    title,
    with_links,
)

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src=["']?(?:https?:)?//[^\s"'>]+"""
    r"""|<link[^>]+href=["']?(?:https?:)?//[^\s"'>]+|url\(["']?(?:https?:)?//[^)]+"""
)
"""Markup that makes a browser load something from another host."""


def for_site(text: str, source_path: str) -> str:
    """Point the links and pictures of a page to their paths on the site."""

    def moved(match: re.Match[str]) -> str:
        href = match[1]
        if "screenshots/" in href:
            return f"](screenshots/{Path(href).name})"
        if target := resolve_link(source_path, href):
            name, heading = target
            return f"]({name}.md{'#' * bool(heading)}{heading})"
        return match[0]

    return re.sub(r"\]\((?!https?:)([^)\s]+)\)", moved, with_links(text))


def llms_txt() -> str:
    """List the pages as Markdown, in the format of https://llmstxt.org."""
    lines = ["# tokviz", "", "> See what a tokenizer does: in the terminal, in pipes, in Python."]
    for chapter, names in chapters().items():
        lines += ["", f"## {chapter}", "", *(f"- [{title(name)}]({name}.md)" for name in names)]
    return "\n".join([*lines, ""])


def main(target: Path) -> None:
    """Build the site into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder)
        readme = (ROOT / "README.md").read_text("utf-8")
        (pages / "index.md").write_text(for_site(readme, "README.md"), "utf-8")
        for name in PAGES:
            (pages / f"{name}.md").write_text(for_site(page_source(name), page_path(name)), "utf-8")
        shutil.copytree(ROOT / "assets" / "screenshots", pages / "screenshots")
        parts = [
            {chapter: [{title(name): f"{name}.md"} for name in names]}
            for chapter, names in chapters().items()
        ]
        nav = [{"tokviz": "index.md"}, *parts]
        places = {"docs_dir": folder, "site_dir": str(target.resolve())}
        build(load_config(str(HERE / "mkdocs.yml"), nav=nav, strict=True, **places))
        for page in pages.glob("*.md"):
            shutil.copy(page, target)
    (target / "llms.txt").write_text(llms_txt(), "utf-8")
    built = [*target.rglob("*.html"), *target.rglob("*.css")]
    foreign = {path.name: FETCHED.findall(path.read_text("utf-8")) for path in built}
    if foreign := {name: urls for name, urls in foreign.items() if urls}:
        sys.exit(f"loaded from other hosts: {foreign}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site")
