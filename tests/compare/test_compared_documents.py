"""Copies of an edited document, and the search for disagreements, against new documents."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import nasty
from tests.oracles.comparing import CAST, casts, load, slow_spans
from tests.profiles import examples
from tokviz import Tokenizer
from tokviz.compare import compared_documents
from tokviz.compare.boundaries import Comparison
from tokviz.compare.compared_documents import (
    ComparedDocument,
    Track,
    all_starts,
    explained,
    next_span,
    previous_span,
    span_at,
)
from tokviz.live.document import LiveDocument
from tokviz.text import bytetext

edits = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 20), nasty.byte_texts), min_size=1, max_size=6
)


def tracks_of(text: str, tokenizers: Sequence[Tokenizer], target: int = 8) -> list[Track]:
    """Return tracks of documents with many small chunks and known tokens."""
    found = []
    for tokenizer in tokenizers:
        document = LiveDocument(text, tokenizer, chunk_target=target)
        while not document.encode_pending(1.0):
            pass
        assert document.complete
        found.append(Track(document))
    return found


@given(text=nasty.byte_texts, names=casts, steps=edits, rest=st.integers(1, 3))
def test_a_lane_that_follows_is_as_a_fresh_document(
    text: str, names: list[str], steps: list[tuple[int, int, str]], rest: int
) -> None:
    first, second = (CAST[name]() for name in names[:2])
    live = LiveDocument(text, first)
    lane = ComparedDocument(live.parts(), second, True, live.revision)
    for number, (place, n_removed, inserted) in enumerate(steps):
        start = min(place, live.n_chars)
        live.edit(start, min(n_removed, live.n_chars - start), inserted)
        if number % rest == 0:
            assert lane.follow(live)
    assert lane.follow(live)
    assert lane.document.text == live.text
    assert lane.document.ids().tolist() == second.byte_text.encode(live.text).tolist()


@pytest.mark.parametrize("change", ["text", "specials", "much"])
def test_a_lane_gives_up_where_another_one_is_quicker(change: str) -> None:
    live = LiveDocument("the cat", load("gpt2"))
    lane = ComparedDocument(live.parts(), load("gpt4"), True, live.revision)
    if change == "text":
        live.set_text("a dog")
    elif change == "specials":
        live.set_parse_specials(False)
    else:
        live.edit(0, 0, "x " * 50_000)
    assert not lane.follow(live)


def test_a_lane_does_not_mind_another_tokenizer_of_the_text_it_follows() -> None:
    live = LiveDocument("the cat", load("gpt2"))
    lane = ComparedDocument(live.parts(), load("gpt4"), True, live.revision)
    live.set_tokenizer(load("gpt4o"))
    live.edit(0, 3, "a")
    assert lane.follow(live)
    assert lane.document.text == "a cat"


@given(text=nasty.byte_texts, names=casts, at=st.integers(0, 100))
def test_the_search_finds_every_disagreement_in_both_directions(
    text: str, names: list[str], at: int
) -> None:
    tokenizers = [CAST[name]() for name in names]
    tracks, spans = tracks_of(text, tokenizers), slow_spans(text, tokenizers)
    on: list[tuple[int, int]] = []
    while span := next_span(tracks, on[-1][0] + 1 if on else 0).span:
        on.append(span)
    assert on == spans
    starts = all_starts(tracks)
    assert starts is not None
    assert starts.tolist() == [start for start, _ in spans]
    back: list[tuple[int, int]] = []
    while span := previous_span(tracks, back[-1][0] if back else bytetext.n_bytes(text)).span:
        back.append(span)
    assert back[::-1] == spans
    here = [span for span in spans if span[0] <= at < span[1]]
    assert span_at(tracks, at).span == (here[0] if here else None)


def test_a_search_crosses_long_stretches_without_a_disagreement_or_a_shared_border() -> None:
    tokenizers = [load("gpt2"), load("gpt-4")]
    text = "the cat " * 20_000 + "12345" + " the cat" * 20_000
    tracks = tracks_of(text, tokenizers, 1024)
    found = next_span(tracks, 0).span
    assert found is not None
    assert found[0] in range(159_990, 160_006)
    assert next_span(tracks, found[0] + 1).span is None
    assert previous_span(tracks, len(text)).span == found
    shares: list[float] = []
    starts = all_starts(tracks, on_progress=shares.append)
    assert starts is not None
    assert starts.tolist() == [found[0]]
    assert shares == sorted(shares) and shares[-1] == 1
    apart = "x" * 20_000
    whole = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], {apart: 256})
    long = tracks_of(apart, [load("gpt2"), whole], 1024)
    assert next_span(long, 0).span == previous_span(long, 20_000).span == (0, 20_000)


def test_a_search_says_where_tokens_are_not_known_yet() -> None:
    text = "the cat 12345 " * 10
    live = LiveDocument(text, load("gpt2"))
    tracks = [*tracks_of(text, [load("gpt-4")]), Track(live)]
    assert next_span(tracks, 0).waits
    assert all_starts(tracks) is None
    assert previous_span(tracks, 100).waits


@examples(40)
@given(text=nasty.byte_texts, names=casts, before=st.integers(0, 3))
def test_a_cause_found_from_a_window_is_that_of_the_whole_text(
    text: str, names: list[str], before: int
) -> None:
    tokenizers = [CAST[name]() for name in names]
    text = "one two three\n" * 500 * before + text
    tracks = tracks_of(text, tokenizers)
    for found in Comparison(text, tokenizers).disagreements[:3]:
        told = explained(tracks, found.byte_span)
        assert told is not None
        assert (told.ids, told.reasons) == (found.ids, found.reasons)
        numbers = range(len(tokenizers))
        assert [told.sentences(n) for n in numbers] == [found.sentences(n) for n in numbers]


def test_counting_ends_where_the_tokens_of_one_tokenizer_end_before_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def spans_in(tracks: Any, start: int, end: int) -> tuple[list[list[int]], int, int]:
        # Seven bytes of ten have tokens: no border is shared after them.
        return ([[3, 5]], 0, 7) if start == 0 else ([], start, start)

    monkeypatch.setattr(compared_documents, "_spans_in", spans_in)
    tracks: Any = [SimpleNamespace(n_bytes=10)] * 2
    asked = iter(range(100))
    starts = compared_documents.all_starts(tracks, lambda: next(asked) == 99)
    assert starts is not None and list(starts) == [3]
    assert next(asked) < 10, "it came to its end by itself"
