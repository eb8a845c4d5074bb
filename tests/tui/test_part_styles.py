"""The parts of a widget look as Textual would have them, and are styled when they are drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, ClassVar, Self

import pytest
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.css.styles import Styles
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from tokviz.tui.part_styles import StylesOnDemand


class Parts(Widget, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"parts--seen", "parts--plain", "parts--unseen"}
    DEFAULT_CSS = """
    Parts { height: 1; }
    Parts > .parts--seen { color: red; }
    Parts:focus > .parts--seen { color: green; }
    Parts.other > .parts--seen { color: blue; }
    Parts > .parts--unseen { color: white; }
    """
    n_drawn = 0

    def render_line(self, y: int) -> Strip:
        self.n_drawn += 1
        return Strip([Segment("seen", self.get_component_rich_style("parts--seen"))])


class PartsApp(App[None]):
    def __init__(self, kind: type[Stylesheet]) -> None:
        super().__init__()
        self.stylesheet = kind(variables=self.get_css_variables())

    def compose(self) -> ComposeResult:
        yield Parts()
        yield Parts()


async def colours(pilot: Pilot[None]) -> list[str]:
    await pilot.pause()
    parts = pilot.app.query(Parts)
    return [each.get_component_styles("parts--seen").color.hex for each in parts]


async def looks(kind: type[Stylesheet]) -> list[list[str]]:
    """Give the colours after each of some changes."""
    app, found = PartsApp(kind), list[list[str]]()
    async with app.run_test() as pilot:
        first, second = app.query(Parts)
        found.append(await colours(pilot))
        second.focus()
        found.append(await colours(pilot))
        first.add_class("other")
        second.add_class("other")
        found.append(await colours(pilot))
        second.remove_class("other")
        app.set_focus(None)
        found.append(await colours(pilot))
        app.theme = "textual-light"
        found.append(await colours(pilot))
    return found


async def test_parts_look_as_textual_has_them_after_every_change() -> None:
    assert await looks(StylesOnDemand) == await looks(Stylesheet)


@pytest.fixture
def styled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    names: list[str] = []
    apply = StylesOnDemand.apply

    def noted(sheet: StylesOnDemand, node: Widget, **options: object) -> None:
        names.extend(name for name in node.classes if name.startswith("parts--"))
        apply(sheet, node, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(StylesOnDemand, "apply", noted)
    yield names


async def test_only_what_is_drawn_is_styled_and_drawn_again_if_it_changed(
    styled: list[str],
) -> None:
    app = PartsApp(StylesOnDemand)
    async with app.run_test() as pilot:
        await pilot.pause()
        assert set(styled) == {"parts--seen"}
        first = app.query(Parts).first()
        assert "parts--unseen" in first._component_styles
        with pytest.raises(KeyError, match="parts--none"):
            first.get_component_styles("parts--none")
        n_drawn = first.n_drawn
        first.add_class("other")
        await pilot.pause()
        assert first.n_drawn > n_drawn
        assert set(styled) == {"parts--seen"}


async def test_to_style_a_node_asks_no_rule_for_its_hash_in_python() -> None:
    asked: list[str] = []

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code.co_name == "__hash__":
            asked.append(frame.f_code.co_filename)

    app = PartsApp(StylesOnDemand)
    async with app.run_test() as pilot:
        await pilot.pause()
        sys.setprofile(note)
        app.stylesheet.update(app.screen)
        sys.setprofile(None)
    assert not [file for file in asked if "css" in file]


@pytest.mark.parametrize(
    ("css", "looked_for"), [("", False), ("Parts { transition: offset 500ms; }", True)]
)
async def test_a_transition_is_looked_for_only_where_there_is_one(
    css: str, looked_for: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list[str]()
    find = Styles._get_transition

    def noted(styles: Styles, name: str) -> Any:
        names.append(name)
        return find(styles, name)

    monkeypatch.setattr(Styles, "_get_transition", noted)
    app = PartsApp(StylesOnDemand)
    app.stylesheet.add_source(css + "Parts.other { offset: 1 0; }")
    async with app.run_test() as pilot:
        await pilot.pause()
        app.query(Parts).first().add_class("other")
        await pilot.pause()
        assert ("offset" in names) == looked_for
        assert bool(names) == looked_for


class Leaf(Widget):
    n_asked = 0

    def refresh(self, *regions: Region, **options: Any) -> Self:
        self.n_asked += 1
        return super().refresh(*regions, **options)


class NestedApp(PartsApp):
    CSS = "Container, Leaf { color: $primary; background: $surface; border: solid $secondary; }"

    def compose(self) -> ComposeResult:
        yield Container(Container(Container(Leaf())))


async def asked_and_seen(kind: type[Stylesheet]) -> tuple[int, list[str]]:
    """Tell how often a widget is asked to draw itself when colours change, and how all looks."""
    app = NestedApp(kind)
    async with app.run_test() as pilot:
        leaf = app.query_one(Leaf)
        await pilot.pause()
        leaf.n_asked = 0
        app.theme = "textual-light"
        await pilot.pause()
        return leaf.n_asked, [repr(list(row)) for row in app.screen._compositor.render_strips()]


async def test_where_colours_change_each_widget_is_asked_once_by_each_that_it_is_in() -> None:
    n_textual, textual = await asked_and_seen(Stylesheet)
    n_here, here = await asked_and_seen(StylesOnDemand)
    assert here == textual
    assert 5 * n_here < n_textual
