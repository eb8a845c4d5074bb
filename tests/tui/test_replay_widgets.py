from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from tokviz.tui.palette import token_palette
from tokviz.tui.widgets import cursor_curve, scrubber
from tokviz.tui.widgets.cursor_curve import CursorCurve, Curve, curve_line
from tokviz.tui.widgets.dragged import Dragged
from tokviz.tui.widgets.editor.painting import HOVERED, PINNED
from tokviz.tui.widgets.flow import Row, Span, ToMerge
from tokviz.tui.widgets.lists import PickList
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.scrubber import Scrubber
from tokviz.tui.widgets.token_text import (
    TextTokens,
    TokenText,
    char_offsets,
    lit_chars,
    spans_in,
)

PALETTE = token_palette(True, "truecolor", False)
NOWHERE = np.zeros(0, np.int64)


# -- the scrubber and the curves


@given(st.integers(2, 300), st.integers(1, 10_000))
def test_the_edges_of_a_scrubber_are_the_ends(width: int, last: int) -> None:
    assert scrubber.value_of(0, last, width) == 0
    assert scrubber.value_of(width - 1, last, width) == last
    assert scrubber.column_of(0, last, width) == 0
    assert scrubber.column_of(last, last, width) == width - 1


@given(st.integers(2, 300), st.integers(1, 100_000), st.data())
def test_a_value_picked_by_the_mouse_is_drawn_at_the_mouse(
    width: int, last: int, data: st.DataObject
) -> None:
    column = data.draw(st.integers(0, width - 1))
    value = scrubber.value_of(column, last, width)
    if last >= width:
        assert scrubber.column_of(value, last, width) == column


@given(st.integers(2, 200), st.data())
def test_a_merge_picked_in_a_curve_is_drawn_there(width: int, data: st.DataObject) -> None:
    last = 10 ** data.draw(st.integers(3, 6))
    column = data.draw(st.integers(0, width - 1))
    x = cursor_curve.x_of(column, last, width)
    assert 1 <= x <= last
    if x > 50:
        assert abs(cursor_curve.column_of(x, last, width) - column) <= 1
    assert cursor_curve.column_of(last, last, width) == width - 1


def test_a_curve_without_points_says_why() -> None:
    curve = Curve("Counts", last_x=9, nothing="not known at all")
    lines = ["".join(text for text, _ in curve_line(curve, [], 1, "", y, 9, 5)) for y in range(4)]
    assert lines == ["Counts", "not known", "at all", ""]


# -- a text as tokens


def tokens_of(ends: list[int], lit: list[tuple[int, int, int]] | None = None) -> TextTokens:
    places = np.array(lit or np.zeros((0, 3)), np.int64).reshape(-1, 3)
    return TextTokens(
        np.arange(len(ends), dtype=np.int64),
        np.array(ends, np.int64),
        places[:, 0],
        places[:, 1],
        places[:, 2],
    )


def test_tokens_are_found_by_the_bytes_of_a_row() -> None:
    tokens = tokens_of([2, 4, 7, 9])
    spans = spans_in(tokens, char_offsets("cdef", 2), 100)
    assert [(span.start, span.end, span.id) for span in spans] == [(100, 102, 1), (102, 104, 2)]


def test_a_character_may_lie_in_several_tokens() -> None:
    tokens = tokens_of([1, 2, 3, 4])
    spans = spans_in(tokens, char_offsets("世a", 0), 0)
    assert [(span.start, span.end) for span in spans] == [(0, 1), (0, 1), (0, 1), (1, 2)]
    assert [bool(span.split) for span in spans] == [True, True, True, False]


def test_a_pair_is_lit_up_in_two_looks_and_the_token_in_one() -> None:
    offsets = char_offsets("abcd", 0)
    pair = lit_chars(tokens_of([1, 2, 3, 4], [(1, 2, 3)]), offsets)
    assert pair == [(1, 2, PINNED), (2, 3, HOVERED)]
    assert lit_chars(tokens_of([1, 3, 4], [(1, 2, 3)]), offsets) == [(1, 3, PINNED)]


class Shown(App[None]):
    def __init__(self, *widgets: Any) -> None:
        super().__init__()
        self.widgets = widgets
        self.heard: list[object] = []

    def compose(self) -> ComposeResult:
        yield from self.widgets

    def on_token_text_picked(self, event: TokenText.Picked) -> None:
        self.heard.append(event.token_id)

    def on_dragged_moved(self, event: Dragged.Moved) -> None:
        self.heard.append(event.value)

    def on_rows_view_picked(self, event: RowsView.Picked) -> None:
        self.heard.append(event.action)

    def on_row_list_moved(self, event: PickList.Moved) -> None:
        self.heard.append(("moved", event.index))

    def on_row_list_picked(self, event: PickList.Picked) -> None:
        self.heard.append(("picked", event.index))


async def test_a_click_tells_the_token_and_unsafe_text_is_drawn_safely() -> None:
    view = TokenText(PALETTE)
    app = Shown(view)
    async with app.run_test(size=(20, 5)) as pilot:
        view.show_text("ab\x1b[31m\ncd")
        view.show_tokens(tokens_of([2, 7, 8, 10]))
        await pilot.pause()
        assert "\x1b" not in view.render_line(0).text
        await pilot.click(view, offset=(1, 0))
        await pilot.click(view, offset=(1, 1))
        await pilot.click(view, offset=(15, 1))
        assert app.heard == [0, 3]


async def test_a_lit_token_far_below_comes_into_view() -> None:
    view = TokenText(PALETTE)
    app = Shown(view)
    async with app.run_test(size=(20, 5)) as pilot:
        view.show_text("a\n" * 100 + "bc")
        view.show_tokens(tokens_of([200, 201, 202], [(200, 201, 202)]))
        view.reveal_lit()
        await pilot.pause()
        rows = [view.render_line(y).text for y in range(5)]
        assert any("bc" in row for row in rows)


async def test_a_scrubber_is_dragged() -> None:
    line = Scrubber()
    app = Shown(line)
    async with app.run_test(size=(11, 3)) as pilot:
        line.show(0, 100)
        await pilot.mouse_down(line, offset=(3, 0))
        await pilot.hover(line, offset=(10, 2))
        await pilot.mouse_up(line, offset=(10, 2))
        await pilot.hover(line, offset=(1, 0))
        await pilot.pause()
        assert app.heard == [30, 100]
        assert line.render_line(0).text == "━" * 10 + "●"


async def test_a_curve_is_clicked() -> None:
    curve = CursorCurve()
    app = Shown(curve)
    async with app.run_test(size=(cursor_curve.AXIS_COLUMNS + 10, 8)) as pilot:
        curve.show(Curve("y", [(1.0, 0.5), (1024.0, 1.0)], last_x=1024))
        await pilot.click(curve, offset=(cursor_curve.AXIS_COLUMNS + 4, 3))
        assert app.heard == [32]


async def test_words_that_do_something_are_clicked() -> None:
    def rows(width: int) -> list[Row]:
        return [(Span("go "), Span("there", "link", ToMerge(5)))]

    view = RowsView(PALETTE)
    app = Shown(view)
    async with app.run_test(size=(20, 5)) as pilot:
        view.show(rows)
        await pilot.click(view, offset=(1, 0))
        await pilot.click(view, offset=(4, 0))
        assert app.heard == [ToMerge(5)]


async def test_a_list_is_moved_through_and_picked_from() -> None:
    picks = PickList[int](lambda row, width: [(str(row), "")])
    app = Shown(picks)
    async with app.run_test(size=(20, 5)) as pilot:
        picks.show(range(100_000), 0)
        picks.focus()
        await pilot.press("down", "end", "home", "enter")
        await pilot.click(picks, offset=(1, 2))
        assert app.heard == [
            ("moved", 1),
            ("moved", 99_999),
            ("moved", 0),
            ("picked", 0),
            ("picked", 2),
        ]
        picks.follow(50_000)
        await pilot.pause()
        rows = [picks.render_line(y).text.strip() for y in range(5)]
        assert rows[2] == "50000", "a row far away comes to the middle"


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (8, 4), (80, 24)])
async def test_every_size_is_drawn(size: tuple[int, int]) -> None:
    curve = CursorCurve()
    line = Scrubber()
    view = TokenText(PALETTE)
    app = Shown(line, curve, view)
    async with app.run_test(size=size) as pilot:
        curve.show(Curve("y", [(1.0, 0.5), (9.0, 1.0)], last_x=9))
        curve.set_cursor(4, "0.7")
        line.show(4, 9, mark=2)
        view.show_text("some text\n世界")
        await pilot.pause()
        for strip in app.screen._compositor.render_strips():
            assert strip.cell_length == size[0]
