"""Widgets that take turns in one place, and their tabs in the border above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Self, TypeVar

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


def border_tabs(tabs: Iterable[tuple[str, str, bool]]) -> Content:
    """Give the tabs of views that take turns in one place, for the border above them.

    Args:
        tabs: Of every tab its title, the screen's action that a click does, and whether its view
            is the one that is shown.
    """
    parts: list[Content | str] = []
    for title, action, is_shown in tabs:
        if parts:
            parts.append("│")
        look = "bold $foreground" if is_shown else "$text-muted"
        click = Style.from_meta({"@click": f"screen.{action}"})
        parts.append(Content.styled(f" {title} ", look).stylize(click))
    return Content.assemble(*parts)


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
        self._shown = shown if shown in self._turns else turns[0].id
        self._made: dict[str, Widget] = {}
        self._titles = {turn.id: turn.title for turn in turns}
        self._frame = frame or self
        self._draw_tabs()

    @property
    def shown(self) -> str:
        """The id of what is shown, or will be once something is."""
        return self._shown

    @property
    def current(self) -> Widget | None:
        """What is shown, None before the first time."""
        return self._made.get(self._shown)

    def show(self, turn_id: str) -> None:
        """Show another one; the keyboard goes with it if it was within.

        Before there is anything on the screen it is only noted, for the first time.
        """
        had_focus = self.has_focus_within
        self._shown = turn_id
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
        self.show(neighbour(list(self._turns), self._shown, by))
        return self._shown

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

    def _draw_tabs(self) -> None:
        self._frame.border_title = border_tabs(
            (title, self._turns[turn_id].action, turn_id == self._shown)
            for turn_id, title in self._titles.items()
            if title
        )
