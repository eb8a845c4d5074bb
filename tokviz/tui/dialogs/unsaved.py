"""List of unsaved work with its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tokviz.text.bytetext import from_bytes
from tokviz.tui.dialogs.base import About, Hint, ListDialog, rule
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.recovery_journal import RecoverableText

_MOST_ROWS = 12

Row = tuple[str, RecoverableText]


class UnsavedDialog(ListDialog[tuple[RecoverableText, bool], Row]):
    """Dialog whose result is an entry, and whether to restore or discard it."""

    DEFAULT_CSS = """
    UnsavedDialog #about { height: 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "restore", show=False),
        Binding("d,delete", "discard", show=False),
    ]
    dialog_title = "Unsaved work"

    def __init__(self, offered: Sequence[Row]) -> None:
        """Create the dialog with the entries and their titles."""
        super().__init__(self._paint, "unsaved")
        self._offered = offered

    def compose_body(self) -> ComposeResult:
        """Yield the list and the source of the highlighted entry."""
        yield self.rows
        yield About(id="about")
        yield rule()

    def hints(self) -> Sequence[Hint]:
        """Name the answers."""
        keys: list[Hint] = [
            ("Enter", "restore", "restore"),
            ("D", "discard", "discard"),
            ("Esc", "later", "cancel"),
        ]
        return [*keys, *super().hints()[2:]]

    def on_mount(self) -> None:
        """Show all of them."""
        self.rows.show(self._offered, 0)
        self.rows.styles.height = min(len(self._offered), _MOST_ROWS)
        self.rows.focus()

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        if self.rows.row is not None:
            leftover = self.rows.row[1]
            about = leftover.damage or f"{leftover.source or 'It has no file yet.'}"
            if leftover.beginning:
                about += f" It begins: {from_bytes(leftover.beginning)}"
            self.query_one(About).tell(about)

    def _paint(self, row: Row, width: int) -> list[Span]:
        return [Span(fit(row[0], width), "heading" if row[1].is_readable else "dim")]

    def _answer(self, is_wanted: bool) -> None:
        if self.rows.row is not None:
            self.dismiss((self.rows.row[1], is_wanted))

    @on(RowList.Picked)
    def action_restore(self) -> None:
        """End with the highlighted one, to be restored."""
        self._answer(True)

    def action_discard(self) -> None:
        """End with the highlighted one, to be discarded."""
        self._answer(False)
