"""Cut text to a number of columns."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"


def fit(text: str, width: int) -> str:
    """Return the text, or its beginning with an ellipsis if it is wider than `width` columns."""
    if len(text) <= width and cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    return set_cell_size(text[:width], width - 1).rstrip(" ") + ELLIPSIS


def column(text: str, width: int) -> str:
    """Cut a text, or fill it up with spaces, to a number of columns.

    >>> column("abc", 5), column("abcdef", 5)
    ('abc  ', 'abcd…')
    """
    text = fit(text, width)
    return text + " " * (width - cell_len(text))


def fit_end(text: str, width: int) -> str:
    """Return the text, or its end behind an ellipsis: what tells more of a long path."""
    if len(text) <= width and cell_len(text) <= width:
        return text
    end = text[-width:] if width > 0 else ""
    while cell_len(end) > width - 1 >= 0:
        end = end[1:]
    return ELLIPSIS + end if width > 0 else ""
