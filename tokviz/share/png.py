"""A picture of tokens for wherever SVG is not taken; resvg draws it."""

from __future__ import annotations

from tokviz.errors import TokvizError, missing_package
from tokviz.sentences import counted
from tokviz.share import svg
from tokviz.share.figure import Figure

MOST_LINES = 400
_ZOOM = 2


def picture(figure: Figure) -> bytes:
    """Draw the picture, twice as large as the SVG is.

    Raises:
        TokvizError: If there is too much to draw, or resvg is not installed.
    """
    n_lines = svg.n_lines(figure)
    if n_lines > MOST_LINES:
        raise TokvizError(
            f"{counted(n_lines, 'line')} are too many for a PNG, which holds {MOST_LINES}: "
            "take a part of the text, or write a web page or an SVG"
        )
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        reason = f"write an SVG instead; a PNG {missing_package('resvg-py')}"
        raise TokvizError(reason) from None
    drawn = svg_to_bytes(svg_string="\n".join(svg.write(figure)), zoom=_ZOOM)
    return bytes(drawn)
