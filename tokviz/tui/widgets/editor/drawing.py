"""A text area whose rows a `RowPainter` draws."""

from __future__ import annotations

from abc import abstractmethod

from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import TextArea

from tokviz.tui.textual_private.changed_rows import ChangedRows
from tokviz.tui.widgets.editor.painting import Marks
from tokviz.tui.widgets.editor.row_painter import RowPainter
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument


class DrawnRows(ChangedRows, TextArea):
    """A text area whose rows a `RowPainter` draws."""

    wrapped_document: ExactWrappedDocument
    _painter: RowPainter

    def __init__(self, *, soft_wrap: bool, id: str | None) -> None:
        """Create an empty text area that does not blink or match brackets."""
        super().__init__(soft_wrap=soft_wrap, id=id, highlight_cursor_line=False)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.match_cursor_bracket, False)

    @abstractmethod
    def _marks(self) -> Marks:
        """Return the marks to draw over the tokens."""

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        marks, (x, top), width = self._marks(), self.scroll_offset, self.size.width
        if not y and self.placeholder and not self._painter.n_chars:
            return self._painter.hint(str(self.placeholder), width, marks)
        return self._painter.strip(self.wrapped_document, top + y, x, width, marks)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows without the text area's theme, which the painter replaces."""
        self.forget_outdated_rows(crop)
        return super(TextArea, self).render_lines(crop)

    def notify_style_update(self) -> None:
        """Draw over the new colors."""
        super().notify_style_update()
        self._painter.set_ground(self.rich_style)
