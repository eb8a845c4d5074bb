from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.process.jobs.conftest import Splitter
from tests.profiles import examples
from tokviz.errors import JobError, PatternError
from tokviz.process.jobs.split_client import (
    PreToken,
    SplitClient,
    SplitResult,
)
from tokviz.process.limits import Limits
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.regex_process import text_requests
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.pretokenize.split_steps import Split


def test_pre_tokens_of_a_regex(splitter: Splitter) -> None:
    assert splitter.pre_tokens(r"\w+|\s+|[^\w\s]+", "Hello, world") == ["Hello", ",", " ", "world"]


def test_unmatched_text_becomes_a_flagged_pre_token(splitter: Splitter) -> None:
    assert splitter.spans(r"[a-z]+", "ab12cd!") == [
        PreToken(0, 2),
        PreToken(2, 4, gap=True),
        PreToken(4, 6),
        PreToken(6, 7, gap=True),
    ]


def test_matches_without_width_are_counted_and_cut_nothing(splitter: Splitter) -> None:
    result = splitter.result_of(splitter.start(r"b*", "abba"))
    assert (result.n_zero_width, result.n_gaps) == (3, 2)


def test_raw_bytes_survive_the_way_to_the_child(splitter: Splitter) -> None:
    assert splitter.pre_tokens(r"\udc80+|[^\udc80]+", "a\udc80\udcff\U0001f600") == [
        "a",
        "\udc80",
        "\udcff\U0001f600",
    ]


def test_empty_text_has_no_pre_tokens(splitter: Splitter) -> None:
    assert splitter.spans(r"\w+") == []


@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chunks=st.lists(st.text("ab \n1é\udcff", max_size=6), max_size=8))
def test_edits_sent_as_differences_equal_a_fresh_split(
    splitter: Splitter, chunks: list[str]
) -> None:
    pattern = SplitPattern("custom", r"[a-z]+|\s", "custom")
    expected = split(pattern, "".join(chunks))
    spans = splitter.spans(pattern.regex, *chunks)
    assert [pre_token.end for pre_token in spans] == list(expected.ends)
    assert tuple(i for i, pre_token in enumerate(spans) if pre_token.gap) == expected.gaps


def test_a_kept_text_is_not_sent_again() -> None:
    memory: dict[str, object] = {}
    chunks = [TextPart("one "), TextPart("two "), TextPart("three")]
    assert len(list(text_requests(chunks, memory))) == 2
    assert list(text_requests(list(chunks), memory)) == []
    assert list(text_requests([chunks[0], TextPart("2 "), TextPart("three")], memory)) == [
        {"do": "text", "text": "2 "},
        {"do": "replace", "start": 4, "removed": 4},
    ]


def test_an_invalid_regex_names_its_position(splitter: Splitter) -> None:
    with pytest.raises(PatternError) as caught:
        splitter.pre_tokens("a(b", "text")
    assert caught.value.position == 3
    assert caught.value.reason


def test_the_child_goes_on_after_an_invalid_regex(splitter: Splitter) -> None:
    splitter.pre_tokens("a", "a")
    pid = splitter.client.pid
    with pytest.raises(PatternError):
        splitter.pre_tokens("(", "a")
    assert splitter.pre_tokens("a", "a") == ["a"]
    assert splitter.client.pid == pid


def test_an_exploding_regex_is_stopped_and_the_next_one_works(
    make_splitter: Callable[..., Splitter],
) -> None:
    splitter = make_splitter(seconds=0.3)
    with pytest.raises(PatternError) as caught:
        splitter.result_of(splitter.start(r"(?:z|z)*b|\w+|\s+", "one ", "z" * 34, " two"))
    assert str(caught.value) == (
        r"split pattern '(?:z|z)*b|\w+|\s+': takes longer than 0.3 s for one pre-token at "
        r"character 4 "
        f"of the text, '{'z' * 24}'…"
    )
    assert splitter.pre_tokens(r"a+|b", "a" * 3 + "b") == ["aaa", "b"]


def test_a_regex_that_takes_long_to_compile_is_stopped(
    make_splitter: Callable[..., Splitter],
) -> None:
    splitter = make_splitter(seconds=0.15)
    with pytest.raises(PatternError, match="takes too long to compile"):
        splitter.pre_tokens("|".join(f"w{n}x" for n in range(100_000)), "w1x")


def test_a_big_text_goes_on_beyond_the_patience(make_splitter: Callable[..., Splitter]) -> None:
    splitter = make_splitter(seconds=0.3)
    text = "some words and 123 numbers\n" * 40_000
    # Slow enough to take several times the patience, with constant progress.
    regex = r"(?:(?:\w+|\s+)(?<=(?=(\w|\s){1,40}).{1,40}))|[^\w\s]+"
    result = splitter.result_of(splitter.start(regex, text))
    assert result.n_chars == len(text)


def test_a_newer_split_silences_the_older(make_splitter: Callable[..., Splitter]) -> None:
    splitter = make_splitter(seconds=60)
    splitter.start_and_hang()
    newer = splitter.start(r"\w+", "word")
    assert splitter.result_of(newer).n_pre_tokens == 1


def test_a_text_too_large_for_the_childs_memory_is_reported(
    make_splitter: Callable[..., Splitter],
) -> None:
    splitter = make_splitter(limits=Limits(memory_mb=100), seconds=10)
    with pytest.raises(JobError, match=r"memory|Memory"):
        splitter.pre_tokens(r"\w+", "中" * 20_000_000)


def test_nothing_is_started_before_the_first_split() -> None:
    client = SplitClient(lambda *_: None, lambda *_: None, lambda *_: None)
    assert client.pid is None
    client.close()


def _result(parts: list[list[int]], gaps: list[set[int]]) -> tuple[SplitResult, list[PreToken]]:
    """Build a result from pre-token lengths, part by part, and the same as a plain list."""
    result, plain, position = SplitResult(), [], 0
    for lengths, gap_indexes in zip(parts, gaps, strict=True):
        start, ends = position, array("q")
        for index, length in enumerate(lengths):
            plain.append(PreToken(position, position + length, index in gap_indexes))
            position += length
            ends.append(position)
        kept = tuple(sorted(index for index in gap_indexes if index < len(lengths)))
        result.add(Split(ends, kept, 1, start))
    return result, plain


_PARTS = st.lists(
    st.tuples(st.lists(st.integers(1, 5), max_size=5), st.sets(st.integers(0, 4))), max_size=5
)


@given(_PARTS, st.integers(0, 40), st.integers(0, 40))
def test_pre_tokens_in_a_range_are_those_that_touch_it(
    drawn: list[tuple[list[int], set[int]]], lo: int, hi: int
) -> None:
    result, plain = _result([lengths for lengths, _ in drawn], [gaps for _, gaps in drawn])
    expected = [p for p in plain if p.start < hi and p.end > lo] if lo < hi else []
    assert result.pre_tokens_in(lo, hi) == expected


@given(_PARTS)
def test_counts_add_up(drawn: list[tuple[list[int], set[int]]]) -> None:
    result, plain = _result([lengths for lengths, _ in drawn], [gaps for _, gaps in drawn])
    assert result.n_pre_tokens == len(plain)
    assert result.n_gaps == sum(pre_token.gap for pre_token in plain)
    assert result.n_zero_width == len(drawn)
    assert result.n_chars == (plain[-1].end if plain else 0)
