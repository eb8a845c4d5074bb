"""Export of tokens as a web page, picture or lines of text.

A `Figure` describes the content. To export something else, create a `Figure` from it; to add a
form, add its description to `FORMS` and the function that writes it to `write_figure`.
"""

from __future__ import annotations

from collections.abc import Iterator
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
"""Every form and its description."""

WHOLE = ("html", "svg", "png")
"""The forms of which a file holds only one."""

ENDINGS = {
    "html": "html", "svg": "svg", "png": "png", "md": "markdown", "txt": "table", "ansi": "ansi"
}  # fmt: skip
"""File name extension → form."""


def write_figure(figure: Figure, form: str) -> Iterator[bytes]:
    """Write a figure in any form.

    Raises:
        TokvizError: If the figure is too large for the form, or a required package is missing.
    """
    # The app and the commands list the forms without loading the modules that write them.
    from tokviz.share import html, svg, text_forms

    if form == "png":
        return iter([svg.draw_png(figure)])
    writers = {
        "ansi": text_forms.write_ansi,
        "html": html.write,
        "markdown": text_forms.write_markdown,
        "svg": svg.write,
        "table": text_forms.write_table,
    }
    return (f"{line}\n".encode() for line in writers[form](figure))
