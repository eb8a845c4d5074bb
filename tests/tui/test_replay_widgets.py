from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from textual.app import App, ComposeResult

from tests.tui.mouse import drag
from tokviz.tui.palette import token_palette
from tokviz.tui.widgets.cursor_curve import (
    AXIS_COLUMNS,
    CursorCurve,
    Curve,
    Dragged,
    Scale,
    Scrubber,
    compression_curve,
    curve_line,
    curve_rows,
)
from tokviz.tui.widgets.editor.row_painter import HOVERED, PINNED
from tokviz.tui.widgets.lists import PickList
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, Span, ToMerge
from tokviz.tui.widgets.token_text import (
    TextTokens,
    TokenText,
    char_offsets,
    highlighted_chars,
    spans_in,
)

PALETTE = token_palette("tokviz-dark", "truecolor", False)
NOWHERE = np.zeros(0, np.int64)


# -- the scrubber and the curves


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("at", [0, 300, 25_000, 50_000])
def test_a_merge_stands_at_the_same_place_on_the_curve_and_on_the_line_below(
    at: int, is_log: bool
) -> None:
    curve = Curve("y", [(0.0, 0.0), (50_000.0, 1.0)], 50_000)
    columns = 81
    width = columns + AXIS_COLUMNS
    blocks = curve_rows(curve, columns, 4, is_log=is_log)
    _, past, mark, _ = curve_line(curve, blocks, at, 1, width, 5, is_log=is_log)
    assert (len(past.text), mark.role) == (Scale(50_000, is_log).column_of(at, columns), "mark")
    if at == 300 and not is_log:
        assert len(past.text) == 0, "it is 0.6 % of the way"


def test_a_curve_without_points_says_why() -> None:
    curve = Curve("Counts", empty_text="not known at all")
    lines = ["".join(span.text for span in curve_line(curve, [], 1, y, 9, 5)) for y in range(3)]
    assert lines == ["not known", "at all", ""]


def test_both_axes_are_named() -> None:
    curve = compression_curve("Bytes per token", [(0, 1.0), (4_000, 2.2)], 4_000)
    rows = [
        "".join(span.text for span in curve_line(curve, curve_rows(curve, 40, 4), 0, y, 47, 5))
        for y in range(5)
    ]
    assert (rows[0].split("▕")[0].strip(), rows[3].split("▕")[0].strip()) == ("2.5", "1.0")
    assert rows[4].split() == ["0", "merges", "4,000"]


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
    pair = highlighted_chars(tokens_of([1, 2, 3, 4], [(1, 2, 3)]), offsets)
    assert pair == [(1, 2, PINNED), (2, 3, HOVERED)]
    assert highlighted_chars(tokens_of([1, 3, 4], [(1, 2, 3)]), offsets) == [(1, 3, PINNED)]


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


async def test_the_next_highlighted_token_below_or_else_the_first_comes_into_view() -> None:
    view = TokenText(PALETTE)
    async with Shown(view).run_test(size=(20, 5)) as pilot:
        view.show_text("a\n" * 100)

        async def revealed(*tokens: int, top: int) -> range:
            view.scroll_to(y=top, animate=False, force=True)
            view.show_tokens(tokens_of([*range(1, 201)], [(n, n + 1, n + 2) for n in tokens]))
            view.reveal_highlight()
            await pilot.pause()
            return range(view.top_row, view.top_row + 5)

        assert 90 in await revealed(2 * 40, 2 * 90, top=60), "the next one below"
        assert 40 in await revealed(2 * 40, 2 * 90, top=95), "the first if there is none below"
        assert await revealed(2 * 40, 2 * 62, top=60) == range(60, 65), "one is in view"
        assert 65 in await revealed(2 * 40, 2 * 65, top=60), "the row below the view is not in it"


async def test_a_scrubber_is_dragged() -> None:
    line = Scrubber()
    app = Shown(line)
    async with app.run_test(size=(11, 3)) as pilot:
        line.show(0, Scale(100))
        await pilot.mouse_down(line, offset=(3, 0))
        await drag(pilot, line, (10, 2))
        await pilot.mouse_up(line, offset=(10, 2))
        await drag(pilot, line, (1, 0))
        await pilot.pause()
        assert app.heard == [30, 100]
        assert line.render_line(0).text == "━" * 10 + "●"


async def test_a_drag_whose_release_went_elsewhere_ends_when_the_mouse_comes_back() -> None:
    line = Scrubber()
    app = Shown(line)
    async with app.run_test(size=(11, 3)) as pilot:
        line.show(0, Scale(100))
        await pilot.mouse_down(line, offset=(3, 0))
        await pilot.hover(line, offset=(7, 0))
        await drag(pilot, line, (9, 0))
        assert app.heard == [30]


@pytest.mark.parametrize(("is_log", "there"), [(False, 512), (True, 31)])
async def test_a_curve_is_clicked(is_log: bool, there: int) -> None:
    curve = CursorCurve()
    app = Shown(curve)
    async with app.run_test(size=(AXIS_COLUMNS + 11, 8)) as pilot:
        curve.show(Curve("y", [(0.0, 0.5), (1024.0, 1.0)], 1024))
        curve.set_scale(is_log)
        await pilot.click(curve.plot, offset=(AXIS_COLUMNS + 5, 3))
        assert app.heard == [there]


async def test_a_curve_without_a_cursor_goes_nowhere() -> None:
    curve = CursorCurve(has_cursor=False)
    app = Shown(curve)
    async with app.run_test(size=(30, 8)) as pilot:
        curve.show(Curve("y", [(0.0, 0.5), (9.0, 1.0)], 9))
        await pilot.click(curve.plot, offset=(20, 3))
        assert app.heard == []


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
    picks = PickList[int](lambda row, width: [Span(str(row))])
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
        curve.show(Curve("y", [(1.0, 0.5), (9.0, 1.0)], 9))
        curve.set_cursor(4, "0.7")
        line.show(4, Scale(9), mark=2)
        view.show_text("some text\n世界")
        await pilot.pause()
        for strip in app.screen._compositor.render_strips():
            assert strip.cell_length == size[0]
