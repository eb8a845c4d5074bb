from __future__ import annotations

from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Input, Static

from tokviz.tui.widgets.view_switcher import SwitcherView, ViewSwitcher, border_tabs, neighbour


class TurnsApp(App[None]):
    def __init__(self, shown: str = "", frame: Widget | None = None) -> None:
        super().__init__()
        self.asked_for: list[str] = []
        self.other = Input(id="other")
        turns = [
            SwitcherView(name, name.title(), f"show_{name}", self.maker(name))
            for name in ("one", "two", "three")
        ]
        self.turns = ViewSwitcher(turns, shown, frame=frame)
        self.frame = frame

    def maker(self, name: str) -> Callable[[], Widget]:
        def make() -> Widget:
            self.asked_for.append(name)
            return Input(id=name)

        return make

    def compose(self) -> ComposeResult:
        yield self.turns
        yield self.other
        if self.frame is not None:
            yield self.frame

    def in_sight(self) -> list[str | None]:
        return [widget.id for widget in self.turns.children if widget.display]


def tabs_of(widget: Widget) -> str:
    title = widget._border_title
    assert isinstance(title, Content)
    return title.plain


def bold_of(widget: Widget) -> list[str]:
    title = widget._border_title
    assert isinstance(title, Content)
    return [
        title.plain[span.start : span.end].strip()
        for span in title.spans
        if "bold" in str(span.style)
    ]


async def test_a_widget_is_made_when_it_is_first_shown() -> None:
    app = TurnsApp()
    async with app.run_test() as pilot:
        assert app.asked_for == [] and app.turns.current is None
        for name in ("two", "one", "two"):
            app.turns.show(name)
            await pilot.pause()
            assert app.in_sight() == [name]
            assert app.turns.shown == name
            assert app.turns.current is app.query_one(f"#{name}")
        assert app.asked_for == ["two", "one"]
        assert [widget.id for widget in app.turns.children] == ["two", "one"]


async def test_steps_go_in_a_circle_in_both_directions() -> None:
    app = TurnsApp()
    async with app.run_test():
        assert [app.turns.step(by) for by in (1, 1, 1, -1)] == ["two", "three", "one", "three"]
        assert app.turns.shown == "three"


async def test_what_is_shown_first_can_be_chosen_and_a_stranger_is_the_first() -> None:
    assert TurnsApp("three").turns.shown == "three"
    assert TurnsApp("four").turns.shown == "one"


async def test_what_is_asked_for_too_early_is_shown_first() -> None:
    app = TurnsApp()
    app.turns.show("three")
    assert (app.turns.shown, app.turns.current, app.asked_for) == ("three", None, [])
    async with app.run_test():
        app.turns.show(app.turns.shown)
        assert app.in_sight() == ["three"]


async def test_the_tabs_say_what_there_is_which_is_shown_and_how_much() -> None:
    app = TurnsApp()
    async with app.run_test():
        assert tabs_of(app.turns) == " One │ Two │ Three "
        app.turns.show("two")
        assert bold_of(app.turns) == ["Two"]
        app.turns.set_count("three", "12")
        assert tabs_of(app.turns) == " One │ Two │ Three 12 "
        app.turns.set_count("three", "")
        assert tabs_of(app.turns) == " One │ Two │ Three "


def test_tabs_without_room_are_one_click_away_from_those_that_have_it() -> None:
    def drawn(shown: int, width: int) -> tuple[str, str]:
        titles = ["Texts", "Candidates", "Merges", "Curves", "Diff"]
        tabs = border_tabs(((it, it.lower(), it == titles[shown]) for it in titles), width)
        left, right = tabs.plain[0], tabs.plain[-1]
        calls = [span.style.meta["@click"] for span in tabs.spans if isinstance(span.style, Style)]
        ends = [calls[0]] * (left == "‹") + [calls[-1]] * (right == "›")
        assert len(tabs.plain) <= (width or 100) - 6
        return tabs.plain, " ".join(end.removeprefix("screen.") for end in ends)

    assert drawn(0, 51) == (" Texts │ Candidates │ Merges │ Curves │ Diff ", "")
    assert drawn(4, 0) == drawn(4, 51) == drawn(0, 51), "all of them, as far as is known"
    assert drawn(0, 40) == (" Texts │ Candidates │ Merges ›", "curves")
    assert drawn(3, 40) == ("‹ Merges │ Curves │ Diff ", "candidates")
    assert drawn(1, 20) == ("‹ Candidates ›", "texts merges")


async def test_the_tabs_may_stand_in_another_border() -> None:
    frame = Static()
    app = TurnsApp(frame=frame)
    async with app.run_test():
        app.turns.show("three")
        assert bold_of(frame) == ["Three"]
        assert app.turns.border_title is None


async def test_the_keyboard_stays_within_if_it_was_there_and_else_where_it_is() -> None:
    app = TurnsApp()
    async with app.run_test() as pilot:
        app.turns.show("one")
        app.other.focus()
        await pilot.pause()
        app.turns.show("two")
        await pilot.pause()
        assert app.focused is app.other
        app.query_one("#two").focus()
        await pilot.pause()
        app.turns.show("three")
        await pilot.pause()
        assert app.focused is app.query_one("#three")


async def test_several_tabs_may_share_a_widget() -> None:
    shared = Static(id="shared")
    turns = ViewSwitcher(
        [SwitcherView("a", "A", "a", lambda: shared), SwitcherView("b", "B", "b", lambda: shared)]
    )

    class SharedApp(App[None]):
        def compose(self) -> ComposeResult:
            yield turns

    async with SharedApp().run_test() as pilot:
        turns.show("a")
        turns.show("b")
        await pilot.pause()
        assert list(turns.children) == [shared]
        assert shared.display


def test_the_neighbour_of_an_item_is_found_in_a_circle() -> None:
    assert neighbour("abc", "b", 1) == "c"
    assert neighbour("abc", "c", 1) == "a"
    assert neighbour("abc", "a", -1) == "c"
    assert neighbour("abc", "x", 1) == "a"
