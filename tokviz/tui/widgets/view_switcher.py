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
    """Return the item `by` places further, wrapping around, or the first one if it is unknown.

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
    """Return the tabs of views that share a place, for the border above them.

    If not all fit, the ones around the current tab are shown; a click on ‹ or › goes to the next
    one.

    Args:
        tabs: The tabs.
        frame_width: The columns of the frame with its corners; 0 if unknown.
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
    """Return the title of the panel around a widget; of several tabs, the current one."""
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


class SwitcherView(NamedTuple):
    """A view of a switcher.

    Attributes:
        id: Its name.
        title: Title of its tab.
        action: The screen's action for a click on the tab.
        make: Creates its widget on first use. Several may return the same widget.
    """

    id: str
    title: str
    action: str
    make: Callable[[], Widget]


class ViewSwitcher(Container):
    """Shows one of several widgets, each of which is created on first use.

    It starts empty, so that the first frame does not wait for them; `show` shows one.
    """

    def __init__(
        self,
        turns: Sequence[SwitcherView],
        shown: str = "",
        *,
        frame: Widget | None = None,
        id: str | None = None,
    ) -> None:
        """Create a switcher.

        Args:
            turns: The views, in the order of the tabs.
            shown: The id of the first view to show; the first one if unknown.
            frame: The widget whose border shows the tabs, by default this one.
            id: The widget's id.
        """
        super().__init__(id=id)
        self._turns = {turn.id: turn for turn in turns}
        self.shown = shown if shown in self._turns else turns[0].id
        """The id of the current view, or of the first one to show."""
        self._made: dict[str, Widget] = {}
        self._titles = {turn.id: turn.title for turn in turns}
        self._frame = frame or self
        self._draw_tabs()

    @property
    def current(self) -> Widget | None:
        """The current widget, None before the first one is shown."""
        return self._made.get(self.shown)

    def show(self, turn_id: str) -> None:
        """Show another view; it takes over the focus from the previous one.

        Before the first view is shown, only its id is stored.
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
        """Show the view a number of tabs further, wrapping around; return its id."""
        self.show(neighbour(list(self._turns), self.shown, by))
        return self.shown

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the current view."""
        if self.current is not None:
            self.current.focus(scroll_visible)
        return self

    def set_title(self, turn_id: str, title: str) -> None:
        """Change the title of a tab; an empty one is not drawn."""
        if title != self._titles[turn_id]:
            self._titles[turn_id] = title
            self._draw_tabs()

    def set_count(self, turn_id: str, text: str) -> None:
        """Show a count in a tab, or nothing."""
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
