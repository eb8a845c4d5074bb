"""Pre-tokens of the rows of the gloss."""

from __future__ import annotations

from array import array
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tokviz.live.changes import Change
from tokviz.live.document import LiveDocument
from tokviz.process.jobs.split import answer
from tokviz.process.jobs.split_client import PreToken, SplitResult
from tokviz.tokenizer.pretokenize.guard import split_of
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.pretokenize.split_steps import Split
from tokviz.tui.widgets.splits import rows
from tokviz.tui.widgets.splits.rows import CustomRow, KnownPreTokens, NamedRow, pre_tokens_near

TEXT = st.text("aB1 \n\r\t'!/.s中\u0301é", max_size=60)
NEAR = 300
WORDS = SplitPattern("custom", r"\w+|\s+", "custom")


def _result(pattern: SplitPattern, text: str) -> SplitResult:
    whole = split(pattern, text)
    result = SplitResult()
    result.add(whole)
    return result


def _touching(pattern: SplitPattern, text: str, lo: int, hi: int) -> list[PreToken]:
    spans = split(pattern, text).spans()
    return [PreToken(start, end) for start, end in spans if start < hi and end > lo and lo < hi]


@pytest.mark.parametrize("name", sorted(SPLIT_PATTERNS))
@given(
    before=TEXT, text=TEXT, repeat=st.integers(0, 12), lo=st.integers(0), size=st.integers(0, 80)
)
def test_pre_tokens_found_nearby_are_those_of_the_whole_text(
    name: str, before: str, text: str, repeat: int, lo: int, size: int
) -> None:
    pattern = SPLIT_PATTERNS[name]
    whole = before * repeat + text
    lo %= len(whole) + 1
    hi = min(lo + size, len(whole))
    near = pre_tokens_near(pattern, lambda a, b: whole[a:b], len(whole), lo, hi)
    assert near == _touching(pattern, whole, lo, hi)


def test_a_text_without_safe_cuts_nearby_is_left_to_a_thread() -> None:
    text = "a" * 50_000
    near = pre_tokens_near(
        SPLIT_PATTERNS["gpt2"], lambda a, b: text[a:b], len(text), 25_000, 25_010
    )
    assert near is None


def test_a_named_row_asks_once_and_uses_the_answer() -> None:
    asked: list[int | None] = []
    live = LiveDocument("a" * 50_000)
    row = NamedRow(live, "gpt2", lambda: asked.append(row.wanted))
    assert row.pre_tokens_in(25_000, 25_010) == []
    assert row.pre_tokens_in(26_000, 26_010) == []
    assert asked == [25_000]
    row.take_far(live.revision, _result(row.pattern, live.text))
    assert row.pre_tokens_in(25_000, 25_010) == [PreToken(0, 50_000)]


@given(
    old=st.text("ab ", max_size=30),
    inserted=st.text("ab ", max_size=4),
    place=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    view=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_pre_tokens_that_were_not_edited_keep_their_text(
    old: str, inserted: str, place: tuple[int, int], view: tuple[int, int]
) -> None:
    start, end = sorted(min(offset, len(old)) for offset in place)
    new = old[:start] + inserted + old[end:]
    known = KnownPreTokens(0, _result(WORDS, old), Change(start, end, start + len(inserted)))
    lo, hi = sorted(min(offset, len(new)) for offset in view)
    old_texts = [(first, last) for first, last in split(WORDS, old).spans()]
    shift = len(new) - len(old)
    position: int | None = None
    for pre_token in known.pre_tokens_in(lo, hi):
        assert 0 <= pre_token.start < pre_token.end <= len(new)
        assert pre_token.start < hi and pre_token.end > lo
        assert position is None or pre_token.start >= position
        position = pre_token.end
        if pre_token.start <= start and pre_token.end >= start + len(inserted):
            continue  # the edited pre-token
        if pre_token.end <= start:
            assert (pre_token.start, pre_token.end) in old_texts
        elif pre_token.start >= start + len(inserted) and pre_token.start - shift >= end:
            assert (pre_token.start - shift, pre_token.end - shift) in old_texts


def test_a_word_that_is_being_typed_stays_one_pre_token() -> None:
    known = KnownPreTokens(0, _result(WORDS, "one two three"), Change(5, 5, 6))
    assert known.pre_tokens_in(0, 14) == [
        PreToken(0, 3),
        PreToken(3, 4),
        PreToken(4, 8),
        PreToken(8, 9),
        PreToken(9, 14),
    ]


def test_what_is_written_between_two_pre_tokens_is_not_guessed_at() -> None:
    known = KnownPreTokens(0, _result(WORDS, "one two"), Change(7, 7, 8))
    assert known.pre_tokens_in(0, 8) == [PreToken(0, 3), PreToken(3, 4), PreToken(4, 7)]


def test_a_large_edit_is_not_guessed_at() -> None:
    known = KnownPreTokens(0, _result(WORDS, "one two"), Change(3, 3, 1000))
    assert known.pre_tokens_in(0, 1004) == [
        PreToken(0, 3),
        PreToken(1000, 1001),
        PreToken(1001, 1004),
    ]


def test_nothing_is_shown_of_a_text_that_was_replaced() -> None:
    live = LiveDocument("one two")
    row = CustomRow(live, lambda: None)
    row.begin()
    row.result.add(Split(array("q", [3, 4, 7])))
    row.finish()
    assert len(row.pre_tokens_in(0, 7)) == 3
    live.set_text("other text")
    row.note_changes()
    assert row.pre_tokens_in(0, 7) == []


def test_old_pre_tokens_stay_until_new_ones_have_come_that_far() -> None:
    live = LiveDocument("one two")
    row = CustomRow(live, lambda: None)
    row.begin()
    row.result.add(Split(array("q", [3, 4, 7])))
    row.finish()
    row.begin()
    row.result.add(Split(array("q", [1, 2])))
    assert row.pre_tokens_in(0, 2) == [PreToken(0, 1), PreToken(1, 2)]
    assert row.pre_tokens_in(0, 7) == [PreToken(0, 3), PreToken(3, 4), PreToken(4, 7)]
    row.fail()
    assert row.pre_tokens_in(0, 2) == [PreToken(0, 3)]


@examples(30)
@given(
    line=st.text("ab1x \u0301中", min_size=1, max_size=30),
    regex=st.sampled_from([r"\w+|\s", r"(?<=a)\w+", r"^\w+|\S", r"(?s)b.{7}|\s", r"\Ga|b+"]),
    share=st.floats(0, 1),
)
def test_what_is_in_view_is_cut_first_and_exact_in_the_end(
    line: str, regex: str, share: float
) -> None:
    """Run the code of the child process here, and request another split during the first."""
    wants: list[int] = []
    with patch.object(rows, "NEAR_CHARS", NEAR):
        live = LiveDocument((line + "\n") * (3 * NEAR // len(line)))
        lo = min(live.n_chars - 10, 2 * NEAR + 50)
        row = CustomRow(live, lambda: wants.append(1))
        row.begin()
        assert row.pre_tokens_in(lo, lo + 10) == [] and row.wanted == lo and wants == [1]
        start, text = row.text_near(lo) or (0, "")
        assert row.wanted is None and text == live.text_in(start, start + len(text))
        asked = {"do": "split", "regex": regex, "seconds": 5, "most": 3}
        state = {"text": live.text}

        def parts(**more: object) -> list[Split]:
            answers = answer({**asked, **more}, state)
            return [split_of(body) for body in answers]

        assert row.near is not None
        for part in parts(near=text, at=start):
            assert part.near
            row.near.result.add(part)
        guess = row.pre_tokens_in(lo, lo + 10)
        assert guess == row.near.pre_tokens_in(lo, lo + 10) != []
        whole = split(SplitPattern("custom", regex, "custom"), live.text)
        spans = [PreToken(*span, n in whole.gaps) for n, span in enumerate(whole.spans())]
        matched = [0, *(pre_token.end for pre_token in spans if not pre_token.gap)]
        until = matched[int(share * (len(matched) - 1))]
        first = [pre_token for pre_token in spans if pre_token.end <= until]
        if first:
            gaps = tuple(n for n, pre_token in enumerate(first) if pre_token.gap)
            row.result.add(Split(array("q", [one.end for one in first]), gaps))
        for part in parts(start=row.result.n_chars):
            assert not part.near
            row.result.add(part)
        row.finish()
        assert row.pre_tokens_in(0, live.n_chars) == spans and row.near is None
