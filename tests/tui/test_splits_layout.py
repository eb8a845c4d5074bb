from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tokviz.tui.widgets.splits.gloss import text_rows

TEXT = st.text("ab 中\t\n\u200b\u0301\x1b\udcff🙂", max_size=40)


@given(TEXT, st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)), st.integers(1, 30))
def test_rows_tile_the_text_and_cells_stand_side_by_side(
    text: str, marks: set[int], breaks: set[int], width: int
) -> None:
    rows = text_rows(text, marks, marks & breaks, width)
    assert [row.start for row in rows[1:]] == [row.end for row in rows[:-1]]
    assert (rows[0].start, rows[-1].end) == (0, len(text))
    for row in rows:
        column = 0
        for cell in row.cells:
            assert cell.column == column
            column += cell_len(cell.glyph) if cell.glyph else 1
        drawn = [cell.char for cell in row.cells if cell.glyph]
        assert drawn == list(range(row.start, row.end))
        assert {c.char for c in row.cells if not c.glyph} == marks & set(drawn)
        assert column <= width or row.end - row.start == 1


def test_a_full_row_ends_where_all_patterns_begin_a_pre_token() -> None:
    rows = text_rows("hello world", {0, 5}, {0, 5}, 9)
    assert [(row.start, row.end) for row in rows] == [(0, 5), (5, 11)]


def test_a_row_is_not_left_half_empty_for_that() -> None:
    rows = text_rows("a longword", {0, 1}, {0, 1}, 8)
    assert [(row.start, row.end) for row in rows] == [(0, 6), (6, 10)]


def test_a_column_leads_back_to_its_character() -> None:
    (row,) = text_rows("a中b", {0, 1}, set(), 20)
    assert [row.char_at(column) for column in range(7)] == [0, 0, 1, 1, 1, 2, None]
