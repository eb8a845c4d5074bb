"""Ranks and merge lists: converting one to the other gives the same tokens, or is refused."""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

import tokviz
from tests.oracles.bpe import encode_by_merges, encode_by_ranks
from tokviz.formats.rank_order import first_unmerged, last_merge, listed_merges, why_no_ranks
from tokviz.tokenizer.encoding.packed import pack_ranks

BASE = {bytes([byte]): byte for byte in range(256)}
ALPHABET = b"abc"

words = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=14).map(bytes)
tokens = st.lists(
    st.lists(st.sampled_from(ALPHABET), min_size=2, max_size=5).map(bytes), unique=True, max_size=9
)


def by_ranks(extra):
    ranks = BASE | {token: 256 + number for number, token in enumerate(extra)}
    packed = pack_ranks((rank, token) for token, rank in ranks.items())
    return tokviz.Tokenizer.of(packed, split_pattern="none"), ranks


@given(tokens, st.lists(words, min_size=1, max_size=8))
@example([b"ab", b"abb", b"bb"], [b"abbb"])
def test_listed_merges_say_what_ranks_say(extra, texts):
    tok, ranks = by_ranks(extra)
    merges = listed_merges(tok)
    listed = tokviz.Tokenizer(
        tok.vocab, merges, split_pattern="none", ignore_merges=first_unmerged(tok) is not None
    )
    for text in texts:
        theirs = [ranks[token] for token in encode_by_ranks(text, ranks)]
        assert listed.encode(text.decode()) == theirs
        assert tok.encode(text.decode()) == theirs


@st.composite
def merge_lists(draw):
    """Generate merges of known tokens, in any order."""
    known = [b"a", b"b", b"c"]
    merges = []
    for _ in range(draw(st.integers(0, 8))):
        pair = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        merges.append(pair)
        if pair[0] + pair[1] not in known and len(pair[0] + pair[1]) < 8:
            known.append(pair[0] + pair[1])
        elif pair[0] + pair[1] not in known:
            merges.pop()
    return merges, draw(st.permutations(known[3:]))


@given(merge_lists(), st.lists(words, min_size=1, max_size=8), st.booleans())
def test_merges_that_are_not_refused_as_ranks_give_the_same_tokens(made, texts, in_order):
    merges, shuffled = made
    products = list(dict.fromkeys(left + right for left, right in merges))
    order = products if in_order else shuffled
    vocab = {i: token for token, i in BASE.items()} | dict(enumerate(order, 256))
    tok = tokviz.Tokenizer(vocab, merges, split_pattern="none")
    assume(why_no_ranks(tok) is None)
    ranks = {token: token_id for token_id, token in vocab.items()}
    for text in texts:
        tokens_ = encode_by_merges(text, list(dict.fromkeys(merges)))
        assert encode_by_ranks(text, ranks) == tokens_
        assert tok.encode(text.decode()) == [ranks[token] for token in tokens_]


@given(tokens, st.lists(words, min_size=1, max_size=8))
@example([b"ab", b"ba", b"aba"], [b"ababa"])
def test_a_list_of_every_way_to_build_a_token_is_ranks_again(extra, texts):
    _, ranks = by_ranks(extra)
    ways = [
        (token[:at], token[at:])
        for token in extra
        for at in range(1, len(token))
        if token[:at] in ranks and token[at:] in ranks
    ]
    vocab = {token_id: token for token, token_id in ranks.items()}
    tok = tokviz.Tokenizer(vocab, ways, split_pattern="none", ignore_merges=True)
    if (reason := why_no_ranks(tok)) is not None:
        made = [merge for token in extra if (merge := last_merge(token, ranks.get))]
        assert len(made) < len(extra), reason
        return
    for text in texts:
        theirs = [ranks[token] for token in encode_by_ranks(text, ranks)]
        assert tok.encode(text.decode()) == theirs


@given(st.lists(words, min_size=1, max_size=6))
def test_what_was_trained_can_always_be_ranks(texts):
    tok = tokviz.train([text.decode() for text in texts], 262, split_pattern="none").tokenizer
    assert why_no_ranks(tok) is None
    assert first_unmerged(tok) is None


def test_a_part_that_is_learned_after_the_whole_is_found():
    ranks = {b"abc": 0, b"ab": 1}
    assert last_merge(b"abc", ranks.get) == (b"ab", b"c")
    assert last_merge(b"xyz", ranks.get) is None
