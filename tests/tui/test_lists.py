from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from tests.tui.mouse import click
from tokviz.tui.widgets.lists import PickList, RowList
from tokviz.tui.widgets.spans import Span


class ListApp(App[None]):
    def __init__(self, kind: type[RowList[int]] = RowList) -> None:
        super().__init__()
        self.kind = kind
        self.painted: list[int] = []
        self.heard: list[tuple[str, int, bool]] = []
        self.meant: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.kind(self.paint)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        self.heard.append(("moved", event.index, False))

    def on_row_list_picked(self, event: RowList.Picked) -> None:
        self.heard.append(("picked", event.index, event.again))
        self.meant.append(event.row)

    def paint(self, row: int, width: int) -> list[Span]:
        self.painted.append(row)
        return [Span(f"row {row}", "heading"), Span(" with a long ending" * 9, "dim")]


async def test_only_visible_rows_are_drawn() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(100_000), 50_000)
        await pilot.pause()
        assert 50_000 in app.painted
        assert len(set(app.painted)) <= 30


async def test_highlight_stops_at_the_ends_and_stays_in_view() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(100), None)
        rows.move(1)
        assert rows.row == 0
        rows.move(-1)
        assert rows.row == 0
        rows.move(1000)
        assert rows.row == 99
        await pilot.pause()
        assert rows.scroll_offset.y == 90


async def test_empty_list_has_no_row_and_moving_does_nothing() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)):
        rows = app.query_one(RowList)
        rows.show([], None)
        rows.move(1)
        assert rows.row is None


async def test_rows_are_cut_at_the_width() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(5), 0)
        await pilot.pause()
        assert all(rows.render_line(y).cell_length == 30 for y in range(10))


async def test_without_colour_the_highlighted_row_is_one_inverse_bar() -> None:
    app = ListApp()
    app.no_color = True
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(5), 2)
        await pilot.pause()
        styles = [segment.style for segment in rows.render_line(2)]
        assert all(style is not None and style.reverse for style in styles)
        assert len({style.color for style in styles if style is not None}) == 1


async def test_keys_move_by_a_row_a_page_and_to_the_ends() -> None:
    app = ListApp(PickList)
    async with app.run_test(size=(30, 10)) as pilot:
        app.query_one(RowList).show(range(100), 0)
        app.query_one(RowList).focus()
        await pilot.press("down", "pagedown", "up", "pageup", "end", "home", "enter")
        moved = [1, 10, 9, 0, 99, 0]
        assert app.heard == [*(("moved", at, False) for at in moved), ("picked", 0, True)]


async def test_a_click_says_whether_the_row_was_highlighted_already() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        app.query_one(RowList).show(range(5), 0)
        await pilot.pause()
        for y in (3, 3, 8):
            await pilot.click(RowList, offset=(2, y))
        assert app.heard == [("picked", 3, False), ("picked", 3, True)]


async def test_the_second_click_of_two_does_not_pick_what_came_there_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(App, "CLICK_CHAIN_TIME_THRESHOLD", 3600.0)
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(5), 2)
        await click(pilot, (2, 2))
        rows.show(range(100, 105), 2)
        app.heard.clear()
        await click(pilot, (2, 2))
        assert app.heard == []
        await click(pilot, (2, 2))
        assert app.heard == [("picked", 2, True)]


async def test_a_right_click_only_highlights() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(5), 2)
        await pilot.click(RowList, offset=(2, 1), button=3)
        assert rows.highlighted == 1 and app.heard == [("moved", 1, False)]


async def test_a_picked_row_is_the_one_that_was_shown_then() -> None:
    app = ListApp()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.show(range(5), 2)
        rows.action_pick()
        rows.show([], None)
        await pilot.pause()
        assert app.meant == [2]
