"""A picture of tokens, which scales and can be edited."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tokviz.glyphs import n_cells
from tokviz.share.colours import LIGHT
from tokviz.share.figure import Chip, Figure

_COLUMNS = 100
_CELL, _LINE, _MARGIN = 9, 24, 16


def write(figure: Figure) -> Iterator[str]:
    """Write the picture: a title, the facts, and the tokens in lines of 100 columns."""
    rows = [part for row in figure.rows() for part in _folded(row)]
    width = _COLUMNS * _CELL + 2 * _MARGIN
    height = (len(rows) + 2) * _LINE + 2 * _MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-size="15" fill="{LIGHT.text}" '
        'font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace">'
    )
    yield f"<title>{escape(figure.title)}</title>"
    yield f'<rect width="100%" height="100%" fill="{LIGHT.ground}"/>'
    yield _text(figure.title, 0, 0, figure.title, 'font-weight="bold"')
    yield _text(figure.facts, 0, 1, figure.facts, f'fill="{LIGHT.muted}"')
    for number, row in enumerate(rows, 2):
        column = 0
        for chip, label in row:
            n = n_cells(label)
            yield (
                f'<rect x="{_MARGIN + column * _CELL}" y="{_MARGIN + number * _LINE}" rx="3" '
                f'width="{n * _CELL - 1}" height="{_LINE - 2}" fill="{LIGHT.fills[chip.hue]}"/>'
            )
            look = f'font-style="italic" fill="{LIGHT.special}"' if chip.is_special else ""
            yield _text(label, column, number, chip.about, look)
            column += n
    yield "</svg>"


def _text(label: str, column: int, row: int, about: str, look: str) -> str:
    return (
        f'<text x="{_MARGIN + column * _CELL}" y="{_MARGIN + row * _LINE + 16}" '
        f'textLength="{max(1, n_cells(label)) * _CELL}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve" {look}>{escape(label)}<title>{escape(about)}</title></text>'
    )


def _folded(row: list[tuple[Chip, str]]) -> Iterator[list[tuple[Chip, str]]]:
    """Fold a line that is too long; a token that is too long by itself is cut."""
    folded: list[tuple[Chip, str]] = []
    column = 0
    for chip, label in row:
        while label:
            if column and column + n_cells(label) > _COLUMNS:
                yield folded
                folded, column = [], 0
            part = label
            while n_cells(part) > _COLUMNS:
                part = part[: max(1, len(part) // 2)]
            folded.append((chip, part))
            column += n_cells(part)
            label = label[len(part) :]
    yield folded
