from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from rich.style import Style
from textual.app import App, ComposeResult
from textual.strip import Strip

import tokviz
from tokviz.live.document import LiveDocument
from tokviz.tui.messages import TokenHovered, TokenPicked
from tokviz.tui.palette import token_palette
from tokviz.tui.widgets.id_grid import (
    GridRow,
    GridShape,
    GridStyles,
    IdGrid,
    grid_shape,
    grid_strip,
    list_shape,
    list_strip,
)

TOK = tokviz.load("gpt2")
PALETTE = token_palette("tokviz-dark", "truecolor", False)
LOOK = GridStyles(PALETTE, PALETTE.base, PALETTE.base + Style(dim=True), frozenset({50256}))
ROW = GridRow(20, ((262, 0), (50256, 1), (7, 2)))


def drawn(strip: Strip) -> str:
    return strip.text.rstrip()


@given(st.integers(1, 10**7), st.integers(0, 10**9))
@example(257, 4_000_000)
@example(50_257, 4_000_000)
@example(200_019, 4_000_000)
def test_every_id_fits_and_the_row_does_too(n_vocab: int, n_tokens: int) -> None:
    for width in range(20, 101):
        shape = grid_shape(width, n_vocab, n_tokens)
        assert shape.cell > len(str(n_vocab - 1))
        assert shape.gutter + shape.per_row * shape.cell <= width


def test_the_gutter_goes_when_there_is_no_room() -> None:
    assert grid_shape(20, 100_277, 4_000_000).gutter == 0
    assert grid_shape(44, 100_277, 4_000_000).gutter == len("3999999 ")


def test_ids_are_right_aligned_beside_the_index_of_the_first() -> None:
    strip = grid_strip(ROW, GridShape(4, 6, 3), 24, LOOK)
    assert drawn(strip) == " 20   262 50256     7"
    assert strip.cell_length == 24


def test_each_id_wears_its_hue_and_gaps_wear_none() -> None:
    strip = grid_strip(ROW, GridShape(0, 6, 3), 24, LOOK)
    styles = [segment.style for segment in strip]
    assert styles[0] == PALETTE.hues[0]
    assert styles[1] == PALETTE.base
    assert styles[4] == PALETTE.hues[2]


def test_specials_and_marks_lie_over_the_hue() -> None:
    row = GridRow(0, ROW.tokens, hover=0, pin=2)
    styles = [segment.style for segment in grid_strip(row, GridShape(0, 6, 3), 24, LOOK)]
    assert styles[0] == PALETTE.hues[0] + PALETTE.hover
    assert styles[2] == PALETTE.hues[1] + PALETTE.special
    assert styles[4] == PALETTE.hues[2] + PALETTE.pin


def test_pending_text_is_an_ellipsis_where_it_stands() -> None:
    row = GridRow(0, ROW.tokens, pending_after=frozenset({-1, 1}))
    assert drawn(grid_strip(row, GridShape(4, 6, 3), 24, LOOK)) == "  0…  262 50256…    7"
    empty = GridRow(0, (), pending_after=frozenset({-1}))
    assert drawn(grid_strip(empty, GridShape(0, 6, 3), 24, LOOK)) == "…"


def test_the_list_tells_index_id_and_text() -> None:
    row = GridRow(20, ((262, 0),))
    strip = list_strip(row, list_shape(24, 300), 24, LOOK, 5, "·the")
    assert drawn(strip) == " 20   262 ·the"


def test_a_long_token_is_cut_in_the_list() -> None:
    strip = list_strip(GridRow(0, ((262, 0),)), list_shape(20, 300), 20, LOOK, 5, "a" * 90)
    assert drawn(strip) == "  0   262 aaaaaaaa…"
    assert strip.cell_length == 20


def test_a_column_belongs_to_its_cell() -> None:
    shape = GridShape(4, 6, 3)
    assert [shape.index_at(x, 2, 9) for x in (3, 4, 9, 10, 21, 22)] == [None, 6, 6, 7, 8, None]
    assert shape.index_at(10, 2, 7) is None


class GridApp(App[None]):
    def __init__(self, live: LiveDocument) -> None:
        super().__init__()
        self.live = live
        self.heard: list[tuple[str, int | None]] = []

    def compose(self) -> ComposeResult:
        yield IdGrid(self.live, PALETTE)

    def on_token_hovered(self, event: TokenHovered) -> None:
        self.heard.append(("hover", event.index))

    def on_token_picked(self, event: TokenPicked) -> None:
        self.heard.append(("pick", event.index))

    @property
    def grid(self) -> IdGrid:
        return self.query_one(IdGrid)

    def line(self, y: int) -> str:
        return drawn(self.grid.render_line(y))


def known(text: str) -> LiveDocument:
    live = LiveDocument(text, TOK)
    while not live.encode_pending(1.0):
        pass
    assert live.complete
    return live


WORDS = " ".join(["one", "two", "three", "four", "five", "six", "seven", "eight"] * 50)


async def test_the_grid_shows_the_ids_of_the_document() -> None:
    app = GridApp(known(WORDS))
    async with app.run_test(size=(40, 10)):
        ids = TOK.encode(WORDS)
        per_row = len(app.grid.row_tokens(0))
        assert app.line(0).split() == ["0", *map(str, ids[:per_row])]
        assert app.line(1).split() == [str(per_row), *map(str, ids[per_row : 2 * per_row])]


async def test_drawing_does_not_encode_what_lies_between_two_known_tokens() -> None:
    live = LiveDocument("word " * 200_000, TOK)
    live.ensure(0, 50)
    live.ensure(live.n_chars - 50, live.n_chars)
    app = GridApp(live)
    async with app.run_test(size=(80, 40)) as pilot:
        app.grid.sync()
        await pilot.pause()
        assert app.line(0).split()[1] == str(TOK.encode("word")[0])
        assert live.n_pending_chars > 900_000


async def test_arrows_page_home_and_end_pick_tokens() -> None:
    live = known(WORDS)
    app = GridApp(live)
    async with app.run_test(size=(40, 10)) as pilot:
        per_row = len(app.grid.row_tokens(0))
        app.grid.focus()
        await pilot.press("enter", "right", "down", "left", "up", "pagedown", "end", "home")
        assert app.heard == [
            ("pick", index)
            for index in (0, 1, 1 + per_row, per_row, 0, 9 * per_row, live.n_tokens - 1, 0)
        ]


async def test_the_picked_token_stays_in_view() -> None:
    app = GridApp(known(WORDS))
    async with app.run_test(size=(40, 10)) as pilot:
        app.grid.focus()
        await pilot.press("end")
        assert app.grid.scroll_offset.y == app.grid.max_scroll_y > 0
        await pilot.press("home")
        assert app.grid.scroll_offset.y == 0


async def test_the_mouse_hovers_picks_and_leaves() -> None:
    app = GridApp(known(WORDS))
    async with app.run_test(size=(40, 10)) as pilot:
        first, second = TOK.encode(WORDS)[len(app.grid.row_tokens(0)) :][:2]
        x = app.line(1).index(f" {second}", app.line(1).index(f" {first}") + 1) + 1
        await pilot.hover(IdGrid, offset=(x, 1))
        await pilot.click(IdGrid, offset=(x, 1))
        await pilot.hover(IdGrid, offset=(0, 1))
        index = len(app.grid.row_tokens(0)) + 1
        assert app.heard == [("hover", index), ("pick", index), ("hover", None)]


async def test_the_end_of_a_document_that_got_shorter_is_cleared() -> None:
    live = known(WORDS)
    app = GridApp(live)
    async with app.run_test(size=(40, 10)) as pilot:
        app.grid.focus()
        await pilot.press("end")
        live.set_text("one two")
        app.grid.sync()
        assert app.grid.scroll_offset.y == 0
        assert app.line(0).split() == ["0", *map(str, TOK.encode("one two"))]
        assert app.line(1) == ""


async def test_the_list_shows_the_text_of_the_tokens() -> None:
    app = GridApp(known("one two"))
    async with app.run_test(size=(40, 10)) as pilot:
        app.grid.focus()
        await pilot.press("l")
        assert app.grid.as_list
        one, two = TOK.encode("one two")
        assert app.line(0).split() == ["0", str(one), "one"]
        assert app.line(1).split() == ["1", str(two), "·two"]


async def test_a_stretch_that_is_not_tokenized_yet_is_marked() -> None:
    live = LiveDocument("one two" + "a" * 40_000 + " three four", TOK)
    app = GridApp(live)
    async with app.run_test(size=(40, 10)):
        assert not live.complete
        assert "…" in app.line(0)
        while not live.encode_pending(1.0):
            pass
        app.grid.sync()
        assert "…" not in app.line(0)


async def test_another_tokenizer_makes_room_for_its_ids() -> None:
    live = known(WORDS)
    app = GridApp(live)
    async with app.run_test(size=(40, 10)):
        other = tokviz.load("o200k_base")
        live.set_tokenizer(other)
        live.ensure(0, live.n_chars)
        app.grid.sync()
        assert app.line(0).split()[1:3] == [str(i) for i in other.encode(WORDS)[:2]]


async def test_the_grid_asks_for_the_first_tokens_itself() -> None:
    app = GridApp(LiveDocument("one two", TOK))
    async with app.run_test(size=(40, 10)):
        assert app.line(0).split() == ["0", *map(str, TOK.encode("one two"))]


async def test_without_a_tokenizer_the_grid_waits() -> None:
    app = GridApp(LiveDocument(WORDS))
    async with app.run_test(size=(40, 10)):
        assert app.line(0).strip() == "…"
