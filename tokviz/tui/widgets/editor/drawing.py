"""How the editor's rows get to the terminal: drawn once a frame, sent only if they changed.

Textual restyles and sends a whole widget when its text changes. `ChangedRows` compares strips by
identity: the editor draws a row that looks the same as the very same strip.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable

from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import TextArea

from tokviz.tui.widgets.editor.painting import Marks
from tokviz.tui.widgets.editor.row_painter import RowPainter
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument

_MOST_TRIES = 8
"""How often a frame is drawn once more because lines were laid out on the way."""


class ChangedRows:
    """Remembers the strip of every row that somebody took."""

    def __init__(self) -> None:
        """Begin with nothing taken."""
        self._taken: dict[int, Strip] = {}
        self._surroundings: object = None

    def begins(self, surroundings: object) -> bool:
        """Forget the rows if something around them changed, such as the size or a border.

        Returns:
            Whether that was so.
        """
        is_new = surroundings != self._surroundings
        if is_new:
            self._taken.clear()
            self._surroundings = surroundings
        return is_new

    def take(self, rows: Iterable[Strip]) -> list[int]:
        """Return the numbers of the rows that changed, and count them as taken."""
        changed = self._changed(rows)
        self._taken.update(changed)
        return list(changed)

    def doubt(self, rows: Iterable[Strip]) -> None:
        """Forget rows that changed since they were taken: somebody else may have drawn them."""
        for row in self._changed(rows):
            self._taken.pop(row, None)

    def _changed(self, rows: Iterable[Strip]) -> dict[int, Strip]:
        known = self._taken.get
        return {row: strip for row, strip in enumerate(rows) if known(row) is not strip}


class DrawnRows(TextArea):
    """A text area whose rows a `RowPainter` draws."""

    wrapped_document: ExactWrappedDocument
    _painter: RowPainter

    def __init__(self, *, soft_wrap: bool, id: str | None) -> None:
        """Create the text area, empty and without what would cost time at every key."""
        self._frame: list[Strip] | None = None
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
        rows = self._rows()
        return rows[y] if y < len(rows) else Strip.blank(self.size.width)

    def _rows(self) -> list[Strip]:
        """Draw all rows of the view; what lays out lines on the way has them drawn once more."""
        rows: list[Strip] = []
        for _ in range(_MOST_TRIES):
            if self._frame is not None:
                return self._frame
            self._frame = []
            marks, (x, top), (width, height) = self._marks(), self.scroll_offset, self.size
            wrapped, draw = self.wrapped_document, self._painter.strip
            rows = [draw(wrapped, row, x, width, marks) for row in range(top, top + height)]
            if rows and self.placeholder and not self._painter.n_chars:
                rows[0] = self._painter.hint(str(self.placeholder), width, marks)
            if self._frame is not None:
                self._frame = rows
        return rows

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw a part of the widget, without the text area's theme, from what did not change."""
        rows = self._rows()
        if self._styled_rows.begins(self._surroundings()):
            self._styles_cache.clear()
        changed = self._styled_rows.take(rows)
        if changed:  # no regions would mean everything
            self._styles_cache.set_dirty(*self._row_regions(changed))
        self._sent_rows.doubt(rows)
        return super(TextArea, self).render_lines(crop)

    def _set_dirty(self, *regions: Region) -> None:
        """Plan a repaint. Which rows it concerns is found out when they are drawn."""
        self._frame = None
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
        changed = self._sent_rows.take(self._rows())
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
