from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tokviz.live.pre_tokens import PreTokenCounter
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tokenizer.pretokenize.split import split

ALPHABET = "aB1 \n\r\t'!/.s中\u0301\u2003\u0558é\udcff"
CHUNKS = st.lists(st.text(ALPHABET, max_size=8), max_size=8)


@pytest.mark.parametrize("name", sorted(SPLIT_PATTERNS))
@examples(150)
@given(snapshots=st.lists(CHUNKS, min_size=1, max_size=4))
def test_counts_of_any_chunks_equal_a_split_of_the_whole(
    name: str, snapshots: list[list[str]]
) -> None:
    counter = PreTokenCounter(SPLIT_PATTERNS[name])
    for chunks in snapshots:
        counter.update([*map(TextPart, chunks)])
        assert counter.advance(60)
        assert counter.n_pre_tokens == len(split(counter.pattern, "".join(chunks)))


@examples(300)
@given(
    data=st.data(),
    chunks=st.lists(st.text(ALPHABET, min_size=1, max_size=5), min_size=1, max_size=12),
)
def test_counts_survive_edits_in_the_middle(data: st.DataObject, chunks: list[str]) -> None:
    counter = PreTokenCounter(SPLIT_PATTERNS["gpt4o"])
    for _ in range(4):
        counter.update([*map(TextPart, chunks)])
        counter.advance(data.draw(st.sampled_from([0.0, 60.0])))
        first = data.draw(st.integers(0, len(chunks)))
        last = data.draw(st.integers(first, min(len(chunks), first + 2)))
        new = data.draw(st.lists(st.text(ALPHABET, max_size=5), max_size=3))
        chunks = [*chunks[:first], *new, *chunks[last:]]
    counter.update([*map(TextPart, chunks)])
    assert counter.advance(60)
    assert counter.n_pre_tokens == len(split(counter.pattern, "".join(chunks)))


def test_an_edit_splits_only_the_chunk_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    split_texts: list[str] = []

    def spy(pattern: object, text: str) -> object:
        split_texts.append(text)
        return split(counter.pattern, text)

    monkeypatch.setattr("tokviz.live.pre_tokens.split", spy)
    counter = PreTokenCounter(SPLIT_PATTERNS["gpt2"])
    counter.update([*map(TextPart, ["one", " two", " three", " four"])])
    counter.advance(60)
    split_texts.clear()
    counter.update([*map(TextPart, ["one", " two", " 3", " four"])])
    counter.advance(60)
    assert split_texts == [" 3"]


def test_counting_goes_in_slices() -> None:
    counter = PreTokenCounter(SPLIT_PATTERNS["gpt4"])
    counter.update([*map(TextPart, ["a", " b", " c"])])
    assert not counter.complete
    assert not counter.advance(0)
    assert counter.n_pre_tokens == 1
    assert not counter.advance(0)
    assert counter.advance(0)
    assert counter.n_pre_tokens == 3


@pytest.mark.parametrize("name", ["gpt2", "gpt4", "qwen2", "none"])
def test_a_long_run_is_counted_in_steps_and_an_edit_restarts_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.live.pre_tokens.LONG_GROUP", 50)
    monkeypatch.setattr("tokviz.live.pre_tokens.split", None)  # nothing is split in one go
    counter = PreTokenCounter(SPLIT_PATTERNS[name])
    chunks = ["7" * 40] * 9
    counter.update([*map(TextPart, chunks)])
    for n_edits in range(5):
        n_steps = 1
        while not counter.advance(0):
            n_steps += 1
        n_pre_tokens = len(split(counter.pattern, "".join(chunks)))
        assert counter.n_pre_tokens == n_pre_tokens
        assert n_steps >= min(n_pre_tokens, 5)
        chunks = [*chunks[:4], "7" * n_edits, *chunks[4:]]
        counter.update([*map(TextPart, chunks)])
        counter.advance(0)
        chunks = ["8", *chunks]
        counter.update([*map(TextPart, chunks)])


def test_a_pattern_without_safe_cuts_sees_the_whole_text() -> None:
    counter = PreTokenCounter(SPLIT_PATTERNS["none"])
    counter.update([*map(TextPart, ["a", " b", " c"])])
    assert counter.advance(60)
    assert counter.n_pre_tokens == 1


@given(CHUNKS)
def test_every_character_is_in_a_group_that_can_be_split_by_itself(chunks: list[str]) -> None:
    counter = PreTokenCounter(SPLIT_PATTERNS["gpt2"])
    counter.update([*map(TextPart, chunks)])
    text = "".join(chunks)
    ends = {0, *split(counter.pattern, text).ends}
    for offset in range(len(text)):
        start, group = counter.group_at(offset)
        assert start <= offset < start + len(group)
        assert text[start : start + len(group)] == group
        inside = {start + end for end in split(counter.pattern, group).ends}
        assert inside == {end for end in ends if start < end <= start + len(group)}
