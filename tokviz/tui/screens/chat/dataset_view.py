"""The rows of a dataset, and how long they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from tokviz.chat.dataset_lint import Lengths
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.mask.counts import percent
from tokviz.tui.widgets.spans import Row, Span, flow, words_of


class RowWords(NamedTuple):
    """Description of a row in the list.

    Attributes:
        text: Its first words, None while they are being read.
        n_tokens: Its number of tokens, or None if not counted.
        warns: True if it has findings.
    """

    text: str | None
    n_tokens: int | None = None
    warns: bool = False


class DatasetRows(RowList[int], can_focus=True):
    """List of the rows of a dataset by number. The highlighted one is shown.

    Only the visible rows are requested, so 100,000 rows are as fast as ten.
    """

    DEFAULT_CSS = """
    DatasetRows { & > .row-list--warning { text-style: bold; } }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "pick", "edit")]

    describe: Callable[[int], RowWords]
    """Describes a row."""

    def __init__(self, *, id: str) -> None:
        """Create an empty list."""
        super().__init__(self._paint_row, id=id)

    def show_rows(self, rows: Sequence[int], at: int | None) -> None:
        """Show rows by their numbers, in rising order.

        Args:
            rows: The numbers, from 0.
            at: The number to highlight, or the nearest before it.
        """
        index = None
        if at is not None and rows:
            index = max(0, bisect_right(rows, at) - 1)
        self.show(rows, index)

    def rows_in_view(self) -> Sequence[int]:
        """Return the visible rows."""
        top = round(self.scroll_offset.y)
        return self.rows[top : top + max(1, self.size.height)]

    def _paint_row(self, row: int, width: int) -> list[Span]:
        words = self.describe(row)
        digits = len(f"{self.rows[-1] + 1:,}") if self.rows else 1
        number = f"{row + 1:>{digits},} "
        sign = "! " if words.warns else "  "
        length = "" if words.n_tokens is None else f" {words.n_tokens:,}"
        room = max(1, width - cell_len(number) - 2 - len(length))
        text = "…" if words.text is None else fit(safe(words.text), room)
        gap = " " * max(0, room - cell_len(text))
        return [
            Span(number, "dim"),
            Span(sign, "warning"),
            Span(text),
            Span(gap),
            Span(length, "dim"),
        ]


def lengths_rows(found: Lengths | None, n_without: int, progress: str, width: int) -> list[Row]:
    """Draw a histogram with the context size as a line across it.

    Args:
        found: The histogram, None while there are no lengths.
        n_without: Number of rows without a length.
        progress: Text above it.
        width: Available columns.
    """
    rows: list[Row] = [(Span(progress, "dim"),), ()]
    if found is None:
        return rows + flow(words_of("No row has been rendered so far."), width)
    total = found.n_fitting + found.n_longer
    middle = f"median {found.median:,} tokens, longest {found.longest:,}"
    are = "is" if found.n_longer == 1 else "are"
    longer = (
        f"({percent(found.n_longer / total)}) {are} longer than {found.context:,} and truncated"
    )
    cut = (Span(f"✂ {found.n_longer:,}", "warning" if found.n_longer else "heading"),)
    rows += flow(words_of(f"{pluralize(total, 'conversation')}: {middle}"), width)
    rows += flow([cut, *words_of(longer)], width)
    if n_without:
        rows += flow(words_of(f"{pluralize(n_without, 'row')} cannot be read or rendered"), width)
    rows.append(())
    most = max(found.counts)
    digits = len(f"{found.edges[-1]:,}")
    room = max(4, width - digits - len(f"{most:,}") - 5)
    for edge, count in zip(found.edges[1:], found.counts, strict=True):
        over = edge > found.context
        bar = max(1, round(room * count / most)) if count else 0
        rows.append(
            (
                Span(f"≤{edge:>{digits},} ", "dim"),
                Span("▒" * bar, "warning") if over else Span("█" * bar, "bar"),
                Span(f" {count:,}" if count else ""),
            )
        )
        if edge == found.context:
            rule = f"── truncated at {edge:,} "
            rows.append((Span(rule + "─" * max(0, width - len(rule)), "warning"),))
    return rows
