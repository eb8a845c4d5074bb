"""A line for each token, for programs and for whoever has lines read aloud."""

from __future__ import annotations

from collections.abc import Iterator

from tokviz.share.figure import Figure


def write(figure: Figure) -> Iterator[str]:
    """Write a line for each token: number, id, where its bytes are, piece, bytes, text."""
    for chip in figure.chips:
        end = chip.start + len(chip.data)
        special = " special" if chip.is_special else ""
        yield (
            f"{chip.number} {chip.id} {chip.start}-{end} {chip.piece} "
            f"{chip.data.hex() or '-'} {chip.label}{special}"
        )
