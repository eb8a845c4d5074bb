"""Scrolling view of rows of pre-tokens or tokens over the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tokviz.live.document import LiveDocument
from tokviz.tui.messages import RIGHT, WhyWanted
from tokviz.tui.palette import TokenPalette
from tokviz.tui.widgets.splits.gloss import GlossStyles, Spans
from tokviz.tui.widgets.splits.rows import FrameLine, Gloss, Row, frame


@dataclass
class PreTokenClicked(Message):
    """The user clicked a pre-token, to which the editor goes."""

    offset: int
    end: int
    row: Row


class GlossView(Widget, can_focus=True):
    """The gloss from a text row on. It scrolls by text rows."""

    HEARS_RIGHT: ClassVar[bool] = True
    DEFAULT_CSS = """
    GlossView {
        height: 1fr;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Up", show=False),
        Binding("down", "step(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "go(0)", "Start", show=False),
        Binding("end", "end", "End", show=False),
    ]

    def __init__(
        self,
        live: LiveDocument,
        rows: Sequence[Row],
        palette: TokenPalette,
        *,
        id: str | None = None,
    ) -> None:
        """Take the document, the rows and the palette."""
        super().__init__(id=id)
        self._live = live
        self._rows = rows
        self._styles = GlossStyles(palette)
        self._spans = Spans()
        self.top = 0
        """The offset of a character of the first text row in view."""
        self._awaited: int | None = None
        """The character to scroll to when the view has a size."""
        self._starts_within: Callable[[str], Iterable[int]] | None = None
        self._revision = live.revision
        self._gloss: Gloss | None = None
        self._lines: list[FrameLine] | None = None

    # -- called by the panel

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._styles = GlossStyles(palette)
        self._redraw()

    def sync(self) -> None:
        """Follow a change of the text or the pre-tokens; keep the same text in view."""
        change = self._live.changes.since(self._revision)
        self._revision = self._live.revision
        if change is not None and self.top >= change.old_end:
            self.top += change.shift
        elif change is not None:
            self.top = min(self.top, change.new_end)
        self.top = min(self.top, self._live.n_chars)
        self._gloss = None
        self._redraw()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows."""
        self._rows = rows
        self.sync()

    def set_tokens(self, starts_within: Callable[[str], Iterable[int]] | None) -> None:
        """Show the starts of tokens within pre-tokens; None hides them."""
        self._starts_within = starts_within
        self.sync()

    def set_spans(self, spans: Spans) -> None:
        """Mark other tokens."""
        if spans != self._spans:
            self._spans = spans
            self._redraw()

    def show(self, offset: int) -> None:
        """Scroll to a character."""
        offset = max(0, min(offset, self._live.n_chars))
        if not self.size.height:
            self.top = self._awaited = offset
            return
        gloss = self._current_gloss()
        first = self._first
        # The end of the last text row of which all gloss rows are in view.
        whole = (line for line in self._current_lines() if line.row == len(self._rows) - 1)
        last = max((line.place.end for line in whole), default=0)
        if first <= offset < last or offset == last == self._live.n_chars:
            return
        n_above = self._text_rows_in_view() // 2
        self.action_go(gloss.step(offset, -min(n_above, 1) if offset < first else -n_above))

    @property
    def _first(self) -> int:
        """The offset of the first character that is drawn."""
        lines = self._current_lines()
        return lines[0].place.start if lines else self.top

    @property
    def end(self) -> int:
        """The offset after the last character in view."""
        lines = self._current_lines()
        return lines[-1].place.end if lines else 0

    # -- drawing

    def _redraw(self) -> None:
        self._lines = None
        self.refresh()

    def _current_gloss(self) -> Gloss:
        if self._gloss is None:
            width = max(1, self.size.width)
            self._gloss = Gloss(self._live, self._rows, width, self._starts_within)
        return self._gloss

    def _current_lines(self) -> list[FrameLine]:
        if self._lines is None:
            gloss, height = self._current_gloss(), self.size.height
            self._lines = frame(gloss, self.top, height, self._spans, self._styles)
            if self.top and len(self._lines) < height:
                # At the end of the text, fill the view.
                last = gloss.step(max(0, self._live.n_chars - 1), 1 - self._text_rows_in_view())
                if last < self.top:
                    self._lines = frame(gloss, last, height, self._spans, self._styles)
        return self._lines

    def _text_rows_in_view(self) -> int:
        return max(1, self.size.height // self._current_gloss().lines_per_text_row)

    def render_line(self, y: int) -> Strip:
        """Draw a line of the view."""
        lines = self._current_lines()
        strip = lines[y].strip if y < len(lines) else Strip([])
        # If the palette has no colors, the widget's are used.
        filled = strip.adjust_cell_length(self.size.width, self._styles.base)
        return filled.apply_style(self.rich_style)

    def on_resize(self) -> None:
        """Lay out the gloss for the new size."""
        self._gloss = None
        self._redraw()
        if self._awaited is not None and self.size.height:
            above = self._text_rows_in_view() // 2
            self.action_go(self._current_gloss().step(self._awaited, -above))
            self._awaited = None

    def notify_style_update(self) -> None:
        """Redraw with the styles of a new theme."""
        super().notify_style_update()
        self._lines = None

    # -- moving and pointing

    def action_step(self, n_rows: int) -> None:
        """Scroll by text rows."""
        self.action_go(self._current_gloss().step(self._first, n_rows))

    def action_page(self, n_pages: int) -> None:
        """Scroll by pages."""
        self.action_step(n_pages * self._text_rows_in_view())

    def action_go(self, offset: int) -> None:
        """Scroll to a character."""
        self.top = offset
        self._redraw()

    def action_end(self) -> None:
        """Scroll to the end of the text."""
        self.action_go(self._live.n_chars)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down."""
        event.prevent_default()
        event.stop()
        self.action_step(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up."""
        event.prevent_default()
        event.stop()
        self.action_step(-1)

    def on_click(self, event: events.Click) -> None:
        """Post the pre-token that was clicked."""
        lines = self._current_lines()
        if event.y >= len(lines) or lines[event.y].row >= len(self._rows):
            return
        line = lines[event.y]
        pre_token = line.place.pre_token_at(line.row, event.x - self._current_gloss().label_width)
        if pre_token is not None:
            self.post_message(PreTokenClicked(*pre_token, self._rows[line.row]))
            if event.button == RIGHT:
                self.post_message(WhyWanted())
