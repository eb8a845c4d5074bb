"""Rows of words, some of which do something when they are clicked or chosen by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.strip import Strip

from tokviz.tui.messages import CopyRequested
from tokviz.tui.widgets.flow import Action, Copy, Role, Row, Run, Span
from tokviz.tui.widgets.quiet_scroll import QuietScroll


class _Link(NamedTuple):
    """The words of a row that belong to one action; `row` and the columns they take."""

    row: int
    start: int
    stop: int
    action: Action


class LinkRows(QuietScroll):
    """Shows rows. The arrow keys go from link to link, Enter and a click do what it says."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"link-rows--{role}" for role in get_args(Role)} | {
        "link-rows--pointed",
        "link-rows--chosen",
    }
    DEFAULT_CSS = """
    LinkRows {
        padding: 0 1;
        background: transparent;
        & > .link-rows--label, & > .link-rows--dim { color: $text-muted; }
        & > .link-rows--heading { text-style: bold; }
        & > .link-rows--made { background: $panel; }
        & > .link-rows--link { color: $text-accent; }
        & > .link-rows--bar { color: $text-accent; }
        & > .link-rows--tree { color: $text-disabled; }
        & > .link-rows--warning { color: $text-warning; }
        & > .link-rows--good { color: $text-success; }
        & > .link-rows--special { text-style: bold italic; }
        & > .link-rows--new { text-style: bold; }
        & > .link-rows--pointed { text-style: underline; }
        & > .link-rows--chosen {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
        &:nocolor > .link-rows--chosen { text-style: reverse; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step_row(-1)", show=False),
        Binding("down", "step_row(1)", show=False),
        Binding("left", "step(-1)", show=False),
        Binding("right", "step(1)", show=False),
        Binding("home", "edge(0)", show=False),
        Binding("end", "edge(-1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("enter,space", "choose", show=False),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        """Begin without rows."""
        super().__init__(id=id, classes=classes)
        self.rows: Sequence[Row] = ()
        self._links: list[_Link] = []
        self._chosen: int | None = None
        self._pointed: _Link | None = None
        self._styles: dict[Role, Style] = {}

    def show(self, rows: Sequence[Row], *, anew: bool = False) -> None:
        """Show other rows; `anew` for other things, from the top and with no link chosen."""
        self.rows = rows
        self._links = list(_links_of(rows))
        self._pointed = None
        if anew or self._chosen is None or self._chosen >= len(self._links):
            self._chosen = 0 if self.has_focus and self._links else None
        self.set_row_count(len(rows))
        if anew:
            self.scroll_to(y=0, animate=False)
        self.refresh()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        """Draw one row of the view."""
        number = self.top_row + y
        base = self.rich_style
        row = self.rows[number] if number < len(self.rows) else ()
        segments: list[Segment] = []
        x = 0
        for span in row:
            style = base + self._style(span.role)
            for link, name in self._marked():
                if link.row == number and link.start <= x < link.stop:
                    style += self.get_component_rich_style(f"link-rows--{name}", partial=True)
            segments.append(Segment(span.text, style))
            x += cell_len(span.text)
        return Strip(segments).adjust_cell_length(self.row_width, base)

    def _marked(self) -> list[tuple[_Link, str]]:
        marked = []
        if self._pointed is not None:
            marked.append((self._pointed, "pointed"))
        if self._chosen is not None and self.has_focus:
            marked.append((self._links[self._chosen], "chosen"))
        return marked

    def _style(self, role: Role) -> Style:
        style = self._styles.get(role)
        if style is None:
            style = self.get_component_rich_style(f"link-rows--{role}", partial=True)
            self._styles[role] = style
        return style

    def notify_style_update(self) -> None:
        """Draw everything again when the theme changed."""
        super().notify_style_update()
        self._styles.clear()
        self.refresh()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Show the chosen link while the keyboard is here."""
        super().watch_has_focus(_has_focus)
        if _has_focus and self._chosen is None and self._links:
            top = self.top_row
            self._chosen = next((n for n, link in enumerate(self._links) if link.row >= top), 0)
        self.refresh()

    # -- keys

    def action_step(self, step: int) -> None:
        """Choose the next or the previous link."""
        if self._chosen is not None:
            self._choose(self._chosen + step)

    def action_step_row(self, step: int) -> None:
        """Choose the nearest link of the next or the previous row that has one; else scroll."""
        if self._chosen is None:
            self.scroll_relative(y=step, animate=False)
            return
        here = self._links[self._chosen]
        beyond = [link for link in self._links if (link.row - here.row) * step > 0]
        if not beyond:
            self.scroll_relative(y=step, animate=False)
            return
        row = min((link.row for link in beyond), key=lambda row: abs(row - here.row))
        nearest = min(
            (number for number, link in enumerate(self._links) if link.row == row),
            key=lambda number: abs(self._links[number].start - here.start),
        )
        self._choose(nearest)

    def action_page(self, step: int) -> None:
        """Go on by a page."""
        rows = step * max(1, self.size.height - 1)
        if self._chosen is None:
            self.scroll_relative(y=rows, animate=False)
            return
        wanted = self._links[self._chosen].row + rows
        numbers = range(len(self._links))
        self._choose(min(numbers, key=lambda number: abs(self._links[number].row - wanted)))
        if step > 0 and self._chosen == len(self._links) - 1:
            self.scroll_end(animate=False)
        if step < 0 and self._chosen == 0:
            self.scroll_home(animate=False)

    def action_edge(self, number: int) -> None:
        """Go to the first or the last link."""
        self._choose(number % len(self._links) if self._links else 0)
        if number:
            self.scroll_end(animate=False)
        else:
            self.scroll_home(animate=False)

    def _choose(self, number: int) -> None:
        if self._links:
            self._chosen = min(max(number, 0), len(self._links) - 1)
            self.show_row(self._links[self._chosen].row)
            self.refresh()

    async def action_choose(self) -> None:
        """Do what the chosen link says."""
        if self._chosen is not None:
            await self._do(self._links[self._chosen].action)

    # -- mouse

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Underline what a click would act on."""
        self._point_at(self._link_at(event))

    def on_leave(self) -> None:
        """Underline nothing."""
        self._point_at(None)

    def _point_at(self, link: _Link | None) -> None:
        if link != self._pointed:
            self._pointed = link
            self.refresh()

    async def on_click(self, event: events.Click) -> None:
        """Do what the link under the mouse says."""
        link = self._link_at(event)
        if link is not None:
            event.stop()
            self._chosen = self._links.index(link)
            await self._do(link.action)

    def _link_at(self, event: events.MouseEvent) -> _Link | None:
        place = event.get_content_offset(self)
        if place is None:
            return None
        row = self.top_row + place.y
        for link in self._links:
            if link.row == row and link.start <= place.x < link.stop:
                return link
        return None

    async def _do(self, action: Action) -> None:
        match action:
            case Copy(text, what):
                self.post_message(CopyRequested(text, what))
            case Run(name):
                await self.run_action(name)


def _links_of(rows: Sequence[Row]) -> list[_Link]:
    """Find the links of rows; words side by side with the same action are one."""
    links: list[_Link] = []
    for number, row in enumerate(rows):
        x = 0
        before: Span | None = None
        for span in row:
            stop = x + cell_len(span.text)
            if span.action is not None and before is not None and before.action == span.action:
                links[-1] = links[-1]._replace(stop=stop)
            elif span.action is not None:
                links.append(_Link(number, x, stop, span.action))
            if span.action is not None or span.text != " ":
                before = span
            x = stop
    return links
