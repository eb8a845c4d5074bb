"""Text cut or padded to a number of columns, and horizontal bars."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

ELLIPSIS = "…"
_TAIL, _TWO_ENDS = 7, 12
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def fit(text: str, width: int) -> str:
    """Return the text, or its start and an ellipsis if it is wider than `width` columns."""
    if len(text) <= width and cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    return set_cell_size(text[:width], width - 1).rstrip(" ") + ELLIPSIS


def column(text: str, width: int) -> str:
    """Cut a text or pad it with spaces to a number of columns.

    >>> column("abc", 5), column("abcdef", 5)
    ('abc  ', 'abcd…')
    """
    text = fit(text, width)
    return text + " " * (width - cell_len(text))


def fit_end(text: str, width: int) -> str:
    """Return the text, or its end after an ellipsis, which says more about a long path."""
    if len(text) <= width and cell_len(text) <= width:
        return text
    end = text[-width:] if width > 0 else ""
    while cell_len(end) > width - 1 >= 0:
        end = end[1:]
    return ELLIPSIS + end if width > 0 else ""


def fit_name(text: str, width: int) -> str:
    """Return the name, or its start and end, because names of trainings differ at the end.

    >>> fit_name("book-10000-20261122-155315", 18)
    'book-10000-…155315'
    """
    tail = min(_TAIL, width // 3)
    if cell_len(text) <= width or width < _TWO_ENDS:
        return fit(text, width)
    return fit(text, width - tail) + fit_end(text, tail + 1).removeprefix(ELLIPSIS)


def bar_text(value: float, most: float, width: int) -> str:
    """Draw a horizontal bar in eighths of a cell; a positive value has at least one eighth.

    >>> bar_text(3, 6, 4), bar_text(1, 1000, 4), bar_text(0, 6, 4)
    ('██', '▏', '')
    """
    if value <= 0 or most <= 0:
        return ""
    eighths = max(1, round(value / most * width * 8))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")
