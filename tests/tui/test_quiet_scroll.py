from __future__ import annotations

from collections import Counter
from functools import partial

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.containers import Container
from textual.strip import Strip

from tests.tui.waiting import settle
from tokviz.tui.widgets.flow import Span
from tokviz.tui.widgets.quiet_scroll import DiffedScroll
from tokviz.tui.widgets.rows_view import RowsView


class Rows(App[None]):
    def compose(self) -> ComposeResult:
        self.view = RowsView()
        yield self.view


async def test_a_scroll_bar_that_draws_what_changed_looks_as_if_drawn_anew() -> None:
    app = Rows()
    async with app.run_test(size=(20, 24)) as pilot:
        view, bar, drawn = app.view, app.view.vertical_scrollbar, list[int]()

        def lines() -> list[str]:
            strips = app.screen._compositor.render_strips()
            return [repr(list(strip.crop(19, 20))) for strip in strips]

        places = (90, 0), (90, 1), (90, 40), (95, 41), (95, 71), (30, 3), (9, 0), (2, 0), (400, 200)
        for n_rows, y in places:
            rows = [(Span("row"),)] * n_rows
            view.show(partial(lambda rows, width: rows, rows))
            view.scroll_to(y=y, animate=False, force=True)
            drawn.append(sum(region.height for region in bar._dirty_regions))
            await settle(pilot)
            shown = lines()
            bar._set_dirty()
            assert shown == lines()
        await settle(pilot)
        assert drawn[1] < 6, "most of its lines stay"
        assert not drawn[7], "of two lists that fit, the bar is the same"


class Texts(DiffedScroll, can_focus=False):
    def __init__(self) -> None:
        super().__init__()
        self.texts = [f"text {y}" for y in range(8)]
        self.drawn = Counter[int]()

    def line(self, y: int) -> Strip:
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
            app.view.refresh_changed()
        await settle(pilot)
        assert app.view.drawn[3] == 2, "looked at, and drawn"
        assert app.view.drawn[4] == 1
        assert seen(app)[3] == "news 4"


async def test_what_changed_while_a_list_was_hidden_is_drawn_once_it_is_shown() -> None:
    app = TextsApp()
    async with app.run_test(size=(20, 8)) as pilot:
        await settle(pilot)
        assert seen(app)[3] == "text 3"
        app.panel.display = False
        await settle(pilot)
        app.view.texts[3] = "news"
        app.view.refresh_changed()
        await settle(pilot)
        app.panel.display = True
        await settle(pilot)
        assert seen(app)[3] == "news  "
