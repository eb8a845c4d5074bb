"""Show one of several views, with their tabs in the border above.

It differs from Textual's `TabbedContent`: the tabs take no row of their own, each view is created
when it is first shown, several tabs can share a view, and a narrow border keeps the current tab
visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self, TypeVar

from rich.cells import cell_len
from textual.containers import Container
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

T = TypeVar("T")


def neighbour(items: Sequence[T], item: T, by: int = 1) -> T:
    """Give the item so many places further on in a circle; the first one for a stranger.

    >>> neighbour("abc", "c"), neighbour("abc", "a", -1), neighbour("abc", "x")
    ('a', 'c', 'a')
    """
    return items[(items.index(item) + by) % len(items)] if item in items else items[0]


class Tab(NamedTuple):
    """A tab: its title, the screen's action that a click does, whether its view is shown."""

    title: str
    action: str
    is_shown: bool


def border_tabs(tabs: Iterable[tuple[str, str, bool]], frame_width: int) -> Content:
    """Give the tabs of views that take turns in one place, for the border above them.

    Where not all have room, those around the one that is shown stand there, and a click on ‹ or ›
    goes on to the next.

    Args:
        tabs: What `Tab` holds.
        frame_width: The columns of the frame, with its corners; 0 if they are not known yet.
    """
    found = [Tab(*tab) for tab in tabs]
    room = frame_width - _CORNERS if frame_width else _ROOMY
    start = next((at for at, tab in enumerate(found) if tab.is_shown), 0)
    end = start + 1
    while end - start < len(found):
        wider = [(start, end + 1)] * (end < len(found)) + [(start - 1, end)] * (start > 0)
        fitting = [it for it in wider if _width(found, *it) <= room]
        if not fitting:
            break
        start, end = fitting[0]
    parts: list[Content] = []
    for tab in found[start:end]:
        look = "bold $foreground" if tab.is_shown else "$text-muted"
        parts.append(_link(f" {tab.title} ", look, tab.action))
    shown = Content("│").join(parts)
    before = _link("‹", "$text-accent", found[start - 1].action) if start else ""
    after = _link("›", "$text-accent", found[end].action) if end < len(found) else ""
    return Content.assemble(before, shown, after)


_CORNERS, _ROOMY = 6, 1000


def title_around(widget: Widget) -> str:
    """Give the title of the panel that a widget stands in: of several tabs, of the one shown."""
    for around in widget.ancestors_with_self:
        title = (
            Content.from_markup(around.border_title or "") if isinstance(around, Widget) else None
        )
        if title:
            shown = next((span for span in title.spans if "bold" in str(span.style)), None)
            return title.plain[shown.start : shown.end].strip() if shown else title.plain.strip()
    return ""


def _width(tabs: Sequence[Tab], start: int, end: int) -> int:
    titles = sum(cell_len(tab.title) + 3 for tab in tabs[start:end]) - 1
    return titles + (start > 0) + (end < len(tabs))


def _link(text: str, look: str, action: str) -> Content:
    return Content.styled(text, look).stylize(Style.from_meta({"@click": f"screen.{action}"}))


class Turn(NamedTuple):
    """One of the things that take turns.

    Attributes:
        id: Its name.
        title: Its tab.
        action: The screen's action that a click on the tab does.
        make: Makes its widget; called when it is first shown. Several may give the same widget.
    """

    id: str
    title: str
    action: str
    make: Callable[[], Widget]


class Turns(Container):
    """Shows one of several widgets, each of which is made when it is first shown.

    It begins empty, since the first frame need not wait for them: `show` shows one.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        shown: str = "",
        *,
        frame: Widget | None = None,
        id: str | None = None,
    ) -> None:
        """Take what takes turns.

        Args:
            turns: What there is, in the order of the tabs.
            shown: The id of what will be shown first; the first one if there is none of this id.
            frame: In whose border the tabs stand, by default its own.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._turns = {turn.id: turn for turn in turns}
        self.shown = shown if shown in self._turns else turns[0].id
        """The id of what is shown, or will be once something is."""
        self._made: dict[str, Widget] = {}
        self._titles = {turn.id: turn.title for turn in turns}
        self._frame = frame or self
        self._draw_tabs()

    @property
    def current(self) -> Widget | None:
        """What is shown, None before the first time."""
        return self._made.get(self.shown)

    def show(self, turn_id: str) -> None:
        """Show another one; the keyboard goes with it if it was within.

        Before there is anything on the screen it is only noted, for the first time.
        """
        had_focus = self.has_focus_within
        self.shown = turn_id
        if not self.is_attached:
            self._draw_tabs()
            return
        current = self._made.get(turn_id)
        if current is None:
            current = self._made[turn_id] = self._turns[turn_id].make()
            if current.parent is None:
                self.mount(current)
        for widget in self._made.values():
            widget.display = widget is current
        self._draw_tabs()
        if had_focus and current.is_mounted:
            current.focus(scroll_visible=False)
        elif had_focus:
            self.call_after_refresh(current.focus, scroll_visible=False)

    def step(self, by: int) -> str:
        """Show the one so many tabs further on, in a circle; give its id."""
        self.show(neighbour(list(self._turns), self.shown, by))
        return self.shown

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the keyboard to what is shown."""
        if self.current is not None:
            self.current.focus(scroll_visible)
        return self

    def set_title(self, turn_id: str, title: str) -> None:
        """Write something else on a tab; one that says nothing is not drawn."""
        if title != self._titles[turn_id]:
            self._titles[turn_id] = title
            self._draw_tabs()

    def set_count(self, turn_id: str, text: str) -> None:
        """Write how much there is behind a tab, or nothing."""
        self.set_title(turn_id, f"{self._turns[turn_id].title} {text}".rstrip())

    def on_resize(self) -> None:
        """Show the tabs that there is room for."""
        self._draw_tabs()

    def _draw_tabs(self) -> None:
        tabs = (
            (title, self._turns[turn_id].action, turn_id == self.shown)
            for turn_id, title in self._titles.items()
            if title
        )
        self._frame.border_title = border_tabs(tabs, self._frame.outer_size.width)
