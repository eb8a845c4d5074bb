"""A live document equals a full tokenization after any edit, however small its chunks are."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tests.oracles.edits import (
    BUILTIN,
    SMALL,
    random_edit,
    random_runs,
    random_text,
    tokenizer,
)
from tests.oracles.live import SlowDocument
from tokviz.live.document import LiveDocument
from tokviz.text import bytetext

ROUNDS = 8
EDITS = 12


def assert_same(live: LiveDocument, slow: SlowDocument) -> None:
    assert live.text == slow.text
    spans = live.tokens_in(0, len(slow.text))
    assert [(s.start, s.end, s.index, s.id, s.split) for s in spans] == slow.spans()
    assert live.complete
    assert live.n_pending_chars == 0
    assert (live.n_chars, live.n_tokens) == (len(slow.text), len(spans))
    assert live.n_bytes == bytetext.n_bytes(slow.text)
    assert live.n_lines == slow.text.count("\n") + 1
    assert live.n_raw_bytes == bytetext.n_raw_bytes(slow.text)


@pytest.mark.parametrize("parse_specials", [True, False])
@pytest.mark.parametrize("name", [*BUILTIN, *SMALL])
def test_tokens_after_every_edit_equal_a_full_encode(name: str, parse_specials: bool) -> None:
    for seed in range(ROUNDS):
        rng = random.Random(f"{name} {parse_specials} {seed}")
        text = random_text(rng, rng.choice([0, 3, 20, 80]))
        target = rng.choice([1, 4, 8, 16, 64])
        tok = tokenizer(name)
        cut = sorted(rng.randrange(len(text) + 1) for _ in range(rng.choice([0, 1, 9])))
        parts = [text[a:b] for a, b in pairwise([0, *cut, len(text)])]
        live = LiveDocument(parts, tok, parse_specials=parse_specials, chunk_target=target)
        slow = SlowDocument(text, tok, parse_specials)
        assert_same(live, slow)
        for _ in range(EDITS):
            edit = random_edit(rng, len(slow.text))
            live.edit(*edit)
            slow.edit(*edit)
            assert_same(live, slow)


@pytest.mark.parametrize("name", [*BUILTIN, *SMALL])
def test_tokens_after_every_edit_of_long_runs_equal_a_full_encode(name: str) -> None:
    for seed in range(3):
        rng = random.Random(f"{name} runs {seed}")
        text = random_runs(rng)
        tok = tokenizer(name)
        live = LiveDocument(text, tok, chunk_target=rng.choice([1, 4, 16]))
        slow = SlowDocument(text, tok)
        assert_same(live, slow)
        for _ in range(EDITS):
            offset, n_removed, inserted = random_edit(rng, len(slow.text))
            inserted = rng.choice([inserted, random_runs(rng), "", " ", "x", "7"])
            if rng.random() < 0.5:
                live.prepare_edit(rng.choice([inserted, inserted, inserted + "x"]))
            live.edit(offset, n_removed, inserted)
            slow.edit(offset, n_removed, inserted)
            assert_same(live, slow)


def pre_tokens_of(live: LiveDocument) -> list[list[int]]:
    """Return the byte spans of the pre-tokens, split chunk by chunk."""
    assert live.tokenizer is not None
    spans, start = [], 0
    for text in (chunk.text for chunk in live.chunks()):
        for first, last in live.tokenizer.byte_text.split(text, live.parse_specials):
            end = start + bytetext.n_bytes(text[first:last])
            spans.append([start, end])
            start = end
    return spans


@pytest.mark.parametrize("name", ["o200k_base", "gpt2", "small none", r"small [a-z]+|\d"])
def test_a_tokenization_equals_one_of_the_whole_text(name: str) -> None:
    for seed in range(ROUNDS):
        rng = random.Random(f"{name} {seed}")
        live = LiveDocument(random_text(rng, 40), tokenizer(name), chunk_target=8)
        for _ in range(EDITS):
            live.edit(*random_edit(rng, live.n_chars))
        whole = tokenizer(name).byte_text.tokenize(live.text)
        assert live.ids().tolist() == whole.ids
        ours = [live.token(index) for index in range(live.n_tokens)]
        assert [token.id for token in ours] == whole.ids
        assert [[t.byte_start, t.byte_end] for t in ours] == whole.byte_spans.tolist()
        assert pre_tokens_of(live) == whole.pre_tokens.tolist()


@pytest.mark.parametrize("in_runs", [False, True])
@pytest.mark.parametrize("name", ["cl100k_base", "small cs336"])
def test_every_question_agrees_with_the_list_of_all_tokens(name: str, in_runs: bool) -> None:
    for seed in range(ROUNDS):
        rng = random.Random(f"{name} {seed}")
        tok = tokenizer(name)
        text = random_runs(rng)[:200] if in_runs else random_text(rng, 60)
        live = LiveDocument(text, tok, chunk_target=4 if in_runs else rng.choice([8, 64]))
        live.edit(*random_edit(rng, live.n_chars))
        text = live.text
        spans = live.tokens_in(0, len(text))
        byte_spans = tok.byte_text.tokenize(text).byte_spans.tolist()
        for span in spans:
            info = live.token(span.index)
            assert info[:4] == (span.index, span.id, span.start, span.end)
            assert [info.byte_start, info.byte_end] == byte_spans[span.index]
            assert info.hue == span.hue
        for offset in range(len(text) + 1):
            first = next((s.index for s in spans if s.end > offset), None)
            assert live.token_index_at(offset) == first
            assert live.byte_offset(offset) == bytetext.n_bytes(text[:offset])
            row = text.count("\n", 0, offset)
            line_start = text.rfind("\n", 0, offset) + 1
            assert live.location(offset) == (row, offset - line_start)
            assert live.line_start(row) == line_start
        for _ in range(20):
            lo, hi = sorted(rng.choices(range(len(text) + 1), k=2))
            inside = [s for s in spans if lo < hi and s.start < hi and s.end > lo]
            assert live.tokens_in(lo, hi) == inside
            n_bytes = bytetext.n_bytes(text[lo:hi])
            assert live.counts(lo, hi) == (hi - lo, n_bytes, len(inside))
            first, last = sorted(rng.choices(range(len(spans)), k=2))
            pairs = [(s.id, s.hue) for s in spans[first:last]]
            assert live.tokens_slice(first, last) == pairs
            assert (live.token(first).start, live.token(last).end) == (
                spans[first].start, spans[last].end,
            )  # fmt: skip


@pytest.mark.parametrize("name", ["gpt2", "small nanochat"])
def test_occurrences_are_all_places_of_an_id(name: str) -> None:
    for seed in range(ROUNDS):
        rng = random.Random(f"{name} {seed}")
        live = LiveDocument(random_text(rng, 60), tokenizer(name), chunk_target=8)
        live.ensure(0, live.n_chars)
        live.edit(*random_edit(rng, live.n_chars))
        ids = live.ids().tolist()
        for token_id in [*set(ids), 5]:
            places = [n for n, other in enumerate(ids) if other == token_id]
            assert live.occurrences(token_id, limit=3) == (len(places), places[:3])
            for index in rng.choices(range(-1, len(ids) + 1), k=10):
                behind = next((n for n in places if n > index), None)
                before = next((n for n in reversed(places) if n < index), None)
                assert live.next_occurrence(token_id, index) == behind
                assert live.next_occurrence(token_id, index, step=-1) == before
