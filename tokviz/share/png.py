"""Tokens as a PNG picture where SVG is not supported; resvg draws it."""

from __future__ import annotations

from tokviz.errors import TokvizError, missing_package
from tokviz.share import svg
from tokviz.share.figure import Figure
from tokviz.text.sentences import pluralize

MOST_LINES = 400
_ZOOM = 2


def picture(figure: Figure) -> bytes:
    """Draw the picture at twice the size of the SVG.

    Raises:
        TokvizError: If there is too much to draw, or resvg is not installed.
    """
    n_lines = svg.n_lines(figure)
    if n_lines > MOST_LINES:
        raise TokvizError(
            f"{pluralize(n_lines, 'line')} do not fit in a PNG, which holds at most {MOST_LINES}: "
            "select a part of the text, or write a web page or an SVG"
        )
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        reason = f"write an SVG instead; a PNG {missing_package('resvg-py')}"
        raise TokvizError(reason) from None
    drawn = svg_to_bytes(svg_string="\n".join(svg.write(figure)), zoom=_ZOOM)
    return bytes(drawn)
