"""Build the guide as a site: `python .ci/site/build.py [FOLDER]`, with the extra `docs` installed.

The pages are those of the app (`tokviz/guide/`). It fails if a link leads nowhere, or if a page
would fetch anything from another host.
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

from tokviz.guide import PAGES, chapters, link, place, source, title, with_links  # noqa: E402

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src=["']?(?:https?:)?//[^\s"'>]+"""
    r"""|<link[^>]+href=["']?(?:https?:)?//[^\s"'>]+|url\(["']?(?:https?:)?//[^)]+"""
)
"""What makes a browser fetch something from another host."""


def for_site(text: str, where: str) -> str:
    """Let the links and pictures of a text lead to where they are on the site."""

    def moved(found: re.Match[str]) -> str:
        href = found[1]
        if "screenshots/" in href:
            return f"](screenshots/{Path(href).name})"
        if leads := link(where, href):
            return f"]({leads[0]}.md{'#' * bool(leads[1])}{leads[1]})"
        return found[0]

    return re.sub(r"\]\((?!https?:)([^)\s]+)\)", moved, with_links(text))


def main(target: Path) -> None:
    """Build into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder)
        readme = (ROOT / "README.md").read_text("utf-8")
        (pages / "index.md").write_text(for_site(readme, "README.md"), "utf-8")
        for name in PAGES:
            (pages / f"{name}.md").write_text(for_site(source(name), place(name)), "utf-8")
        shutil.copytree(ROOT / "assets" / "screenshots", pages / "screenshots")
        parts = [
            {chapter: [{title(name): f"{name}.md"} for name in names]}
            for chapter, names in chapters().items()
        ]
        nav = [{"tokviz": "index.md"}, *parts]
        places = {"docs_dir": folder, "site_dir": str(target.resolve())}
        build(load_config(str(HERE / "mkdocs.yml"), nav=nav, strict=True, **places))
    built = [*target.rglob("*.html"), *target.rglob("*.css")]
    foreign = {(path.name, *FETCHED.findall(path.read_text("utf-8"))) for path in built}
    if foreign := {found for found in foreign if len(found) > 1}:
        sys.exit(f"fetched from elsewhere: {foreign}")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site")
