from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset

from tests.oracles.nasty import FRAGMENTS, byte_texts, texts
from tokviz.live.document import LiveDocument
from tokviz.text.glyphs import HIDDEN, SHOWN, Glyphs
from tokviz.tui.widgets.editor import long_line, wrapping
from tokviz.tui.widgets.editor.document import ExactDocument
from tokviz.tui.widgets.editor.long_line import FlatLongLine, WrappedLongLine
from tokviz.tui.widgets.editor.navigation import ExactNavigator, word_around, word_left, word_right
from tokviz.tui.widgets.editor.wrapping import ExactWrappedDocument, RowPart

any_text = st.one_of(texts, byte_texts)
widths = st.sampled_from([0, 1, 2, 5, 8, 13, 40])
tables = st.sampled_from([SHOWN, HIDDEN])


def wrapped(text: str, width: int, glyphs=SHOWN, on_laid_out=None) -> ExactWrappedDocument:
    return ExactWrappedDocument(ExactDocument(LiveDocument(text)), width, glyphs, on_laid_out)


def rows_of(document: ExactWrappedDocument) -> list[RowPart]:
    rows: list[RowPart] = []
    while len(rows) < document.height:
        rows.append(document.row_part(len(rows), 0, 10_000))
    return rows


@pytest.fixture(params=["short lines", "long lines"])
def small_parts(request, monkeypatch):
    """Run a test again with short lines treated as very long ones."""
    if request.param == "long lines":
        monkeypatch.setattr(WrappedLongLine, "PART_SIZE", 16)
        monkeypatch.setattr(FlatLongLine, "PART_SIZE", 16)
        monkeypatch.setattr(wrapping, "_LONG_WRAPPED", 24)
        monkeypatch.setattr(wrapping, "_LONG_FLAT", 24)


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the parts of long lines that are laid out."""
    found: list[int] = []
    for name in ("breaks", "is_plain"):
        lay_out = getattr(long_line, name)

        def counted(part: str, *how: Any, lay_out: Any = lay_out) -> Any:
            found.append(len(part))
            return lay_out(part, *how)

        monkeypatch.setattr(long_line, name, counted)
    return found


@pytest.mark.usefixtures("small_parts")
class TestLongOrShort:
    @given(any_text, widths, tables)
    def test_every_location_that_the_cursor_visits_maps_to_a_cell_and_back(
        self, text, width, glyphs
    ):
        document = wrapped(text, width, glyphs)
        navigator = ExactNavigator(document)
        location, seen = (0, 0), set()
        while location not in seen:
            seen.add(location)
            offset = document.location_to_offset(location)
            assert document.offset_to_location(offset) == location
            location = navigator.get_location_right(location)
        assert location == document.document.end
        if glyphs is SHOWN:  # every character is a place of its own
            assert len(seen) == len(text) + 1

    @given(any_text, widths, tables)
    def test_going_left_retraces_going_right(self, text, width, glyphs):
        navigator = ExactNavigator(wrapped(text, width, glyphs))
        trail = [(0, 0)]
        while (right := navigator.get_location_right(trail[-1])) != trail[-1]:
            trail.append(right)
        for before, location in zip(reversed(trail[:-1]), reversed(trail), strict=False):
            assert navigator.get_location_left(location) == before

    @given(any_text, widths, tables)
    def test_the_rows_show_every_character_once(self, text, width, glyphs):
        document = wrapped(text, width, glyphs)
        parts = rows_of(document)
        by_line = [""] * document.document.line_count
        for part in parts:
            assert len(by_line[part.line]) == part.start
            by_line[part.line] += part.text
            if width:
                assert part.cells.width <= width or sum(map(bool, part.cells.glyphs)) == 1
            assert width or part.cells.width <= document.widest
        assert by_line == document.document.lines

    @given(
        any_text,
        widths,
        st.lists(
            st.tuples(
                st.tuples(st.integers(0, 9), st.integers(0, 60)),
                st.tuples(st.integers(0, 9), st.integers(0, 60)),
                st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join),
            ),
            max_size=6,
        ),
    )
    def test_edits_leave_the_same_rows_as_wrapping_anew(self, text, width, edits):
        document = wrapped(text, width)
        for start, end, inserted in edits:
            document.document.replace_range(start, end, inserted)
            document.wrap_range((0, 0), (0, 0), (0, 0))
            rows = rows_of(document)
            lines = document.document.lines
            assert [part.line for part in rows if part.start == 0 and part.cell == 0] == list(
                range(len(lines))
            )
            if wrapping._LONG_WRAPPED > 100:
                assert rows == rows_of(wrapped(document.document.text, width))
            else:  # where parts of long lines end depends on their history
                assert "\n".join(lines) == "".join(
                    ("\n" if part.start == 0 and part.line else "") + part.text for part in rows
                )

    @given(any_text, st.integers(0, 60), st.integers(1, 20), tables)
    def test_a_flat_row_gives_all_characters_in_the_view(self, text, first_cell, n_cells, glyphs):
        document = wrapped(text, 0, glyphs)
        for row in range(document.height):
            whole = document.row_part(row, 0, 10_000)
            part = document.row_part(row, first_cell, n_cells)
            for index in range(len(whole.text)):
                # A mark that is drawn on its letter is in view with the letter.
                drawn_at = whole.cells.starts[whole.cells.visitable(index)]
                if first_cell <= drawn_at < first_cell + n_cells:
                    here = index - part.start
                    assert part.text[here] == whole.text[index]
                    assert part.cell + part.cells.starts[here] == whole.cells.starts[index]


@pytest.mark.parametrize("width", [50, 0])
@pytest.mark.parametrize(
    "around",
    [("", ""), ("ab", "cd"), ("x " * 50_000, "y " * 50_000)],
    ids=["alone", "in a short line", "in a long line"],
)
@pytest.mark.parametrize(
    "text",
    ["word " * 50_000, "a\n" * 9 + "word " * 50_000 + "\nb" * 9],
    ids=["one line", "lines"],
)
def test_of_a_long_line_only_what_is_new_and_looked_at_is_laid_out(
    width: int, around: tuple[str, str], text: str, laid_out: list[int]
) -> None:
    before, behind = around
    document = wrapped(before + behind, width, on_laid_out=lambda row, change: None)
    laid_out.clear()
    place = (0, len(before))
    end = document.document.replace_range(place, place, text).end_location
    assert sum(laid_out) < 50_000
    undone = document.document.replace_range(place, end, "")
    assert undone.replaced_text == text
    assert sum(laid_out) < 100_000
    assert document.document.text == before + behind


@pytest.mark.parametrize("width", [50, 0])
def test_a_long_line_is_wrapped_anew_where_it_is_looked_at(width: int, laid_out: list[int]) -> None:
    text = "some words, 世界, e\u0301 " * 20_000
    document = wrapped(text, width, on_laid_out=lambda row, change: None)
    for place in ((0, 0), (0, len(text) // 2), (0, len(text))):
        document.location_to_offset(place)
    document.wrap(2 * width)
    document.location_to_offset((0, len(text)))
    assert sum(laid_out) < 100_000
    assert document.height == pytest.approx(wrapped(text, 2 * width).height, rel=0.1)


def test_an_edit_of_a_long_line_reads_only_what_is_around_it(monkeypatch):
    text = "word " * 200_000
    document = wrapped(text, 50, on_laid_out=lambda row, change: None)
    read: list[int] = []
    text_in = LiveDocument.text_in

    def counted(self: LiveDocument, lo: int, hi: int) -> str:
        read.append(hi - lo)
        return text_in(self, lo, hi)

    monkeypatch.setattr(LiveDocument, "text_in", counted)
    place = (0, 500_000)
    document.document.replace_range(place, place, "x")
    assert document.location_to_offset((0, 500_001)).y == pytest.approx(10_000, rel=0.01)
    assert sum(read) < 50_000


def test_a_line_before_lines_that_nobody_looked_at_leaves_them_as_they_are(monkeypatch):
    monkeypatch.setattr(wrapping, "_BLOCK_SIZE", 40)
    live = LiveDocument("", chunk_target=8)
    document = ExactWrappedDocument(ExactDocument(live), 0, SHOWN, lambda row, change: None)
    start = (0, 0)
    for inserted in (f"\n{' ' * 7}\n{'x' * 40}", "\n"):
        document.document.replace_range(start, start, inserted)
    assert rows_of(document) == rows_of(wrapped(live.text, 0))


lines_of_any_length = st.lists(st.one_of(texts, st.sampled_from(FRAGMENTS)), max_size=12)


@given(
    lines_of_any_length.map("\n".join),
    widths,
    st.lists(
        st.tuples(
            st.sampled_from(["row", "location", "edit"]),
            st.tuples(st.integers(0, 30), st.integers(0, 60)),
            st.tuples(st.integers(0, 30), st.integers(0, 60)),
            lines_of_any_length.map("\n".join),
        ),
        max_size=8,
    ),
)
def test_lines_laid_out_when_they_are_looked_at_have_the_rows_of_lines_laid_out_at_once(
    text, width, steps
):
    told: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapping, "_BLOCK_SIZE", 40)
        live = LiveDocument(text, chunk_target=8)
        document = ExactWrappedDocument(
            ExactDocument(live), width, SHOWN, lambda row, change: told.append(change)
        )
        height = document.height
        for what, place, other, inserted in steps:
            if what == "row":
                row = min(place[0], document.height - 1)
                location = document.offset_to_location(Offset(place[1], row))
                row = min(row, document.height - 1)  # it was a guess
                assert document.location_to_offset(location).y == row
            elif what == "location":
                before = document.height
                told.clear()
                offset = document.location_to_offset(place)
                assert document.height == before + sum(told)
                assert document.location_to_offset(document.offset_to_location(offset)) == offset
            else:
                document.document.replace_range(place, other, inserted)
        height = document.height
        told.clear()
        rows_of(document)
        assert document.height == height + sum(told)
        assert rows_of(document) == rows_of(wrapped(live.text, width))


@pytest.fixture(params=[(1, 1), (3, 1), (1, 4)])
def guessing(request, monkeypatch):
    """Estimate the rows of lines that have more than a few small parts."""
    monkeypatch.setattr(WrappedLongLine, "PART_SIZE", 12)
    monkeypatch.setattr(FlatLongLine, "PART_SIZE", 12)
    monkeypatch.setattr(wrapping, "_LONG_WRAPPED", 24)
    monkeypatch.setattr(wrapping, "_LONG_FLAT", 24)
    monkeypatch.setattr(wrapping, "_BLOCK_SIZE", 100)
    most_at_once, coarse = request.param
    monkeypatch.setattr(long_line, "_MOST_AT_ONCE", most_at_once)
    monkeypatch.setattr(long_line, "_COARSE", coarse)


runs = st.tuples(st.sampled_from([*FRAGMENTS, "word ", "x", "世", "\t"]), st.integers(1, 40))
long_lines = st.lists(
    st.lists(runs, max_size=8).map(lambda found: "".join(text * n for text, n in found)), max_size=3
).map("\n".join)


@pytest.mark.usefixtures("guessing")
class TestGuesses:
    @given(
        long_lines,
        widths,
        st.lists(
            st.tuples(
                st.sampled_from(["row", "location", "last row", "wrap", "edit"]),
                st.tuples(st.integers(0, 9), st.integers(0, 400)),
                st.tuples(st.integers(0, 9), st.integers(0, 400)),
                long_lines,
            ),
            max_size=8,
        ),
    )
    def test_every_look_agrees_with_what_was_told_of_the_rows(self, text, width, steps):
        told: list[tuple[int, int]] = []
        document = wrapped(text, width, on_laid_out=lambda row, change: told.append((row, change)))
        for what, place, other, inserted in steps:
            before = document.height
            told.clear()
            if what == "row":
                row = min(7 * place[0], before - 1)
                location = document.offset_to_location(Offset(place[1], row))
                assert document.location_to_offset(location).y == min(row, document.height - 1)
            elif what == "location":
                offset = document.location_to_offset(place)
                location = document.offset_to_location(offset)
                assert document.location_to_offset(location) == offset
            elif what == "last row":
                column = document.get_target_document_column(0, place[1], -1)
                assert document.row_bounds((0, column))[2]
            if what not in ("wrap", "edit"):
                assert document.height == before + sum(change for _, change in told)
            elif what == "wrap":
                document.wrap(width + 1)
                document.wrap(width)
            else:
                document.document.replace_range(place, other, inserted)
        for _ in range(100):
            height = document.height
            told.clear()
            rows = rows_of(document)
            assert document.height == height + sum(change for _, change in told)
            if not told:
                break
        assert not told
        lines = document.document.lines
        assert "\n".join(lines) == "".join(
            ("\n" if part.start == 0 and part.line else "") + part.text for part in rows
        )
        if width:
            assert all(
                part.cells.width <= width or sum(map(bool, part.cells.glyphs)) == 1 for part in rows
            )
        # Otherwise it depends on what was looked at where parts end.
        if long_line._COARSE == 1 and not any(what == "edit" for what, *_ in steps):
            assert rows == rows_of(wrapped(text, width))


def test_a_line_nobody_looked_at_is_not_laid_out(monkeypatch):
    seen: list[int] = []
    laid_out = wrapping.breaks

    def noted(text: str, width: int, glyphs: Glyphs) -> tuple[int, ...]:
        seen.append(len(text))
        return laid_out(text, width, glyphs)

    monkeypatch.setattr(wrapping, "breaks", noted)
    text = "some words of a line that takes two rows, 世界\n" * 100_000
    document = wrapped(text, 30, on_laid_out=lambda row, change: None)
    assert document.height == pytest.approx(200_000, rel=0.1)
    assert document.location_to_offset((50_000, 40)).x > 0
    assert len(document.offset_to_location(Offset(0, 150_000))) == 2
    document.document.replace_range((70_000, 0), (70_000, 0), "x")
    assert len(seen) < 10_000


def test_the_rows_of_prose_code_and_wide_characters_are_guessed_well():
    for line in ("word " * 100, "x = 1", "世界" * 60, ""):
        text = f"{line}\n" * 20_000
        guessed = wrapped(text, 50, on_laid_out=lambda row, change: None).height
        assert guessed == pytest.approx(wrapped(text, 50).height, rel=0.1)


def test_a_long_line_that_became_short_is_wrapped_as_a_short_one():
    document = wrapped("x" * 100_000, 50)
    assert document.height > 2_000
    document.document.replace_range((0, 10), (0, 99_990), "")
    assert document.height == 1


def test_cells_beside_the_text_map_to_the_nearest_location():
    document = wrapped("one two three\n\nx", 8)
    assert document.height == 4
    assert document.offset_to_location(Offset(50, 0)) == (0, 7)  # behind is the next row
    assert document.offset_to_location(Offset(50, 1)) == (0, 13)
    assert document.offset_to_location(Offset(-3, 2)) == (1, 0)
    assert document.offset_to_location(Offset(0, 99)) == (2, 0)
    assert document.offset_to_location(Offset(0, -9)) == (0, 0)


def test_a_wide_character_is_one_place_over_two_cells():
    document = wrapped("a世b", 8)
    assert [document.offset_to_location(Offset(x, 0))[1] for x in range(5)] == [0, 1, 1, 2, 3]


def test_a_letter_with_a_mark_is_two_places_only_if_invisibles_are_shown():
    assert wrapped("e\u0301x", 8, SHOWN).location_to_offset((0, 2)) == (2, 0)
    hidden = wrapped("e\u0301x", 8, HIDDEN)
    assert hidden.location_to_offset((0, 2)) == (1, 0)
    assert hidden.location_to_offset((0, 1)) == (0, 0)
    assert hidden.visitable((0, 1)) == (0, 0)


def test_up_and_down_keep_the_column_over_short_rows():
    navigator = ExactNavigator(wrapped("abcdef\nx\nabcdef", 20))
    navigator.last_x_offset = 4
    assert navigator.get_location_below((0, 4)) == (1, 1)
    assert navigator.get_location_below((1, 1)) == (2, 4)
    assert navigator.get_location_above((2, 4)) == (1, 1)
    assert navigator.get_location_above((0, 3)) == (0, 0)
    assert navigator.get_location_below((2, 3)) == (2, 6)


def test_home_and_end_are_those_of_the_row():
    navigator = ExactNavigator(wrapped("one two three", 8))
    assert navigator.get_location_end((0, 2)) == (0, 7)
    assert navigator.get_location_home((0, 10)) == (0, 8)
    assert navigator.get_location_end((0, 10)) == (0, 13)


def test_home_goes_to_the_indented_text_first():
    navigator = ExactNavigator(wrapped("    code", 20))
    assert navigator.get_location_home((0, 8), smart_home=True) == (0, 4)
    assert navigator.get_location_home((0, 4), smart_home=True) == (0, 0)
    assert navigator.get_location_home((0, 0), smart_home=True) == (0, 4)


@pytest.mark.parametrize(
    ("line", "column", "left", "right"),
    [
        ("one two three", 6, 4, 7),
        ("one two three", 4, 0, 7),
        ("one  two", 3, 0, 8),
        ("a.b", 1, 0, 2),
        ("", 0, 0, 0),
        ("x" * 3000, 2999, 0, 3000),
        ("x " + "y" * 3000, 2999, 2, 3002),
    ],
)
def test_word_moves(line, column, left, right):
    assert (word_left(line, column), word_right(line, column)) == (left, right)


def test_the_word_at_a_double_click():
    assert word_around("one two", 5) == (4, 7)
    assert word_around("one two", 3) == (3, 4)
    assert word_around("a == b", 3) == (2, 4)
    assert word_around("word", 4) == (0, 4)
    assert word_around("", 0) == (0, 0)
