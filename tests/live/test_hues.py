from __future__ import annotations

import random
from array import array
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.edits import random_edit, random_text, tokenizer
from tests.profiles import examples
from tokviz.live.chunks import ChunkTokens, OldTokens, TokenLengths
from tokviz.live.document import LiveDocument, TokenSpan
from tokviz.live.hues import N_HUES, NO_HUE, hues_of, paint, recall

HUES = st.integers(0, N_HUES - 1)
CHOSEN_OR_NOT = st.lists(HUES | st.just(NO_HUE), max_size=30).filter(
    lambda hues: all(a != b or a == NO_HUE for a, b in pairwise(hues))
)


@given(hues=CHOSEN_OR_NOT, left=HUES | st.just(NO_HUE), right=HUES | st.just(NO_HUE))
def test_painting_leaves_no_equal_neighbours(hues: list[int], left: int, right: int) -> None:
    painted = bytearray(hues)
    paint(painted, left, right)
    assert all(hue < N_HUES for hue in painted)
    edges = [left, *painted, right] if hues else []
    assert all(a != b for a, b in pairwise(edges))


@given(hues=CHOSEN_OR_NOT, left=HUES | st.just(NO_HUE), right=HUES | st.just(NO_HUE))
def test_painting_keeps_chosen_hues_but_at_an_equal_edge(
    hues: list[int], left: int, right: int
) -> None:
    painted = bytearray(hues)
    paint(painted, left, right)
    for index, (old, new) in enumerate(zip(hues, painted, strict=True)):
        if old != NO_HUE and old != new:
            assert (index == 0 and old == left) or (index == len(hues) - 1 and old == right)


class FirstDigit(TokenLengths):
    """Lengths from the first digit of the ids: token 31 has three bytes."""

    def __init__(self) -> None:
        pass

    def __missing__(self, token_id: int) -> int:
        return token_id // 10


IDS = st.lists(st.sampled_from([10, 11, 20, 21, 30]), max_size=30)


def chunk_tokens(ids: list[int]) -> ChunkTokens:
    tokens = ChunkTokens(array("I", ids), FirstDigit())
    tokens.hues = bytearray(number % N_HUES for number in range(len(ids)))
    return tokens


@examples(500)
@given(head=IDS, old_ids=IDS, tail=IDS, new_ids=IDS, shift=st.integers(0, 5))
def test_exactly_the_unchanged_tokens_are_recalled(
    head: list[int], old_ids: list[int], tail: list[int], new_ids: list[int], shift: int
) -> None:
    missing = max(sum(id // 10 for id in old_ids) - sum(id // 10 for id in new_ids), 0)
    old = chunk_tokens([*head, *old_ids, *tail])
    new = chunk_tokens([*[10] * shift, *head, *new_ids, *[11] * missing, *tail])
    there = {
        (start + shift, token_id): hue
        for start, token_id, hue in zip(old.borders, old.ids, old.hues, strict=False)
    }
    run = (OldTokens(old, 0, len(old.ids), shift),) if old.ids else ()
    assert recall(run, new.ids, new.borders) == bytes(
        there.get(place, NO_HUE) for place in zip(new.borders, new.ids, strict=False)
    )


@pytest.mark.parametrize("at_once", [2, 3, 65_536])
def test_where_several_runs_meet_in_one_hue_each_time_one_token_changes(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.live.hues.SEARCHED_AT_ONCE", at_once)
    old = chunk_tokens([10] * 24)
    # Four tokens that had one hue come together when all between them goes.
    runs = [
        OldTokens(old, 0, 1, 0),
        OldTokens(old, 6, 7, -5),
        OldTokens(old, 12, 13, -10),
        OldTokens(old, 18, 24, -15),
    ]
    new = chunk_tokens([10] * 9)
    hues = recall(runs, new.ids, new.borders)
    assert hues[0] == 0
    assert list(hues[4:]) == [1, 2, 3, 4, 5]
    assert all(a != b for a, b in pairwise(hues))


def kept(
    before: list[TokenSpan], behind: list[TokenSpan], edit: tuple[int, int, str]
) -> list[tuple[TokenSpan, TokenSpan]]:
    """Pair the tokens that an edit did not change: the same id on the same characters."""
    offset, n_removed, inserted = edit
    shift = len(inserted) - n_removed
    new = {(span.start, span.end, span.id): span for span in behind if not span.split}
    pairs = []
    for span in before:
        moved = 0 if span.end <= offset else shift if span.start >= offset + n_removed else None
        if moved is not None and not span.split:
            twin = new.get((span.start + moved, span.end + moved, span.id))
            if twin is not None:
                pairs.append((span, twin))
    return pairs


def assert_sticky(
    before: list[TokenSpan], behind: list[TokenSpan], edit: tuple[int, int, str]
) -> None:
    assert all(a.hue != b.hue for a, b in pairwise(behind))
    assert all(0 <= span.hue < N_HUES for span in behind)
    pairs = kept(before, behind, edit)
    changed = [(old, new) for old, new in pairs if old.hue != new.hue]
    assert len(changed) <= 1
    for old, new in changed:
        # Only where a deletion brought two tokens of one hue together.
        same = {other.index for _, other in pairs}
        neighbours = [n for n in (new.index - 1, new.index + 1) if 0 <= n < len(behind)]
        assert old.hue in {behind[n].hue for n in neighbours if n in same or behind[n].split}


@pytest.mark.parametrize("name", ["gpt2", "o200k_base", "small whitespace", "small none"])
def test_tokens_keep_their_hues_and_differ_from_their_neighbours(name: str) -> None:
    for seed in range(12):
        rng = random.Random(f"{name} {seed}")
        target = rng.choice([4, 16, 64, 1024])
        live = LiveDocument(random_text(rng, 60), tokenizer(name), chunk_target=target)
        before = live.tokens_in(0, live.n_chars)
        for _ in range(15):
            edit = random_edit(rng, live.n_chars)
            live.edit(*edit)
            behind = live.tokens_in(0, live.n_chars)
            assert_sticky(before, behind, edit)
            before = behind


def test_hues_agree_across_chunks_whatever_the_order_they_are_encoded_in() -> None:
    rng = random.Random(7)
    for _ in range(10):
        live = LiveDocument(random_text(rng, 150), tokenizer("cl100k_base"), chunk_target=8)
        for _ in range(30):
            live.ensure((offset := rng.randrange(live.n_chars)), offset + 1)
        spans = live.tokens_in(0, live.n_chars)
        assert all(a.hue != b.hue for a, b in pairwise(spans))


def test_a_chunk_too_long_for_the_editing_thread_keeps_its_hues_over_several_edits() -> None:
    rng = random.Random(3)
    word = "".join(rng.choices("abcdefgh", k=40_000))
    live = LiveDocument(word, tokenizer("gpt2"))
    assert live.encode_pending(60)
    before = live.tokens_in(0, live.n_chars)
    live.edit(20_000, 0, "x")
    live.edit(20_001, 0, "y")
    live.edit(30_000, 1, "")
    waiting = live.tokens_in(0, live.n_chars)
    assert {span.id for span in waiting} == {-1}
    assert [(s.start, s.end, s.hue) for s in waiting[:999]] == [
        (s.start, s.end, s.hue) for s in before[:999]
    ]
    assert [s.hue for s in waiting[-999:]] == [s.hue for s in before[-999:]]
    assert live.encode_pending(60)
    behind = live.tokens_in(0, live.n_chars)
    new = {(span.start, span.end, span.id): span.hue for span in behind}
    for first, last, shift in [(0, 20_000, 0), (20_000, 29_998, 2), (29_999, 40_000, 1)]:
        pairs = [
            (old.hue, new[place])
            for old in before
            if first <= old.start and old.end <= last
            if (place := (old.start + shift, old.end + shift, old.id)) in new
        ]
        assert len(pairs) > 2_000
        assert all(old == now for old, now in pairs)
    assert all(a.hue != b.hue for a, b in pairwise(behind))


def test_a_deletion_that_brings_equal_hues_together_changes_one_of_them() -> None:
    live = LiveDocument(" a b c d e f g h", tokenizer("gpt2"))
    hues = [span.hue for span in live.tokens_in(0, 16)]
    assert hues[0] == hues[6]
    live.edit(2, 10, "")
    spans = live.tokens_in(0, 6)
    assert [span.hue for span in spans][::2] == [hues[0], hues[7]]
    assert spans[1].hue not in (hues[0], hues[7])


@given(st.lists(st.integers(0, 20), max_size=200))
def test_neighbours_never_share_a_hue_by_id(ids: list[int]) -> None:
    hues = hues_of(ids, 0, len(ids))
    assert len(hues) == len(ids) and all(0 <= hue < N_HUES for hue in hues)
    assert all(a != b for a, b in pairwise(hues))


@given(st.lists(st.integers(0, 20), max_size=60), st.data())
def test_hues_by_id_do_not_depend_on_the_range(ids: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(ids)))
    last = data.draw(st.integers(first, len(ids)))
    assert hues_of(ids, first, last) == hues_of(ids, 0, len(ids))[first:last]
