from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tokviz.explain.facts import entry_of
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.explain.vocabulary.query import parse_query
from tokviz.explain.vocabulary.search import LengthCount, Searcher
from tokviz.text.glyphs import UNSAFE
from tokviz.tokenizer.report import FileFinding, Report
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.screens.vocabulary.table import TokenRow, fit_columns, head_text
from tokviz.tui.screens.vocabulary.token_page import (
    TokenPage,
    check_rows,
    length_value,
    overview_rows,
    page_rows,
    syntax_rows,
)
from tokviz.tui.widgets.fit import bar_text
from tokviz.tui.widgets.spans import Row


def text_of(rows: list[Row]) -> str:
    return "\n".join("".join(span.text for span in row) for row in rows)


def width_of(rows: list[Row]) -> int:
    return max(sum(cell_len(span.text) for span in row) for row in rows)


# -- columns


@given(st.integers(1, 7), st.integers(0, 7))
@example(6, 0)
@example(6, 6)
def test_columns_fill_a_row_and_never_overlap(id_digits: int, merge_digits: int) -> None:
    for width in range(24, 200):
        columns = fit_columns(width, id_digits, merge_digits)
        end = 0
        for column in columns:
            assert column.start > end, width
            end = column.start + column.width
        assert end <= width
        assert [column.name for column in columns][:2] == ["id", "token"]


def test_wide_rows_show_more() -> None:
    assert {column.name for column in fit_columns(160, 6, 6)} == {
        "id", "token", "hex", "bytes", "chars", "merge", "kind", "uses",
    }  # fmt: skip
    assert [column.name for column in fit_columns(26, 6)] == ["id", "token"]


@given(st.binary(min_size=1, max_size=300), st.integers(20, 120))
def test_no_cell_is_wider_than_its_column_or_holds_what_a_terminal_obeys(
    token: bytes, width: int
) -> None:
    row = TokenRow(2**33, token, 3, -1, "Canadian-Aboriginal", False, True, False, 10**9)
    for column in fit_columns(width, 10, 10):
        text = row.cell(column)
        assert cell_len(text) <= column.width
        assert UNSAFE.search(text) is None
        assert cell_len(head_text(column, "length", True)) == column.width


def test_the_head_marks_what_the_list_is_sorted_by() -> None:
    heads = {column.name: head_text(column, "length", True) for column in fit_columns(100, 6)}
    assert "▼" in heads["bytes"]
    assert not any("▼" in head for name, head in heads.items() if name != "bytes")


# -- overview


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 80))
def test_bars_are_as_long_as_their_share(value: int, most: int, width: int) -> None:
    bar = bar_text(min(value, most), most, width)
    assert len(bar) <= max(width, 1)
    assert bool(bar) == (min(value, most) > 0)


def test_classes_of_lengths_are_spelled_as_they_are_searched_for() -> None:
    counts = [LengthCount(3, 3, 1), LengthCount(13, 16, 1), LengthCount(65, 2**62, 1)]
    assert [length_value(count) for count in counts] == ["3", "13-16", ">64"]
    for count in counts:
        (term,) = parse_query(f"len:{length_value(count)}").terms
        assert (term.low, term.high) == (count.first, count.last)  # type: ignore[union-attr]


@pytest.mark.parametrize("width", [20, 44, 100])
def test_overview_fits_its_width_and_marks_what_is_filtered(width: int) -> None:
    tok = Tokenizer({0: b"a", 1: b"bc", 2: "世".encode()}, [])
    query = "script:han len:3"
    selection = Searcher(VocabularyIndex(tok)).select(parse_query(query))
    rows = overview_rows(selection, query, width)
    assert width_of(rows) <= max(width, 24)
    assert "● Han" in text_of(rows) and "●     3" in text_of(rows)


# -- pages

SMALL = Tokenizer(
    {**{byte: bytes([byte]) for byte in range(256)}, 256: b"ab", 257: b"abab"},
    [(b"a", b"b"), (b"ab", b"ab")],
    {"<|end|>": 300},
)


@given(st.sampled_from([*range(258), 300]))
@example(0)
@example(0xE4)
@example(97)
@example(256)
@example(257)
@example(300)
def test_a_tokens_page_fits_its_width(token_id: int) -> None:
    page = TokenPage(entry_of(SMALL, token_id), "Latin", True, 3, (1, 2), ((b"ab", 256),))
    for width in (16, 30, 46, 100):
        rows = page_rows(page, width)
        assert width_of(rows) <= max(width, 30)
        assert "unre" in text_of(rows), width


def test_a_page_tells_what_is_not_known_yet() -> None:
    page = TokenPage(entry_of(SMALL, 256), "Latin", None, 0, ())
    assert "Merged into …" in text_of(page_rows(page, 46))
    assert "not in your text" in text_of(page_rows(page, 46))


def test_findings_are_told_with_place_message_and_remedy() -> None:
    report = Report(
        "x.json",
        (FileFinding("error", "a", "line 3", "token \x1b[2J is twice there", "remove one"),),
        ("every byte has a token",),
    )
    text = text_of(check_rows(SMALL, report, 60))
    assert "✗ line 3: token ␛[2J is twice there" in text
    assert "→ remove one" in text and "✓ every byte has a token" in text
    assert "No problems" in text_of(check_rows(SMALL, Report("x"), 60))
    assert "Checking…" in text_of(check_rows(SMALL, None, 60))


def test_a_tokenizer_that_changes_text_is_called_lossy() -> None:
    tok = Tokenizer({0: b"a"}, [])
    tok.lossy = True
    assert "lossy" in text_of(check_rows(tok, Report("x"), 60))


@pytest.mark.parametrize("width", [20, 46, 100])
def test_search_help_fits_its_width(width: int) -> None:
    assert width_of(syntax_rows(width)) <= max(width, 28)
