from __future__ import annotations

from collections import Counter

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.strip import Strip

from tests.tui.waiting import settle
from tokviz.tui.widgets.line_scroll_view import LineScrollView
from tokviz.tui.widgets.rows_view import RowsView


class Rows(App[None]):
    def compose(self) -> ComposeResult:
        self.view = RowsView()
        yield self.view


class Texts(LineScrollView, can_focus=False):
    def __init__(self) -> None:
        super().__init__()
        self.texts = [f"text {y}" for y in range(8)]
        self.drawn = Counter[int]()

    def render_line(self, y: int) -> Strip:
        self.drawn[y] += 1
        return Strip([Segment(self.texts[y])]).adjust_cell_length(20)


class TextsApp(App[None]):
    def compose(self) -> ComposeResult:
        self.view = Texts()
        self.panel = Container(self.view)
        yield self.panel


def seen(app: App[None]) -> list[str]:
    return [strip.text[:6] for strip in app.screen._compositor.render_strips()]


async def test_rows_that_change_often_are_drawn_once_for_a_frame() -> None:
    app = TextsApp()
    async with app.run_test(size=(20, 8)) as pilot:
        await settle(pilot)
        app.view.drawn.clear()
        for number in range(5):
            app.view.texts[3] = f"news {number}"
            app.view.refresh()
        await settle(pilot)
        assert app.view.drawn[3] <= 3, "compared, and drawn"
        assert app.view.drawn[4] <= 3
        assert seen(app)[3] == "news 4"


async def test_what_changed_while_a_list_was_hidden_is_drawn_once_it_is_shown() -> None:
    app = TextsApp()
    async with app.run_test(size=(20, 8)) as pilot:
        await settle(pilot)
        assert seen(app)[3] == "text 3"
        app.panel.display = False
        await settle(pilot)
        app.view.texts[3] = "news"
        app.view.refresh()
        await settle(pilot)
        app.panel.display = True
        await settle(pilot)
        assert seen(app)[3] == "news  "
