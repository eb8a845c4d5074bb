"""Tokens as a scalable, editable picture that adapts to the viewer's light or dark theme."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tokviz.errors import TokvizError, missing_package
from tokviz.share.colours import DARK, LIGHT
from tokviz.share.figure import Chip, Figure
from tokviz.text.glyphs import n_cells
from tokviz.text.sentences import pluralize

COLUMNS = 100
CELL, LINE, MARGIN = 9, 24, 16
FONT = (
    "font-family=\"ui-monospace,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',"
    'monospace"'
)

MOST_PNG_LINES = 400
_PNG_ZOOM = 2

Row = list[tuple[Chip | None, str]]


def write(figure: Figure) -> Iterator[str]:
    """Write the picture: a title, the facts, and the parts in lines of 100 columns."""
    facts = [line for fact in figure.facts for line in wrapped(fact)]
    rows = _rows(figure)
    size = (COLUMNS * CELL + 2 * MARGIN, (1 + len(facts) + len(rows)) * LINE + 2 * MARGIN)
    yield from opening(figure.title, *size)
    yield _text(wrapped(figure.title)[0], 0, 0, "", 'font-weight="bold"')
    for number, fact in enumerate(facts, 1):
        yield _text(fact, 0, number, "", fill("m"))
    for number, row in enumerate(rows, 1 + len(facts)):
        column = 0
        for chip, label in row:
            yield from _item(chip, label, column, number)
            column += n_cells(label)
    yield "</svg>"


def draw_png(figure: Figure) -> bytes:
    """Draw the picture as a PNG at twice the size of the SVG; resvg draws it.

    Raises:
        TokvizError: If there is too much to draw, or resvg is not installed.
    """
    n_lines = 1 + len(figure.facts) + len(_rows(figure))
    if n_lines > MOST_PNG_LINES:
        raise TokvizError(
            f"{pluralize(n_lines, 'line')} do not fit in a PNG, which holds at most "
            f"{MOST_PNG_LINES}: select a part of the text, or write a web page or an SVG"
        )
    try:
        from resvg_py import svg_to_bytes  # an optional dependency
    except ImportError:
        reason = f"write an SVG instead; a PNG {missing_package('resvg-py')}"
        raise TokvizError(reason) from None
    return bytes(svg_to_bytes(svg_string="\n".join(write(figure)), zoom=_PNG_ZOOM))


def opening(title: str, width: int, height: int, style: str = "") -> Iterator[str]:
    """Yield the start of a picture: its size, colors and background.

    Every element has light colors as attributes, for programs without support for dark themes.
    """
    dark = {"t": DARK.text, "m": DARK.muted, "s": DARK.special, "g": DARK.ground}
    dark |= {f"h{hue}": fill for hue, fill in enumerate(DARK.all_fills)}
    rules = "".join(f".{name}{{fill:{colour}}}" for name, colour in dark.items())
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-size="15" class="t" fill="{LIGHT.text}" {FONT}>'
    )
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{style}@media(prefers-color-scheme:dark){{{rules}}}</style>"
    yield f'<rect width="100%" height="100%" class="g" fill="{LIGHT.ground}"/>'


def wrapped(text: str, columns: int = COLUMNS) -> list[str]:
    """Wrap text to the width of the picture, or to the given number of columns."""
    lines = [""]
    for word in text.split(" "):
        while n_cells(word) > columns:
            lines.append(word[: columns // 2])
            word = word[columns // 2 :]
        if n_cells(lines[-1]) + 1 + n_cells(word) > columns:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return [line for line in lines if line] or [""]


def _rows(figure: Figure) -> list[Row]:
    rows: list[Row] = []
    for part in figure.parts:
        if part.heading:
            rows += [[(None, line)] for line in wrapped(part.heading)]
        rows += [line for row in part.rows() for line in _folded(row)]
    return rows


def fill(name: str, hue: int = 0) -> str:
    """Return the attributes of a color, by the first letter of its name."""
    colour = LIGHT.all_fills[hue] if name == "h" else {"m": LIGHT.muted, "s": LIGHT.special}[name]
    return f'class="{name}{hue if name == "h" else ""}" fill="{colour}"'


def _item(chip: Chip | None, label: str, column: int, row: int) -> Iterator[str]:
    if chip is None:
        yield _text(label, column, row, "", fill("m"))
        return
    x, y, width = MARGIN + column * CELL, MARGIN + row * LINE, n_cells(label) * CELL - 1
    yield (
        f'<rect x="{x}" y="{y}" rx="3" width="{width}" height="{LINE - 2}" {fill("h", chip.hue)}/>'
    )
    if chip.mark:
        yield f'<rect x="{x}" y="{y + LINE - 4}" width="{width}" height="2" {fill("m")}/>'
    attributes = f'font-style="italic" {fill("s")}' if chip.is_special else ""
    yield _text(label, column, row, chip.about, attributes)


def _text(label: str, column: int, row: int, about: str, attributes: str) -> str:
    tooltip = f"<title>{escape(about)}</title>" if about else ""
    return (
        f'<text x="{MARGIN + column * CELL}" y="{MARGIN + row * LINE + 16}" '
        f'textLength="{max(1, n_cells(label)) * CELL}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve" {attributes}>{escape(label)}{tooltip}</text>'
    )


def _folded(row: Row) -> Iterator[Row]:
    """Wrap a line that is too long; split a token that is too long by itself."""
    folded: Row = []
    column = 0
    for chip, label in row:
        while label:
            if column and column + n_cells(label) > COLUMNS:
                yield folded
                folded, column = [], 0
            part = label
            while n_cells(part) > COLUMNS:
                part = part[: max(1, len(part) // 2)]
            folded.append((chip, part))
            column += n_cells(part)
            label = label[len(part) :]
    yield folded
