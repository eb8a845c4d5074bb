"""The strip of counts in other tokenizers, as one row of words."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.flow import Do, Row, Span

_OPEN = Do("app.show_screen('compare')")
_CLOSE = Span(" ×", "link", Do("toggle_strip"))
_NONE = "No other tokenizer is chosen: the Compare screen adds some."


def strip_rows(items: Sequence[tuple[str, str, str]], width: int) -> list[Row]:
    """Draw the strip in one row: names, counts, and differences where there is room for them.

    Args:
        items: By tokenizer: its name, its count, the difference to the tokenizer in use.
        width: Columns of the row.
    """
    for longest in (24, 20, 16, 12, 8, 4):
        spans: list[Span] = []
        for name, number, more in items:
            spans += [Span(f"{' · ' if spans else ''}{fit(name, longest)} ", "dim", _OPEN)]
            spans += [Span(number, "heading", _OPEN), Span(more if longest > 12 else "", "text")]
        if spans and (longest == 4 or sum(cell_len(span.text) for span in spans) + 2 <= width):
            return [(*spans, _CLOSE)]
    return [(Span(fit(_NONE, width - 2), "dim", _OPEN), _CLOSE)]
