from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.compare.drift import Drift
from tokviz.errors import TokenIdError
from tokviz.text.sentences import format_sentences

GPT4 = tokviz.load("gpt-4")


def one_token(token: bytes) -> int:
    token_id = GPT4.token_id(token)
    assert token_id is not None
    return token_id


def split_token(ids: list[int], number: int) -> list[int]:
    """Replace one token with the tokens of its bytes."""
    spelled = [one_token(bytes([byte])) for byte in GPT4.token_bytes(ids[number])]
    return [*ids[:number], *spelled, *ids[number + 1 :]]


@given(st.text(max_size=60))
def test_what_encoding_gives_does_not_drift(text):
    ids = GPT4.encode(text)
    drift = Drift(GPT4, ids)
    assert (drift.spans, drift.n_drifting) == ((), 0)


def test_one_of_many_tokens_drifts():
    ids = GPT4.encode("one two three four", allowed_special="none")
    again = Drift(GPT4, [*ids, *split_token(GPT4.encode(" five"), 0)])
    assert again.summary == "5 of 9 tokens drift"
    [span] = again.spans
    assert (span.first, span.encoded) == (4, (4330,))
    assert again.data[slice(*span.byte_span)] == b" five"


def test_a_single_token_drifts_alone():
    whole = tokviz.Tokenizer(
        {**{i: bytes([i]) for i in range(256)}, 256: b"a b"}, [], split_pattern="gpt2"
    )
    drift = Drift(whole, [256, 99])
    assert drift.summary == "1 of 2 tokens drifts"
    [span] = drift.spans
    assert (span.cause, span.byte_span, span.encoded) == ("split", (0, 3), (97, 32, 98))


def test_a_token_that_crosses_a_border_of_pre_tokens_is_the_split():
    crossing = tokviz.Tokenizer(
        {**{i: bytes([i]) for i in range(256)}, 256: b"x1"}, [], split_pattern="gpt4"
    )
    [span] = Drift(crossing, [256]).spans
    assert span.cause == "split"
    assert format_sentences([span.why]) == (
        "The token 'x1' crosses a pre-token boundary: the split pattern gpt4 cuts between "
        "'x' and '1'."
    )


def test_other_merges_of_the_same_pre_token_are_named():
    [span] = Drift(GPT4, [one_token(b"h"), one_token(b"ello")]).spans
    assert span.cause == "merges"
    assert format_sentences([span.why]) == (
        "In the pre-token 'hello', encoding merges 'h' + 'ello' (merge 15,084)."
    )


def test_tokens_that_no_merges_make_are_merges_too():
    unreachable = tokviz.Tokenizer({**{i: bytes([i]) for i in range(256)}, 256: b"ab"}, [])
    [span] = Drift(unreachable, [256]).spans
    assert (span.cause, span.encoded) == ("merges", (97, 98))
    assert "encoding leaves more tokens there" in format_sentences([span.why])


def test_special_tokens_that_are_spelled_out_and_ones_that_become_text():
    spelled = GPT4.encode("a<|endoftext|>b", allowed_special="none")
    [span] = Drift(GPT4, spelled).spans
    assert (span.cause, span.encoded) == ("specials", (100257,))
    [span] = Drift(GPT4, GPT4.encode("a<|endoftext|>b"), "none").spans
    assert (span.cause, span.sampled) == ("specials", (100257,))
    assert "reads it as plain text" in format_sentences([span.why])


def test_a_tokenizer_that_composes_text_drifts_by_normalization():
    qwen = tokviz.load("qwen2")
    ids = [*qwen.encode("e"), *(qwen.token_id(bytes([byte])) for byte in "\u0301".encode())]
    [span] = Drift(qwen, ids).spans
    assert span.cause == "normalization"


def test_an_id_that_does_not_exist_is_named():
    with pytest.raises(TokenIdError, match="position 1 of the ids"):
        Drift(GPT4, [1, 200_000])


def test_no_ids_do_not_drift():
    assert Drift(GPT4, []).summary == "0 of 0 tokens drift"


@given(st.lists(st.integers(0, 100_255), max_size=30))
def test_spans_are_where_the_lanes_differ_and_nowhere_else(ids):
    drift = Drift(GPT4, ids)
    sampled, encoded = list(ids), GPT4.encode_bytes(drift.data)
    for span in drift.spans:
        assert tuple(sampled[span.first : span.first + len(span.sampled)]) == span.sampled
    for span in reversed(drift.spans):
        sampled[span.first : span.first + len(span.sampled)] = span.encoded
    assert sampled == encoded
    assert 0 <= drift.n_drifting <= len(ids)


@given(st.integers(0, 2**32))
def test_the_cause_is_right(seed):
    """Sampled tokens cross borders of pre-tokens where it is the split, and never where merges
    are.
    """
    chosen = random.Random(seed)
    words = ["hello", " world", "12345", "don't", "\n\n", "世界", " ü", "...", "  x"]
    ids = GPT4.encode("".join(chosen.choices(words, k=6)))
    for _ in range(3):
        ids = split_token(ids, chosen.randrange(len(ids)))
    joined = GPT4.token_id(GPT4.token_bytes(ids[0]) + GPT4.token_bytes(ids[1]))
    ids = ids if joined is None else [joined, *ids[2:]]
    drift = Drift(GPT4, ids)
    ends = set(drift.encoded.pre_token_ends.tolist())
    for span in drift.spans:
        tokens = zip([span.byte_span[0], *drift.sampled.tokens_of(span.byte_span)],
                     drift.sampled.tokens_of(span.byte_span), strict=False)  # fmt: skip
        crosses = any(ends & set(range(start + 1, end)) for start, end in tokens)
        assert span.cause == ("split" if crosses else "merges")
