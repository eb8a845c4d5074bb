"""The list of what may be wrong with a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from tokviz.chat.lint import RULES, Finding
from tokviz.glyphs import safe
from tokviz.tui.widgets.flow import flow, words_of
from tokviz.tui.widgets.lists import Cell, RowList

_SIGNS = {"error": "✗", "warning": "!", "note": "i"}


class FindingRow:
    """A row of the list: a finding takes as many as its words need."""

    __slots__ = ("first", "index", "sign", "text")

    def __init__(self, index: int, sign: str, text: str, first: bool) -> None:
        """Take the finding's number, its sign, the words of this row, and whether it begins it."""
        self.index, self.sign, self.text, self.first = index, sign, text, first


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
    ]

    class GoTo(Message):
        """The user wants to go to where a finding is."""

        def __init__(self, index: int) -> None:
            """Take the number of the finding."""
            super().__init__()
            self.index = index

    def __init__(self, *, id: str) -> None:
        """Begin empty."""
        super().__init__(self._paint_row, id=id)
        self._findings: Sequence[Finding] = ()
        self._said = ""

    def show_findings(self, findings: Sequence[Finding], otherwise: str) -> None:
        """Show findings, or what there is to say without any."""
        self._findings, self._said = findings, otherwise
        self._lay_out()

    def _lay_out(self) -> None:
        width = max(8, self.scrollable_content_region.width - 2)
        rows = [
            FindingRow(index, finding.severity if number == 0 else "", words, number == 0)
            for index, finding in enumerate(self._findings)
            for number, words in enumerate(_wrapped(_text(finding), width))
        ]
        if not rows:
            rows = [
                FindingRow(-1, "none" if number == 0 else "", words, number == 0)
                for number, words in enumerate(_wrapped(self._said, width))
            ]
        self.show(rows, None)

    def on_resize(self) -> None:
        """Wrap the words anew."""
        self._lay_out()

    def _paint_row(self, row: FindingRow, width: int) -> list[Cell]:
        sign = {"none": "✓"}.get(row.sign) or _SIGNS.get(row.sign, " ")
        look = row.sign if row.sign in ("error", "warning") else "accent"
        gap = " " * max(0, width - 2 - cell_len(row.text))
        return [(f"{sign} ", look), (row.text, "" if row.first else "muted"), (gap, "")]

    def action_move(self, step: int) -> None:
        """Move the highlight by a finding."""
        starts = [n for n, row in enumerate(self.rows) if row.first and row.index >= 0]
        if not starts:
            return
        at = -1 if self.highlighted is None else self.rows[self.highlighted].index
        self.highlighted = starts[max(0, min(at + step, len(starts) - 1))]

    def action_pick(self) -> None:
        """Go to where the highlighted finding is."""
        if self.highlighted is None:
            self.action_move(1)
        elif self.rows[self.highlighted].index >= 0:
            self.post_message(self.GoTo(self.rows[self.highlighted].index))

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        """Go to where the clicked finding is."""
        event.stop()
        self.action_pick()


def _text(finding: Finding) -> str:
    return safe(f"{RULES[finding.code].title}: {finding.message}")


def _wrapped(text: str, width: int) -> list[str]:
    return ["".join(span.text for span in row) for row in flow(words_of(text), width)]
