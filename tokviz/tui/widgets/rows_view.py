"""Scrolling rows of spans, which pure functions elsewhere create."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, get_args

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from tokviz.guide.glossary import words_in
from tokviz.tui.messages import RIGHT, CopyRequested, WhyWanted
from tokviz.tui.widgets.line_scroll_view import LineScrollView
from tokviz.tui.widgets.spans import TARGET, Action, Copy, GoTo, Role, Row, RunAction, ToToken

if TYPE_CHECKING:
    from tokviz.tui.palette import TokenPalette


_WORDS = ("text", "label", "heading", "dim", "warning", "good")
"""Roles of words; the others are tokens and links."""
_TOKENS = ("token", "special", "made", "new", "left", "right", "result")
"""Roles of tokens and parts of tokens."""


class Link(NamedTuple):
    """Neighboring spans of a row that have the same action, and their columns."""

    row: int
    start: int
    stop: int
    action: Action


class RowsView(LineScrollView):
    """Rows made for the width of the view. Links are underlined under the mouse."""

    PREFIX = "rows-view"
    HEARS_RIGHT: ClassVar[bool] = True
    DEFAULT_CSS = """
    RowsView {
        & > .rows-view--label, & > .rows-view--dim { color: $text-muted; }
        & > .rows-view--heading { text-style: bold; }
        & > .rows-view--made { background: $panel; }
        & > .rows-view--new { background: $panel; text-style: bold; }
        & > .rows-view--special { text-style: bold italic; }
        & > .rows-view--link, & > .rows-view--bar { color: $text-accent; }
        & > .rows-view--tree { color: $text-disabled; }
        & > .rows-view--warning { color: $text-warning; }
        & > .rows-view--error { color: $text-error; text-style: bold; }
        & > .rows-view--good { color: $text-success; }
        & > .rows-view--pointed, &:nocolor > .rows-view--link { text-style: underline; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows-view--{role}" for role in get_args(Role)} | {
        "rows-view--pointed"
    }

    answers_why = True
    """Whether the screen's *Why?* explains the tokens here."""

    @dataclass
    class Picked(Message):
        """The user chose a link that the screen handles."""

        action: Action

    def __init__(self, palette: TokenPalette | None = None, *, id: str | None = None) -> None:
        """Create an empty view.

        Args:
            palette: The styles of tokens; not needed for rows without tokens.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._palette = palette
        self._make: Callable[[int], Sequence[Row]] = lambda width: ()
        self.rows: Sequence[Row] = ()
        """The rows shown."""
        self._made_for = -1
        self._pointed: Link | None = None

    def show(self, make: Callable[[int], Sequence[Row]], *, from_top: bool = False) -> None:
        """Show other rows.

        Args:
            make: Returns the rows for a width in columns; called again when the width changes.
            from_top: Whether to scroll to the first row.
        """
        self._make = make
        self.lay_out()
        if from_top:
            self.scroll_to(y=0, animate=False)

    def lay_out(self) -> None:
        """Make the rows again."""
        self._made_for = self.row_width if self.size else 0
        if self._made_for <= 0:
            return
        self.hover_at(None)
        previous, self.rows = self.rows, self._make(self._made_for)
        self.set_row_count(len(self.rows))
        # Under a dialog, a refresh of the same rows would draw the whole screen.
        if self.rows != previous:
            self.refresh()

    def set_palette(self, palette: TokenPalette) -> None:
        """Draw with another palette."""
        self._palette = palette
        self.refresh()

    def on_resize(self) -> None:
        """Make the rows again for the new width."""
        if self.row_width != self._made_for:
            self.lay_out()

    def on_show(self) -> None:
        """Catch up with changes that happened while the rows were hidden."""
        self.lay_out()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        """Draw a row of the view."""
        number = self.top_row + y
        segments: list[Segment] = []
        x = 0
        for span in self.rows[number] if number < len(self.rows) else ():
            style = self._style(span.role, span.hue)
            if span.action is not None:
                style += TARGET
            for link, name in self._marked():
                if link is not None and link.row == number and link.start <= x < link.stop:
                    style += self.role_styles[name]
            segments.append(Segment(span.text, style))
            x += cell_len(span.text)
        return Strip(segments).adjust_cell_length(self.row_width, self._style("text", -1))

    def _marked(self) -> list[tuple[Link | None, str]]:
        return [(self._pointed, "pointed")]

    @property
    def base_style(self) -> Style:
        """The style below every row."""
        return self.role_styles.base

    def _style(self, role: Role, hue: int) -> Style:
        style = self.base_style + self.role_styles[role]
        palette = self._palette
        if palette is not None:
            if hue >= 0:
                style += palette.hues[hue % len(palette.hues)]
            if role == "special":
                style += palette.special
            elif role in ("left", "result"):
                style += palette.pin
            elif role == "right":
                style += palette.hover
        return style

    # -- the mouse

    def hover_at(self, place: Offset | None) -> None:
        """Underline the link under the mouse."""
        link = self._link_at(place)
        if link != self._pointed:
            self._pointed = link
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Follow the link under the mouse; a right click requests an explanation of a token."""
        place = self.place_at(event)
        link = self._link_at(place)
        action = None if link is None else link.action
        if event.button != RIGHT:
            if action is not None:
                event.stop()
                self.follow(action)
        elif self.answers_why and isinstance(action, GoTo | ToToken):
            self.follow(action)
            self.post_message(WhyWanted())
        elif self.answers_why and place is not None and self._role_at(place) in _TOKENS:
            self.post_message(WhyWanted())

    def follow(self, action: Action) -> None:
        """Copy a text, run an action, or post `Picked`."""
        match action:
            case Copy(text, what):
                self.post_message(CopyRequested(text, what))
            case RunAction(call):
                self.call_later(self.app.run_action, call, self.screen)
            case _:
                self.post_message(self.Picked(action))

    def _link_at(self, place: Offset | None) -> Link | None:
        if place is None:
            return None
        links = links_of(place.y, self.rows[place.y])
        found = (link for link in links if link.start <= place.x < link.stop)
        return next(found, None) or self._word_at(place)

    def _role_at(self, place: Offset) -> Role | None:
        x = 0
        for span in self.rows[place.y]:
            x += cell_len(span.text)
            if place.x < x:
                return span.role
        return None

    def _word_at(self, place: Offset) -> Link | None:
        """Return a link to the glossary's entry for the word at a position, None for tokens."""
        text = "".join(
            span.text if span.role in _WORDS and not span.action else " " * len(span.text)
            for span in self.rows[place.y]
        )
        for first, last, name in words_in(text):
            start, stop = cell_len(text[:first]), cell_len(text[:last])
            if start <= place.x < stop:
                return Link(place.y, start, stop, RunAction(f"app.define({name!r})"))
        return None


def links_of(number: int, row: Row) -> Iterator[Link]:
    """Yield the links of a row; neighboring spans with the same action are one link."""
    link: Link | None = None
    x = 0
    for span in row:
        stop = x + cell_len(span.text)
        if span.action is not None:
            if link is not None and link.action == span.action:
                link = link._replace(stop=stop)
            else:
                if link is not None:
                    yield link
                link = Link(number, x, stop, span.action)
        elif link is not None and span.text != " ":
            yield link
            link = None
        x = stop
    if link is not None:
        yield link


def _same_link(before: Sequence[Link], chosen: int, links: Sequence[Link]) -> int:
    """Find a link after the rows changed; return its old number if it is gone."""

    def alike(among: Sequence[Link]) -> list[int]:
        action = before[chosen].action
        return [
            number
            for number, link in enumerate(among)
            if type(link.action) is type(action) and link.action == action
        ]

    places = alike(links)
    which = alike(before).index(chosen)
    return places[min(which, len(places) - 1)] if places else chosen


class LinkRows(RowsView):
    """Rows with keyboard support: the arrow keys go from link to link, Enter follows one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows-view--chosen"}
    DEFAULT_CSS = """
    LinkRows {
        padding: 0 1;
        background: transparent;
        & > .rows-view--chosen {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: bold;
        }
        &:nocolor > .rows-view--chosen { text-style: reverse; }
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
        Binding("enter", "choose", "follow"),
        Binding("space", "choose", show=False),
    ]

    _links: Sequence[Link] = ()
    _chosen: int | None = None

    def show(self, make: Callable[[int], Sequence[Row]], *, from_top: bool = False) -> None:
        """Show other rows; with `from_top`, no link is chosen."""
        if from_top:
            self._chosen = None
        super().show(make, from_top=from_top)

    def lay_out(self) -> None:
        """Make the rows again, and find their links."""
        super().lay_out()
        rows, before = enumerate(self.rows), self._links
        self._links = [link for number, row in rows for link in links_of(number, row)]
        if self._chosen is not None:
            self._chosen = _same_link(before, self._chosen, self._links)
        if self._chosen is None or self._chosen >= len(self._links):
            self._chosen = 0 if self.has_focus and self._links else None
        self.refresh()

    def _marked(self) -> list[tuple[Link | None, str]]:
        marked = super()._marked()
        if self._chosen is not None and self.has_focus:
            marked.append((self._links[self._chosen], "chosen"))
        return marked

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Show the chosen link while the view has the focus."""
        super().watch_has_focus(_has_focus)
        if _has_focus and self._chosen is None and self._links:
            top = self.top_row
            self._chosen = next((n for n, link in enumerate(self._links) if link.row >= top), 0)
        self.refresh()

    def action_step(self, step: int) -> None:
        """Choose the next or the previous link."""
        if self._chosen is not None:
            self._choose(self._chosen + step)

    def action_step_row(self, step: int) -> None:
        """Choose the nearest other link in a row below or above; scroll if there is none."""
        here = None if self._chosen is None else self._links[self._chosen]
        beyond = [
            link
            for link in self._links
            if here and (link.row - here.row) * step > 0 and link.action != here.action
        ]
        if here is None or not beyond:
            self.scroll_relative(y=step, animate=False)
            return
        row = min((link.row for link in beyond), key=lambda row: abs(row - here.row))
        nearest = min(
            (number for number, link in enumerate(self._links) if link.row == row),
            key=lambda number: abs(self._links[number].start - here.start),
        )
        self._choose(nearest)

    def action_page(self, step: int) -> None:
        """Move by a page."""
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

    def action_choose(self) -> None:
        """Follow the chosen link."""
        if self._chosen is not None:
            self.follow(self._links[self._chosen].action)

    def on_click(self, event: events.Click) -> None:
        """Choose the link under the mouse, which `RowsView.on_click` follows."""
        link = self._link_at(self.place_at(event))
        if link in self._links:
            self._chosen = self._links.index(link)
