"""Long texts start as coarse chunks, which no query reveals."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

import tokviz
from tests.oracles.edits import BUILTIN, SMALL, random_edit, random_runs, random_text, tokenizer
from tokviz.compare.figures import WordCounter
from tokviz.live import chunked_text
from tokviz.live.backlog import LARGE
from tokviz.live.chunked_text import CHUNK_TARGET
from tokviz.live.document import LiveDocument
from tokviz.text import bytetext
from tokviz.text.snapshots import TextPart, joined

ROUNDS = 4
MUCH = "the quick brown 狐 jumps, naïvely\n" * 10_000


def n_coarse(live: LiveDocument) -> int:
    return sum(chunk.is_coarse for chunk in live.chunks())


def assert_exact(live: LiveDocument, text: str) -> None:
    """Compare a completely encoded document with the whole text."""
    assert live.tokenizer is not None
    while not live.encode_pending(1):
        pass
    assert live.settled and live.n_pending_chars == 0
    whole = live.tokenizer.byte_text.tokenize(text, live.parse_specials)
    assert joined(live.parts()) == text
    assert (live.n_chars, live.n_bytes) == (len(text), bytetext.n_bytes(text))
    assert live.n_raw_bytes == bytetext.n_raw_bytes(text)
    assert live.n_lines == text.count("\n") + 1
    assert live.ids().tolist() == whole.ids
    pairs = live.tokens_slice(0, live.n_tokens)
    assert [token_id for token_id, _ in pairs] == whole.ids
    assert all(hue < 6 and hue != other for (_, hue), (_, other) in pairwise(pairs))
    for index in range(0, live.n_tokens, 1 + live.n_tokens // 1_000):
        found = live.token(index)
        assert [found.byte_start, found.byte_end] == whole.byte_spans[index].tolist()
    assert live.token_counts() == Counter(whole.ids)


@pytest.mark.parametrize("parse_specials", [True, False])
@pytest.mark.parametrize("name", [*BUILTIN, *SMALL])
def test_tokens_are_exact_after_any_queries_and_edits(name: str, parse_specials: bool) -> None:
    for seed in range(ROUNDS):
        rng = random.Random(f"{name} {parse_specials} {seed}")
        text = random_runs(rng) if seed % 4 == 3 else random_text(rng, 120)
        at = sorted(rng.randrange(len(text) + 1) for _ in range(rng.choice([0, 1, 9])))
        texts = [text[a:b] for a, b in pairwise([0, *at, len(text)])]
        live = LiveDocument(texts, tokenizer(name), parse_specials=parse_specials, chunk_target=1)
        for _ in range(25):
            lo = rng.randrange(-1, len(text) + 2)
            match rng.randrange(6):
                case 0:
                    live.encode_pending(rng.choice([0, 0.001]))
                case 1:
                    spans = live.tokens_in(lo, lo + rng.choice([1, 5, 40]))
                    assert all(span.id >= 0 for span in spans if live.complete)
                case 2:
                    live.ensure(lo, lo + 9)
                case 3:
                    live.token_index_at(lo)
                case _:
                    offset, n_removed, inserted = random_edit(rng, len(text))
                    inserted = rng.choice([inserted, random_text(rng, 40), ""])
                    if rng.random() < 0.5:
                        live.prepare_edit(inserted)
                    live.edit(offset, n_removed, inserted)
                    text = text[:offset] + inserted + text[offset + n_removed :]
        assert_exact(live, text)


@pytest.mark.parametrize("is_known", [False, True])
def test_shown_text_is_cut_finely_and_keeps_its_hues(is_known: bool) -> None:
    live = LiveDocument(MUCH, tokviz.load("gpt2"))
    before = n_coarse(live)
    assert before > 15
    if is_known:
        while not live.encode_pending(1):
            pass
    pairs = live.tokens_slice(0, live.n_tokens)
    found = live.tokens_in(150_000, 150_100)
    assert n_coarse(live) in (before - 1, before - 2)
    assert all(span.id >= 0 for span in found)
    if is_known:
        assert live.tokens_slice(0, live.n_tokens) == pairs
    live.edit(250_000, 0, "x")
    assert live.tokens_in(250_000, 250_001)[0].id >= 0, "a key is encoded at once"
    assert max(chunk.n_chars for chunk in live.chunks() if not chunk.is_coarse) < 3 * CHUNK_TARGET
    assert_exact(live, MUCH[:250_000] + "x" + MUCH[250_000:])


def test_another_tokenizer_starts_with_coarse_chunks_again() -> None:
    live = LiveDocument(MUCH, tokviz.load("gpt2"))
    live.tokens_in(0, len(MUCH))
    assert n_coarse(live) == 0
    live.set_tokenizer(tokviz.load("cl100k_base"))
    assert n_coarse(live) > 15
    assert live.text == MUCH


def test_a_stretch_without_a_cut_is_one_chunk() -> None:
    live = LiveDocument(MUCH + "a" * 100_000 + " " + MUCH, tokviz.load("gpt2"))
    long = [chunk.n_chars for chunk in live.chunks() if chunk.n_chars > 2 * 16 * CHUNK_TARGET]
    assert len(long) == 1
    assert 100_000 <= long[0] < 100_000 + 3 * CHUNK_TARGET


def test_a_part_is_equal_to_another_one_of_the_same_text() -> None:
    for text in ("", "abc", "naïve\n", "\udce9x", "\udcc3\udca9é", "狐"):
        packed = TextPart(text, packed=True)
        assert packed == TextPart(text)
        assert packed != TextPart(text + "x")
        assert packed.data == bytetext.to_bytes(text)
        assert packed.text == packed.unpack() == packed.text == text
        assert (packed.n_chars, packed.n_bytes) == (len(text), len(packed.data))
        assert packed.n_raw_bytes == bytetext.n_raw_bytes(text)


def test_words_are_counted_across_parts() -> None:
    rng = random.Random(5)
    counter = WordCounter()
    parts: list[TextPart] = []
    for _ in range(300):
        first = rng.randrange(len(parts) + 1)
        new = [TextPart(random_text(rng, rng.randrange(3))) for _ in range(rng.randrange(4))]
        parts = [*parts[:first], *new, *parts[first + rng.randrange(4) :]]
        assert counter.count(parts) == len(joined(parts).split())


@pytest.mark.parametrize("name", ["gpt2", "o200k_base"])
def test_typing_at_the_ends_of_a_long_text_shows_tokens_immediately(name: str) -> None:
    pasted, opened = (
        LiveDocument(text, tokenizer(name)) for text in ("ab", MUCH + "word 狐 " * 1_500)
    )
    pasted.prepare_edit(MUCH)
    pasted.edit(1, 0, MUCH)
    for live in (pasted, opened):
        for at in (1, live.n_chars - 1):
            live.edit(at, 0, "x")
            assert live.tokens_in(at, at + 1)[0].id >= 0
        assert max(chunk.n_chars for chunk in live.chunks() if not chunk.is_coarse) <= LARGE


@pytest.mark.parametrize("parse_specials", [True, False])
@pytest.mark.parametrize("name", [*BUILTIN, *SMALL])
def test_a_text_opened_by_its_head_is_exact_once_complete(
    name: str, parse_specials: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunked_text, "HEAD_TARGETS", 1)
    had_rest = 0
    for seed in range(ROUNDS):
        rng = random.Random(f"head {name} {parse_specials} {seed}")
        whole = random_runs(rng) if seed % 4 == 3 else random_text(rng, 250)
        at = sorted(rng.randrange(len(whole) + 1) for _ in range(20))
        texts = [whole[a:b] for a, b in pairwise([0, *at, len(whole)])]
        live = LiveDocument(
            texts, tokenizer(name), parse_specials=parse_specials, chunk_target=1, head_first=True
        )
        text = live.text
        rest = whole[len(text) :]
        assert whole.startswith(text) and live.has_rest >= bool(rest)
        had_rest += live.has_rest
        if rng.random() < 0.5:
            # The tokens of the head are those of the whole text.
            ids = live.ids().tolist()
            assert ids == tokenizer(name).byte_text.tokenize(whole, parse_specials).ids[: len(ids)]
        read = [*live.read_on()] if rng.random() < 0.5 else None
        for _ in range(rng.choice([0, 0, 1, 5])):
            offset, n_removed, inserted = random_edit(rng, len(text))
            live.edit(offset, n_removed, inserted)
            text = text[:offset] + inserted + text[offset + n_removed :]
        before = live.revision
        read = [*live.read_on()] if read is None else read
        assert read == sorted(read)
        live.append_rest()
        assert not live.has_rest
        change = live.changes.since(before)
        assert change is not None and change.shift == len(rest)
        text += rest
        offset, n_removed, inserted = random_edit(rng, len(text))
        live.edit(offset, n_removed, inserted)
        assert_exact(live, text[:offset] + inserted + text[offset + n_removed :])
    assert had_rest


def test_the_tokenizer_can_change_before_the_rest_arrives() -> None:
    live = LiveDocument([MUCH[:700_000]] * 2, tokviz.load("gpt2"), head_first=True)
    for _ in live.read_on():
        pass
    live.set_tokenizer(tokviz.load("cl100k_base"))
    live.append_rest()
    assert_exact(live, MUCH[:700_000] * 2)
