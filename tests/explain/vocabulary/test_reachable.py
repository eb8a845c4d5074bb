"""Unreachable tokens of a tokenizer whose split pattern nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tokviz.errors import PatternError
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.explain.vocabulary.reachable import unreachable_rows
from tokviz.process.runner import JobClient
from tokviz.tokenizer.encoding.encoded import Encoded, Segments
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.pretokenize.patterns import SplitPattern, get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer

CUTS_BEFORE_SIGNS = r"\w+|\s+|[^\w\s]"
EXPLODES = r"(?:z|z)*b|\w|\W"


def index_of(pattern: SplitPattern, tokens: Sequence[bytes] = ()) -> VocabularyIndex:
    some = [b"ab", b"!!", b"a!", b"  ", b"abc", b"\xe4\xb8", *tokens]
    ids = dict(enumerate([*(bytes([byte]) for byte in range(256)), *some]))
    merges = [(b"a", b"b"), (b"!", b"!"), (b"a", b"!"), (b" ", b" "), (b"ab", b"c")]
    return VocabularyIndex(Tokenizer(ids, merges, split_pattern=pattern))


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    calls: list[object] = []
    call = JobClient.call

    def counted(client: JobClient, *given: object) -> None:
        calls.append(given)
        call(client, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(JobClient, "call", counted)
    return calls


def test_a_guarded_pattern_finds_the_same_and_asks_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = get_split_pattern(CUTS_BEFORE_SIGNS)
    assert guarded.guarded
    here = unreachable_rows(index_of(guarded._replace(guarded=False)))
    assert here.any()
    calls = count_calls(monkeypatch)
    assert (unreachable_rows(index_of(guarded)) == here).all()
    assert len(calls) <= 2


def test_tokens_are_tried_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    encode = SegmentEncoder.encode

    def counted(
        encoder: SegmentEncoder,
        pattern: SplitPattern,
        found: Segments,
        n_chars: int,
        **options: Any,
    ) -> Encoded:
        calls.append(n_chars)
        return encode(encoder, pattern, found, n_chars, **options)

    index = index_of(get_split_pattern(CUTS_BEFORE_SIGNS)._replace(guarded=False))
    monkeypatch.setattr(SegmentEncoder, "encode", counted)
    assert unreachable_rows(index).any()
    assert len(calls) <= 2


def test_a_token_on_which_the_pattern_takes_too_long_is_an_error() -> None:
    pattern = get_split_pattern(EXPLODES)
    with pytest.raises(PatternError, match="takes longer than"):
        unreachable_rows(index_of(pattern, [b"z" * 34]))
