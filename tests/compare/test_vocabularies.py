"""Comparisons of vocabularies, against sets of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.comparing import CAST
from tokviz.compare.vocabularies import VocabularyDifference, diff_vocabularies
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.tokenizer.tokenizer import Tokenizer

tokens = st.lists(
    st.tuples(st.integers(0, 40), st.binary(min_size=2, max_size=3)),
    unique_by=(lambda one: one[0], lambda one: one[1]),
    max_size=12,
).map(dict)


def tokenizer(vocab: dict[int, bytes], specials: dict[str, int]) -> Tokenizer:
    base = {50 + byte: bytes([byte]) for byte in range(256)}
    return Tokenizer({**vocab, **base}, [], specials)


def first_ids(tok: Tokenizer) -> dict[tuple[bytes, bool], int]:
    special = set(tok.special_tokens.values())
    found: dict[tuple[bytes, bool], int] = {}
    for token_id in sorted(tok.vocab):
        found.setdefault((tok.vocab[token_id], token_id in special), token_id)
    return found


def check(diff: VocabularyDifference, a: Tokenizer, b: Tokenizer) -> None:
    ids_a, ids_b = first_ids(a), first_ids(b)
    both = ids_a.keys() & ids_b.keys()
    pairs = list(zip(diff.a.ids[diff.in_a].tolist(), diff.b.ids[diff.in_b].tolist(), strict=True))
    assert sorted(pairs) == sorted((ids_a[token], ids_b[token]) for token in both)
    assert [pairs[at] for at in diff.under_other_ids.tolist()] == [p for p in pairs if p[0] != p[1]]
    for rows, index, own, others in (
        (diff.only_in_a, diff.a, ids_a, ids_b),
        (diff.only_in_b, diff.b, ids_b, ids_a),
    ):
        lacking = sorted(own[token] for token in own.keys() - others.keys())
        assert index.ids[rows].tolist() == lacking


@given(a=tokens, b=tokens, special_a=st.booleans(), special_b=st.booleans())
def test_tokens_are_matched_by_bytes_and_kind(
    a: dict[int, bytes], b: dict[int, bytes], special_a: bool, special_b: bool
) -> None:
    one, other = (
        tokenizer(vocab, {"<s>": 400} if special else {})
        for vocab, special in ((a, special_a), (b, special_b))
    )
    check(diff_vocabularies(VocabularyIndex(one), VocabularyIndex(other)), one, other)


@pytest.mark.parametrize("names", [("gpt2", "gpt4"), ("gpt4", "small"), ("gpt2", "gpt2")])
def test_real_vocabularies(names: tuple[str, str]) -> None:
    one, other = (CAST[name]() for name in names)
    check(diff_vocabularies(VocabularyIndex(one), VocabularyIndex(other)), one, other)


def test_a_special_token_is_not_the_same_as_plain_text_of_its_bytes() -> None:
    one = tokenizer({}, {"a": 400})
    other = tokenizer({}, {})
    diff = diff_vocabularies(VocabularyIndex(one), VocabularyIndex(other))
    assert diff.a.ids[diff.only_in_a].tolist() == [400]
