from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokviz.live.find import MAX_MATCHES, REGEX_SECONDS, FindQuery, Matches, escaped, find_all


def spans(text: str, query: FindQuery) -> list[tuple[int, int]]:
    matches = find_all(text, query)
    return list(zip(matches.starts, matches.ends, strict=True))


def test_case_is_ignored_unless_it_matters() -> None:
    assert spans("Token token", FindQuery("token")) == [(0, 5), (6, 11)]
    assert spans("Token token", FindQuery("token", case=True)) == [(6, 11)]


def test_plain_text_is_no_pattern() -> None:
    assert spans("a.b axb", FindQuery("a.b")) == [(0, 3)]
    assert spans("a.b axb", FindQuery("a.b", regex=True)) == [(0, 3), (4, 7)]


def test_anchors_are_those_of_lines() -> None:
    assert spans("ab\nab", FindQuery("^a", regex=True)) == [(0, 1), (3, 4)]


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


def test_exploding_pattern_ends_with_what_was_found() -> None:
    text = "aab " + "a" * 60 + "!"
    matches = find_all(text, FindQuery(r"(a|aa)+b", regex=True), seconds=0.05)
    assert "too long" in matches.problem
    assert not matches.complete
    assert list(matches.starts) == [0]


def test_more_matches_than_the_limit_are_not_counted() -> None:
    matches = find_all("a" * (MAX_MATCHES + 5), FindQuery("a", case=True))
    assert len(matches) == MAX_MATCHES
    assert not matches.complete


def test_search_ends_when_told_to() -> None:
    assert len(find_all("a" * 10_000, FindQuery("a", case=True), stop=lambda: True)) == 1024


def test_nearest_match_is_at_or_after_and_goes_round() -> None:
    matches = find_all("a.a.a", FindQuery("a"))
    assert [matches.nearest(offset) for offset in (0, 1, 4, 5)] == [0, 1, 2, 0]
    assert Matches().nearest(0) is None


def test_an_expression_that_never_ends_is_given_up_within_a_second_and_that_is_said() -> None:
    assert REGEX_SECONDS < 1
    matches = find_all("a" * 50_000 + "b", FindQuery("(a+)+$", regex=True), seconds=0.1)
    assert not matches.complete
    assert matches.problem == (
        "Stopped, since it took too long: the expression can match in too many ways. "
        "Try a simpler one."
    )


@pytest.mark.parametrize("pattern", ["a+b?", "(?<=b)a|c", "a*", r"\bx", "(a|ab)(c|bcd)?"])
def test_a_search_in_steps_finds_what_one_step_finds(
    monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    text = "aab abcd caab x ab c " * 2_000
    query = FindQuery(pattern, regex=True)
    whole = find_all(text, query, seconds=60)

    class Hasty:
        """Gives up after every third match, as a step does whose time is over."""

        def __init__(self, compiled: regex.Pattern[str]) -> None:
            self.compiled, self.flags, self.pattern = compiled, compiled.flags, compiled.pattern

        def finditer(self, text: str, at: int, **_: object) -> Iterator[regex.Match[str]]:
            for number, match in enumerate(self.compiled.finditer(text, at)):
                if number == 3:
                    raise TimeoutError
                yield match

    compile_whole = regex.compile
    monkeypatch.setattr(regex, "compile", lambda *given: Hasty(compile_whole(*given)))
    assert find_all(text, query, seconds=60) == whole
