"""Tokens to be shown outside of the app: as a web page, a picture, Markdown, or lines of text.

To add a form, write a module with `write` and add it to `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

FORMS = {
    "ansi": "colours for a terminal",
    "html": "a web page without scripts; the pointer or the Tab key shows id, bytes and piece",
    "svg": "a picture",
    "markdown": "a table in Markdown",
    "table": "a line for each token: number, id, where its bytes are, piece, bytes, text",
}
"""Every form and what it is; each is a module beside this one."""

ENDINGS = {"html": "html", "svg": "svg", "md": "markdown", "txt": "table"}
"""What the name of a file ends in, and the form that it asks for."""


def writer(form: str) -> Callable[[Figure], Iterator[str]]:
    """Give what writes a figure in a form, line by line."""
    write: Callable[[Figure], Iterator[str]] = import_module(f"tokviz.share.{form}").write
    return write
