from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.oracles.nasty import byte_texts, texts
from tokviz.text.glyphs import HIDDEN, SHOWN, Glyphs
from tokviz.tui.widgets.editor.cells import breaks, lay_out, safe_cut
from tokviz.tui.widgets.editor.long_line import FlatLongLine, WrappedLongLine

TABLES = st.sampled_from([SHOWN, HIDDEN])
lines = st.one_of(texts, byte_texts).map(lambda text: text.replace("\n", " "))
WORDS = ["a", "word", "世界", "é", " ", "  ", "\t", "\u200b", "e\u0301"]
words = st.lists(st.sampled_from(WORDS)).map("".join)
widths = st.integers(1, 40)


def rows_of(text: str, found: tuple[int, ...]) -> list[str]:
    bounds = [0, *found, len(text)]
    return [text[start:end] for start, end in itertools.pairwise(bounds)]


def longest_fitting(text: str, width: int, glyphs: Glyphs) -> int:
    """Return the end of the longest row from `start`, at least one glyph."""
    fitting = [n for n in range(1, len(text) + 1) if lay_out(text[:n], glyphs).width <= width]
    first_glyph = next(
        (n for n, g in enumerate(lay_out(text, glyphs).glyphs) if n and g), len(text)
    )
    return max([*fitting, first_glyph])


@given(st.one_of(lines, words), TABLES)
def test_what_is_drawn_is_as_wide_as_the_layout_says(text, glyphs):
    cells = lay_out(text, glyphs)
    assert cell_len("".join(cells.glyphs)) == cells.width
    assert [cell_len("".join(cells.glyphs[:n])) for n in range(len(text) + 1)] == list(cells.starts)


@given(st.one_of(lines, words), widths, TABLES)
def test_rows_fit_and_no_row_could_take_the_next_word(text, width, glyphs):
    rows = rows_of(text, breaks(text, width, glyphs))
    assert "".join(rows) == text
    for number, row in enumerate(rows):
        cells = lay_out(row, glyphs)
        assert cells.width <= width or sum(map(bool, cells.glyphs)) == 1
        if number == len(rows) - 1:
            continue
        rest = "".join(rows[number:])
        full = longest_fitting(rest, width, glyphs)
        # Either the row is full, or it ends behind a space and the word after it does not fit.
        assert len(row) == full or (row[-1] == " " and " " not in rest[len(row) : full])


@given(st.one_of(lines, words), widths, TABLES)
def test_a_row_looks_the_same_alone_and_in_its_line(text, width, glyphs):
    if "\t" in text:
        return
    rows = rows_of(text, breaks(text, width, glyphs))
    assert "".join("".join(lay_out(row, glyphs).glyphs) for row in rows) == "".join(
        lay_out(text, glyphs).glyphs
    )


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("one two three", ["one two ", "three"]),
        ("exactly8 more", ["exactly8", " more"]),
        ("abcdefghijkl", ["abcdefgh", "ijkl"]),
        ("世界世界世界", ["世界世界", "世界"]),
        ("ab 世界世界", ["ab 世界", "世界"]),
        ("ab\u200bc", ["ab", "\u200b", "c"]),
        ("", [""]),
    ],
)
def test_examples_of_wrapping_at_eight_cells(text, rows):
    assert rows_of(text, breaks(text, 8, SHOWN)) == rows


def test_examples_of_rows_that_end_exactly():
    assert rows_of("ab exact more", breaks("ab exact more", 8, SHOWN)) == ["ab exact", " more"]
    assert rows_of("世界世界a世", breaks("世界世界a世", 9, SHOWN)) == ["世界世界a", "世"]
    text = "abce\u0301x"
    assert rows_of(text, breaks(text, 4, HIDDEN)) == ["abce\u0301", "x"]


def test_a_mark_stays_in_the_row_of_a_letter_that_is_too_wide_for_it():
    assert rows_of("世\u0301", breaks("世\u0301", 1, HIDDEN)) == ["世\u0301"]
    text = "한국어\u0301x"
    assert rows_of(text, breaks(text, 1, HIDDEN)) == ["한", "국", "어\u0301", "x"]


def test_no_empty_row_is_left_where_the_end_of_a_long_line_was():
    text = "x" * 16 + "y" * 16
    line = SmallWrapped(text, 8, SHOWN)
    assert len(line) + 1 == 4
    line.replace(text[:16], 16, 16, 0)
    assert len(line) + 1 == 2


def test_parts_do_not_dwindle():
    text = "x" * 1_600
    line = SmallFlat(text, 0, SHOWN)
    for column in range(100):  # leave one character of each sixteen
        text = text[:column] + text[column + 15 :]
        line.replace(text, column, 15, 0)
    assert len(line.starts) - 1 <= 25


def test_a_long_line_is_cut_behind_a_space_and_not_before_a_mark():
    assert safe_cut("aaaa bbbb", 7, 4) == 5
    assert safe_cut("aaaaaa\u0301\u0301bbb", 7, 4) == 5
    assert safe_cut("\u0301" * 20, 10, 4) == 10


class SmallWrapped(WrappedLongLine):
    PART_SIZE = 16


class SmallFlat(FlatLongLine):
    PART_SIZE = 16


edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(words, st.just("x" * 50))), max_size=8
)


def apply(text: str, place: float, n_removed: int, inserted: str) -> tuple[str, int, int]:
    start = int(place * len(text))
    n_removed = min(n_removed, len(text) - start)
    return text[:start] + inserted + text[start + n_removed :], start, n_removed


@given(lines, edits, st.integers(1, 12), TABLES)
def test_the_parts_of_a_long_line_tile_it_after_every_edit(text, changes, width, glyphs):
    line = SmallWrapped(text, width, glyphs)
    for place, n_removed, inserted in changes:
        text, start, n_removed = apply(text, place, n_removed, inserted)
        line.replace(text, start, n_removed, len(inserted))
        bounds = [line.row_bounds(row) for row in range(len(line) + 1)]
        assert [bound[0] for bound in bounds] == [0, *(bound[1] for bound in bounds[:-1])]
        assert bounds[-1][1] == len(text)
        assert all(lay_out(text[a:b], glyphs).width <= width or b - a <= 3 for a, b in bounds)
        for row, (first, last) in enumerate(bounds):
            assert [line.row_of(column) for column in range(first, last)] == [row] * (last - first)
        assert line.row_of(len(text)) == len(line)


@given(lines, edits, TABLES)
def test_a_flat_long_line_knows_its_cells_after_every_edit(text, changes, glyphs):
    line = SmallFlat(text, 0, glyphs)
    for place, n_removed, inserted in changes:
        text, start, n_removed = apply(text, place, n_removed, inserted)
        line.replace(text, start, n_removed, len(inserted))
    parts = [text[a:b] for a, b in zip(line.starts, line.starts[1:], strict=False)]
    assert "".join(parts) == text
    assert line.extents == [
        sum(lay_out(part, glyphs).width for part in parts[:n]) for n in range(len(parts) + 1)
    ]
    assert all(parts) or not text
