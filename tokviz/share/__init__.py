"""Export of tokens as a web page, picture or lines of text.

A `Figure` describes the content. To export something else, create a `Figure` from it; to add a
form, write a module with a function `write` and add it to `FORMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokviz.share.figure import Figure

FORMS = {
    "ansi": "colors for a terminal",
    "html": "a web page without scripts; hover or press Tab to see id, bytes and pre-token",
    "svg": "a scalable picture",
    "png": "a picture, drawn with the fonts of this machine",
    "markdown": "a Markdown table",
    "table": "one line per token: number, id, byte range, pre-token, bytes, text",
}
"""Every form and its description; each is a module of this package."""

WHOLE = ("html", "svg", "png")
"""The forms of which a file holds only one."""

ENDINGS = {
    "html": "html", "svg": "svg", "png": "png", "md": "markdown", "txt": "table", "ansi": "ansi"
}  # fmt: skip
"""File name extension → form."""


def writer(form: str) -> Callable[[Figure], Iterator[str]]:
    """Return the function that writes a figure in a text form, line by line."""
    write: Callable[[Figure], Iterator[str]] = import_module(f"tokviz.share.{form}").write
    return write


def written(figure: Figure, form: str) -> Iterator[bytes]:
    """Write a figure in any form.

    Raises:
        TokvizError: If the figure is too large for the form, or a required package is missing.
    """
    if form == "png":
        from tokviz.share.png import picture

        return iter([picture(figure)])
    return (f"{line}\n".encode() for line in writer(form)(figure))
