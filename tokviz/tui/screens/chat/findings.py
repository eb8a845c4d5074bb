"""The list of what may be wrong with a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from tokviz.chat.lint import RULES, Finding
from tokviz.glyphs import safe
from tokviz.tui.widgets.flow import flow, words_of
from tokviz.tui.widgets.lists import Cell, RowList

_SIGNS = {"error": "✗", "warning": "!", "note": "i", "none": "✓", "waiting": "…"}


class FindingRow(NamedTuple):
    """A row of the list: a finding takes as many as its words need.

    Attributes:
        number: The number of the finding, -1 where there is none.
        severity: How bad it is.
        words: The words of this row.
        first: Whether this row begins it.
    """

    number: int
    severity: str
    words: str
    first: bool


class FindingList(RowList[FindingRow], can_focus=True):
    """Lists findings. Enter, or a click, goes to where one is."""

    DEFAULT_CSS = """
    FindingList {
        &:blur > .row-list--highlighted { background: transparent; color: $foreground; }
        & > .row-list--error { color: $text-error; text-style: bold; }
        & > .row-list--warning { color: $text-warning; text-style: bold; }
        &:nocolor:blur > .row-list--highlighted { text-style: none; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--error", "row-list--warning"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "page_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("enter", "pick", "go there"),
    ]

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(self._paint_row, id=id)
        self._findings: Sequence[Finding] = ()
        self._waiting = ""

    def show_findings(self, findings: Sequence[Finding], waiting: str = "") -> None:
        """Show findings, or say what is to be waited for before there can be any."""
        if findings is not self._findings or waiting != self._waiting:
            self._findings, self._waiting = findings, waiting
            self._lay_out()

    def _lay_out(self) -> None:
        width = max(8, self.scrollable_content_region.width - 2)
        said = [(finding.severity, _text(finding)) for finding in self._findings]
        nothing = ("waiting", self._waiting) if self._waiting else ("none", "Nothing was found.")
        rows = [
            FindingRow(index if self._findings else -1, severity, words, number == 0)
            for index, (severity, text) in enumerate(said or [nothing])
            for number, words in enumerate(_wrapped(text, width))
        ]
        self.show(rows, None)

    def on_resize(self) -> None:
        """Wrap the words anew."""
        self._lay_out()

    def _paint_row(self, row: FindingRow, width: int) -> list[Cell]:
        sign = _SIGNS[row.severity] if row.first else " "
        look = row.severity if row.severity in ("error", "warning") else "accent"
        gap = " " * max(0, width - 2 - cell_len(row.words))
        return [(f"{sign} ", look), (row.words, "" if row.first else "muted"), (gap, "")]

    def action_move(self, step: int) -> None:
        """Move the highlight by a finding."""
        starts = [n for n, row in enumerate(self.rows) if row.first and row.number >= 0]
        if not starts:
            return
        at = -1 if self.highlighted is None else self.rows[self.highlighted].number
        self.highlighted = starts[max(0, min(at + step, len(starts) - 1))]

    def action_pick(self) -> None:
        """Pick the highlighted finding, or highlight the first."""
        if self.highlighted is None:
            self.action_move(1)
        else:
            super().action_pick()


def _text(finding: Finding) -> str:
    return safe(f"{RULES[finding.code].title}: {finding.message}")


def _wrapped(text: str, width: int) -> list[str]:
    return ["".join(span.text for span in row) for row in flow(words_of(text), width)]
