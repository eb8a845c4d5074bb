"""How the editor's rows get to the terminal: drawn once a frame, sent only if they changed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable

from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widgets import TextArea

from tokviz.tui.widgets.editor.frame import ChangedRows
from tokviz.tui.widgets.editor.painting import Marks
from tokviz.tui.widgets.editor.row_painter import RowPainter
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument


class DrawnRows(TextArea):
    """A text area whose rows a `RowPainter` draws."""

    wrapped_document: ExactWrappedDocument
    _painter: RowPainter

    def __init__(self, *, soft_wrap: bool, id: str | None) -> None:
        """Create the text area, empty and without what would cost time at every key."""
        self._frame: dict[int, Strip] = {}
        self._view: tuple[Marks, Offset, int] | None = None
        self._sent_rows = ChangedRows()
        self._styled_rows = ChangedRows()
        super().__init__(soft_wrap=soft_wrap, id=id, highlight_cursor_line=False)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.match_cursor_bracket, False)

    @abstractmethod
    def _marks(self) -> Marks:
        """Return what is drawn over the tokens now."""

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        strip = self._frame.get(y)
        if strip is None:
            strip = self._frame[y] = self._draw(y)
        return strip

    def _draw(self, y: int) -> Strip:
        if self._view is None:
            self._view = self._marks(), self.scroll_offset, self.size.width
        marks, (x, top), width = self._view
        if y == 0 and self.placeholder and not self._painter.n_chars:
            return self._painter.hint(str(self.placeholder), width, marks)
        return self._painter.strip(self.wrapped_document, top + y, x, width, marks)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw a part of the widget, without the text area's theme, from what did not change."""
        rows = range(self.size.height)
        if self._styled_rows.begins(self._surroundings()):
            self._styles_cache.clear()
        changed = self._styled_rows.take(rows, self.render_line)
        if changed:  # no regions would mean everything
            self._styles_cache.set_dirty(*self._row_regions(changed))
        self._sent_rows.doubt(rows, self.render_line)
        return super(TextArea, self).render_lines(crop)

    def _set_dirty(self, *regions: Region) -> None:
        """Plan a repaint. Which rows it concerns is found out when they are drawn."""
        self._frame.clear()
        self._view = None
        if regions:
            super()._set_dirty(*regions)
        else:
            everything = {self.outer_size.region} if self.outer_size else set()
            self._dirty_regions = everything
            self._repaint_regions = set(everything)

    def _exchange_repaint_regions(self) -> Collection[Region]:
        """Name only the rows that look different from what was sent last."""
        regions = super()._exchange_repaint_regions()
        if not regions:
            return regions
        is_new = self._sent_rows.begins(self._surroundings())
        changed = self._sent_rows.take(range(self.size.height), self.render_line)
        return regions if is_new else self._row_regions(changed)

    def _row_regions(self, rows: Iterable[int]) -> list[Region]:
        """Return where rows of the view are in the widget, without the scroll bar beside them."""
        x, y = self.content_offset
        width = self.scrollable_content_region.width
        return [Region(x, y + row, width, 1) for row in rows]

    def _surroundings(self) -> object:
        """Return a value that changes with everything that is drawn around the rows."""
        title, subtitle = self._border_title, self._border_subtitle
        around = (self.background_colors, self.styles._cache_key, title, subtitle)
        return self.outer_size, self.size, around

    def notify_style_update(self) -> None:
        """Draw over the new colours."""
        super().notify_style_update()
        self._painter.set_ground(self.rich_style)
