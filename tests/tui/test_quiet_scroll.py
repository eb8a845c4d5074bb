from __future__ import annotations

from functools import partial

from textual.app import App, ComposeResult

from tests.tui.waiting import settle
from tokviz.tui.widgets.flow import Span
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
