from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokviz.live import find
from tokviz.live.find import MAX_MATCHES, FindQuery, Matches, escaped, find_all
from tokviz.tokenizer.pretokenize import interactive_regex, regex_process


def spans(text: str, query: FindQuery) -> list[tuple[int, int]]:
    matches = find_all(text, query)
    return list(zip(matches.starts, matches.ends, strict=True))


def test_case_is_ignored_unless_it_matters() -> None:
    assert spans("Token token", FindQuery("token")) == [(0, 5), (6, 11)]
    assert spans("Token token", FindQuery("token", case=True)) == [(6, 11)]


def test_plain_text_is_not_a_pattern() -> None:
    assert spans("a.b axb", FindQuery("a.b")) == [(0, 3)]
    assert spans("a.b axb", FindQuery("a.b", regex=True)) == [(0, 3), (4, 7)]


def test_anchors_are_those_of_lines() -> None:
    assert spans("ab\nab", FindQuery("^a", regex=True)) == [(0, 1), (3, 4)]


def test_sets_can_be_intersected() -> None:
    assert spans("abc", FindQuery("[a-c&&[^b]]", regex=True)) == [(0, 1), (2, 3)]


def test_matches_of_no_length_are_left_out() -> None:
    assert spans("baab", FindQuery("a*", regex=True)) == [(1, 3)]


def test_raw_bytes_of_byte_text_can_be_found() -> None:
    assert spans("caf\udce9!", FindQuery("\udce9")) == [(3, 4)]
    assert spans("caf\udce9!", FindQuery("\udce9", case=True)) == [(3, 4)]


@given(st.text("ab\u200b."), st.text("ab\u200b.", min_size=1, max_size=3))
def test_plain_search_equals_the_standard_library(text: str, wanted: str) -> None:
    expected = [match.span() for match in re.finditer(re.escape(wanted), text)]
    assert spans(text, FindQuery(wanted, case=True)) == expected
    assert spans(text, FindQuery(wanted)) == expected
    assert spans(text, FindQuery(escaped(wanted), regex=True)) == expected


def test_broken_pattern_is_a_sentence() -> None:
    matches = find_all("text", FindQuery("a(b", regex=True))
    assert matches.problem.startswith("The pattern does not work: missing )")
    assert len(matches) == 0


@pytest.mark.parametrize("pattern", ["(?r)a", r"(?=(\w)\K)"])
def test_pattern_that_does_not_go_forward_is_refused(pattern: str) -> None:
    matches = find_all("ab ab", FindQuery(pattern, regex=True))
    assert len(matches) == 0
    assert matches.problem.startswith("The pattern does not work: ")


def test_huge_pattern_is_refused_before_compiling() -> None:
    assert "too long" in find_all("text", FindQuery("|".join(["ab"] * 9999), regex=True)).problem


def test_exploding_pattern_is_an_error_that_names_the_limit(monkeypatch) -> None:
    monkeypatch.setattr(interactive_regex, "STEP_SECONDS", 0.05)
    matches = find_all("aab " + "a" * 60 + "!", FindQuery(r"(a|aa)+b", regex=True))
    assert matches.problem == (
        "The pattern does not work: takes longer than 0.05 s; try a simpler regex."
    )
    assert len(matches) == 0


def test_more_matches_than_the_limit_are_not_counted(monkeypatch) -> None:
    monkeypatch.setattr(find, "WORDS_SECONDS", 60.0)
    matches = find_all("a" * (MAX_MATCHES + 5), FindQuery("a", case=True))
    assert len(matches) == MAX_MATCHES
    assert not matches.complete


def test_a_search_can_be_stopped() -> None:
    assert len(find_all("a" * 10_000, FindQuery("a", case=True), stop=lambda: True)) == 1024


def test_nearest_match_is_at_or_after_and_goes_round() -> None:
    matches = find_all("a.a.a", FindQuery("a"))
    assert [matches.nearest(offset) for offset in (0, 1, 4, 5)] == [0, 1, 2, 0]
    assert Matches().nearest(0) is None


@pytest.mark.parametrize("pattern", ["a+b?", "(?<=b)a|c", "a*", r"\bx", "(a|ab)(c|bcd)?", "(?i)B"])
def test_the_child_finds_the_same_matches(pattern: str) -> None:
    text = "aab abcd\ncaab \udce9 x ab c\n" * 200
    here = [m.span() for m in regex.finditer(pattern, text, regex.MULTILINE) if m[0]]
    assert spans(text, FindQuery(pattern, regex=True, case=True)) == here
    assert spans(text[:-1], FindQuery(pattern, regex=True, case=True)) == [
        span for span in here if span[1] < len(text)
    ]


COMPILING = "(?:(?:a{100}){100}){50}"
"""Takes about a second to compile."""


@pytest.mark.parametrize("pattern", [COMPILING, "(a+)+$"])
def test_other_threads_run_during_a_search(pattern: str) -> None:
    find_all("a", FindQuery("b", regex=True))  # the child is there
    with ThreadPoolExecutor() as pool:
        search = pool.submit(find_all, "a" * 50_000 + "b", FindQuery(pattern, regex=True))
        turns = 0
        while not search.done():
            time.sleep(0.001)
            turns += 1
    # Had it been compiled here, all of it would have been one turn or two.
    assert turns > 100


def test_a_newer_search_cancels_an_older_one(monkeypatch) -> None:
    monkeypatch.setattr(interactive_regex, "STEP_SECONDS", 60)
    with ThreadPoolExecutor() as pool:
        older = pool.submit(find_all, "a" * 90 + "b", FindQuery("(a|aa)+$", regex=True))
        while not regex_process.client_for("find").pid:
            time.sleep(0.001)
        assert spans("ab", FindQuery("b", regex=True)) == [(1, 2)]
        assert not older.result().complete


@pytest.mark.parametrize(
    ("text", "query", "put", "expected"),
    [
        ("ab AB b", FindQuery("ab"), r"\1", r"\1 \1 b"),
        ("ab AB", FindQuery("ab", case=True), "", " AB"),
        ("ab ac", FindQuery(r"(a)(\w)", regex=True), r"\2\1\n", "ba\n ca\n"),
        ("a b", FindQuery(r"(?P<x>a)|(b)", regex=True), r"<\g<x>\2>", "<a> <b>"),
        ("\udce9 世", FindQuery(r"(\udce9|世)", regex=True), r"\1\1", "\udce9\udce9 世世"),
        ("aXbX", FindQuery("(?<=a)X", regex=True), "Y", "aYbX"),
    ],
    ids=["as typed", "nothing", "groups", "names", "raw bytes", "what stands before"],
)  # fmt: skip
def test_matches_are_replaced(text: str, query: FindQuery, put: str, expected: str) -> None:
    found = find_all(text, query, put=put)
    start, end, new = found.replaced_in(text)
    assert text[:start] + new + text[end:] == expected
    start, end, new = found.replaced_in(text, 0)
    assert (start, end, new) == (found.starts[0], found.ends[0], found.texts[0])


def test_a_replacement_with_an_unknown_group_is_an_error() -> None:
    for put in (r"\2", r"\g<x>", "\\"):
        problem = find_all("ab", FindQuery("(a)b", regex=True), put=put).problem
        assert problem.startswith("The pattern does not work: in the replacement, "), put
