"""Rows of words that scroll: what they say is made elsewhere, by pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from tokviz.tui.messages import CopyRequested
from tokviz.tui.widgets.flow import Action, Copy, Role, Row, Span
from tokviz.tui.widgets.quiet_scroll import QuietScroll

if TYPE_CHECKING:
    from tokviz.tui.palette import TokenPalette


class RowsView(QuietScroll):
    """Shows rows for its width; words that do something are underlined under the mouse."""

    DEFAULT_CSS = """
    RowsView {
        & > .rows-view--label, & > .rows-view--dim { color: $text-muted; }
        & > .rows-view--heading { text-style: bold; }
        & > .rows-view--made { background: $panel; }
        & > .rows-view--new { background: $panel; text-style: bold; }
        & > .rows-view--link { color: $text-accent; }
        & > .rows-view--pointed { text-style: underline; }
        & > .rows-view--tree { color: $text-disabled; }
        & > .rows-view--warning { color: $text-warning; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows-view--{role}" for role in get_args(Role)} | {
        "rows-view--pointed"
    }

    class Picked(Message):
        """The user clicked a word that does something."""

        def __init__(self, action: Action) -> None:
            """Take what it does."""
            super().__init__()
            self.action = action

    def __init__(self, palette: TokenPalette, *, id: str | None = None) -> None:
        """Begin empty.

        Args:
            palette: How tokens look.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._palette = palette
        self._make: Callable[[int], Sequence[Row]] = lambda width: ()
        self._rows: Sequence[Row] = ()
        self._made_for = -1
        self._pointed: Span | None = None
        self._styles: dict[tuple[Role, int], Style] = {}

    @property
    def rows(self) -> Sequence[Row]:
        """What is shown."""
        return self._rows

    def show(self, make: Callable[[int], Sequence[Row]], *, from_top: bool = False) -> None:
        """Show other rows.

        Args:
            make: Makes them for a width in columns; it is asked again when the width changes.
            from_top: Whether to scroll to the first row.
        """
        self._make = make
        self._lay_out()
        if from_top:
            self.scroll_to(y=0, animate=False)

    def _lay_out(self) -> None:
        self._made_for = self.row_width
        self._rows = self._make(self._made_for) if self._made_for > 0 else ()
        self._pointed = None
        self.set_row_count(len(self._rows))
        self.refresh()

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with other colours."""
        self._palette = palette
        self._forget_styles()

    def _forget_styles(self) -> None:
        self._styles.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Draw everything again when the theme changed."""
        super().notify_style_update()
        self._forget_styles()

    def on_resize(self) -> None:
        """Set the words again for the new width."""
        if self.row_width != self._made_for:
            self._lay_out()

    def on_show(self) -> None:
        """Catch up with what happened while the rows were hidden."""
        self.on_resize()

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        row = self.top_row + y
        base = self._style("text", -1)
        spans = self._rows[row] if row < len(self._rows) else ()
        segments = [Segment(span.text, self._style_of(span)) for span in spans if span.text]
        return Strip(segments).adjust_cell_length(self.row_width, base)

    def _style_of(self, span: Span) -> Style:
        style = self._style(span.role, span.hue)
        if span.action is not None and span is self._pointed:
            style += self.get_component_rich_style("rows-view--pointed", partial=True)
        return style

    def _style(self, role: Role, hue: int) -> Style:
        style = self._styles.get((role, hue))
        if style is None:
            palette = self._palette
            style = self.rich_style + self.get_component_rich_style(
                f"rows-view--{role}", partial=True
            )
            if hue >= 0:
                style += palette.hues[hue % len(palette.hues)]
            if role == "special":
                style += palette.special
            elif role in ("left", "result"):
                style += palette.pin
            elif role == "right":
                style += palette.hover
            self._styles[role, hue] = style
        return style

    # -- the mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Underline what a click would act on."""
        self._point_at(self._span_at(event))

    def on_leave(self) -> None:
        """Underline nothing."""
        self._point_at(None)

    def _point_at(self, span: Span | None) -> None:
        pointed = span if span is not None and span.action is not None else None
        if pointed is not self._pointed:
            self._pointed = pointed
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Copy, or tell what was picked."""
        span = self._span_at(event)
        if span is None or span.action is None:
            return
        event.stop()
        if isinstance(span.action, Copy):
            self.post_message(CopyRequested(span.action.text, span.action.what))
        else:
            self.post_message(self.Picked(span.action))

    def _span_at(self, event: events.MouseEvent) -> Span | None:
        place = event.get_content_offset(self)
        if place is None or not 0 <= self.top_row + place.y < len(self._rows):
            return None
        end = 0
        for span in self._rows[self.top_row + place.y]:
            end += cell_len(span.text)
            if place.x < end:
                return span
        return None
