from __future__ import annotations

from textual.app import App, ComposeResult

from tokviz.tui.dialogs.row_list import Cell, RowList


class ListApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.painted: list[int] = []

    def compose(self) -> ComposeResult:
        yield RowList[int](self.paint)

    def paint(self, row: int, width: int) -> list[Cell]:
        self.painted.append(row)
        return [(f"row {row}", "strong"), (" with a long ending" * 9, "muted")]


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
