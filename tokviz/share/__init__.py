"""What is on the screen, to be shown outside of the app: a web page, a picture, lines of text.

A `Figure` says what is shown. To show something else, make one of it; to add a form, write a module
with `write` and add it to `FORMS`.
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
    "svg": "a picture that scales",
    "png": "a picture, with the fonts of this machine",
    "markdown": "a table in Markdown",
    "table": "a line for each token: number, id, where its bytes are, piece, bytes, text",
}
"""Every form and what it is; each is a module beside this one."""

WHOLE = ("html", "svg", "png")
"""The forms of which a file holds one."""

ENDINGS = {
    "html": "html", "svg": "svg", "png": "png", "md": "markdown", "txt": "table", "ansi": "ansi"
}  # fmt: skip
"""What the name of a file ends in, and the form that it asks for."""


def writer(form: str) -> Callable[[Figure], Iterator[str]]:
    """Give what writes a figure in a form of text, line by line."""
    write: Callable[[Figure], Iterator[str]] = import_module(f"tokviz.share.{form}").write
    return write


def written(figure: Figure, form: str) -> Iterator[bytes]:
    """Write a figure in any form.

    Raises:
        TokvizError: If it has no place in this form, or what makes the form is not installed.
    """
    if form == "png":
        from tokviz.share.png import picture

        return iter([picture(figure)])
    return (f"{line}\n".encode() for line in writer(form)(figure))
