"""What dialogs with a list share: the keys that move its highlight, wherever the keyboard is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from tokviz.glyphs import safe
from tokviz.tui.dialogs.base import Dialog, Hint, field_row, rule
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.lists import MOVES, Cell, RowList

ResultT = TypeVar("ResultT")
RowT = TypeVar("RowT")


class About(Static):
    """What there is to say about the highlighted row, as far as there are rows for it."""

    _text = ""

    def tell(self, text: str) -> None:
        """Say something else."""
        self._text = safe(text)
        self.on_resize()

    def on_resize(self) -> None:
        """Show the words that fit; an ellipsis stands for the others."""
        width, height = self.size
        rows = [row.plain for row in Content(self._text).wrap(width)] if width else []
        if len(rows) > height > 0:
            rows[height - 1 :] = [fit(" ".join(rows[height - 1 :]), width)]
        self.update(Content("\n".join(rows)))


class ListDialog(Dialog[ResultT], Generic[ResultT, RowT]):
    """A dialog about the rows of one list, which a subclass yields somewhere in its body."""

    DEFAULT_CSS = """
    ListDialog {
        #about { color: $text-muted; }
        &.-short #about { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    nothing = ""
    """What stands in the place of the rows where nothing is found."""

    def __init__(
        self,
        paint: Callable[[RowT, int], Sequence[Cell]],
        id: str,
        *,
        classes: str | None = None,
    ) -> None:
        """Take the function that draws a row, and the id of the list."""
        super().__init__(classes=classes)
        self.rows: RowList[RowT] = RowList(paint, id=id)
        self.rows.nothing = self.nothing

    def compose_search(self, field: Field) -> ComposeResult:
        """Yield the list between two rules, below a field that searches it and what is wrong."""
        yield field_row(field)
        yield Static(classes="error")
        yield rule()
        yield self.rows
        yield rule(id="below")

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [*super().hints(), ("↑↓", "move", "")]

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        self.rows.move(step)

    def action_page(self, step: int) -> None:
        """Move the highlight by a page."""
        self.action_move(step * self.rows.page)
