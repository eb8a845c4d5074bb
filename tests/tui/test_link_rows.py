from __future__ import annotations

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tokviz.tui.messages import CopyRequested
from tokviz.tui.themes import DARK, theme
from tokviz.tui.widgets.rows_view import LinkRows, RowsView
from tokviz.tui.widgets.spans import Copy, GoTo, Row, Span, ToToken

COPY, ONE, TWO = Copy("20 74", "bytes"), ToToken(1), ToToken(2)
ROWS: list[Row] = [
    (Span("bytes ", "label"), Span("20", "link", COPY), Span(" "), Span("74", "link", COPY)),
    (),
    (Span("words", "text"),),
    *[(Span(f"row {number}", "text"),) for number in range(30)],
    (Span("one", "link", ONE), Span("  "), Span("two", "link", TWO)),
]


class RowsApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.register_theme(theme(DARK))
        self.theme = DARK
        self.noted: list[int] = []
        self.copied: list[str] = []

    def compose(self) -> ComposeResult:
        yield LinkRows(id="rows")

    def on_mount(self) -> None:
        self.rows.show(lambda width: ROWS, from_top=True)

    @property
    def rows(self) -> LinkRows:
        return self.query_one("#rows", LinkRows)

    def on_rows_view_picked(self, message: RowsView.Picked) -> None:
        assert isinstance(message.action, ToToken)
        self.noted.append(message.action.token_id)

    def on_why_wanted(self) -> None:
        self.noted.append(0)

    def on_copy_requested(self, message: CopyRequested) -> None:
        self.copied.append(message.text)


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await pilot.pause()


async def test_keys_go_from_link_to_link_and_enter_follows_them() -> None:
    app = RowsApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.focus()
        await press(pilot, "enter", "down", "enter", "right", "enter", "left", "enter")
        assert app.copied == ["20 74"] and app.noted == [2, 2, 1]
        assert app.rows.top_row + 10 >= len(ROWS) - 1
        await press(pilot, "home", "enter", "end", "enter")
        assert app.copied == ["20 74"] * 2 and app.noted == [2, 2, 1, 2]
        assert app.rows.top_row == app.rows.max_scroll_y


async def test_words_side_by_side_with_one_action_are_one_link() -> None:
    app = RowsApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.focus()
        await press(pilot, "right")
        await press(pilot, "enter")
        assert app.noted == [1]


async def test_a_click_follows_a_link_and_nothing_else() -> None:
    app = RowsApp()
    async with app.run_test(size=(40, 40)) as pilot:
        await pilot.click("#rows", offset=(9, 0))
        await pilot.click("#rows", offset=(2, 2))
        await pilot.click("#rows", offset=(7, 33))
        await pilot.pause()
        assert app.copied == ["20 74"] and app.noted == [2]


async def test_the_right_button_asks_why_of_the_token_under_it_and_of_nothing_else() -> None:
    app = RowsApp()
    row = (Span("words "), Span("bar", "bar"), Span(" the", "token"), Span(" id 1", "link", ONE))
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.show(lambda width: [row])
        for x, noted in (1, []), (7, []), (10, [0]), (14, [0, 1, 0]), (30, [0, 1, 0]):
            await pilot.click("#rows", offset=(x + 1, 0), button=3)
            await pilot.pause()
            assert app.noted == noted
        assert not app.copied


async def test_paging_to_the_last_or_first_link_shows_the_rows_after_or_before_it() -> None:
    plain: list[Row] = [(Span(f"row {number}"),) for number in range(20)]
    rows = [*plain[:6], (Span("first", "link", ONE),), (Span("last", "link", TWO),), *plain]
    app = RowsApp()
    async with app.run_test(size=(40, 5)) as pilot:
        app.rows.show(lambda width: rows, from_top=True)
        app.rows.focus()
        await press(pilot, "pagedown")
        assert app.rows.top_row == app.rows.max_scroll_y == len(rows) - 5
        await press(pilot, "pageup")
        assert app.rows.top_row == 0
        await press(pilot, "right", "pageup", "enter")
        assert app.noted == [1], "the link before"


async def test_without_links_the_keys_scroll() -> None:
    app = RowsApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.show(lambda width: [(Span(str(n)),) for n in range(50)], from_top=True)
        app.rows.focus()
        await press(pilot, "down", "down", "pagedown", "enter", "space")
        assert app.rows.top_row > 2 and not app.noted


async def test_other_rows_keep_the_place_unless_they_are_about_something_else() -> None:
    app = RowsApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.focus()
        await press(pilot, "end")
        app.rows.show(lambda width: ROWS)
        await press(pilot, "enter")
        assert app.noted == [2]
        app.rows.show(lambda width: ROWS, from_top=True)
        await press(pilot, "enter")
        assert app.copied == ["20 74"] and app.rows.top_row == 0


async def test_the_chosen_link_stays_chosen_when_others_come_before_it() -> None:
    app = RowsApp()
    new: list[Row] = [(Span(f"new {number}", "link", ToToken(number)),) for number in (7, 1)]
    other: list[Row] = [(Span("other", "link", GoTo(2)),)]
    async with app.run_test(size=(40, 10)) as pilot:
        app.rows.focus()
        await press(pilot, "end")
        app.rows.show(lambda width: [*ROWS[:1], *other, *new, *ROWS[1:]])
        await press(pilot, "enter")
        assert app.noted == [2]
        app.rows.show(lambda width: ROWS[:1])
        await press(pilot, "enter")
        assert app.copied == ["20 74"], "it is gone"
