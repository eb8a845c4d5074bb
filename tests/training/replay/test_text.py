"""A text after k merges is what an encoder with k merges gives."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.bpe import encode_by_merges
from tests.oracles.nasty import byte_texts, texts
from tests.oracles.replay import encode_by_ranks_below
from tests.profiles import examples
from tokviz.errors import VocabularyError
from tokviz.guide.lessons import lessons
from tokviz.live.document import LiveDocument
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.packed import pack_ranks
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.replay.replay import Replay
from tokviz.training.replay.text import JoinTimes, join_times

BYTES = {byte: bytes([byte]) for byte in range(256)}
OPEN = {name: Replay.open(name) for name in ("gpt2", "cl100k_base")}
RANKS = {
    name: dict(zip(replay.tokenizer.tables.tokens(), replay.tokenizer.tables.ids(), strict=True))
    for name, replay in OPEN.items()
}


def ranked(*tokens: bytes, pattern: str = "none") -> Tokenizer:
    packed = pack_ranks(enumerate([*BYTES.values(), *tokens]))
    return Tokenizer.of(packed, {"<|x|>": 900}, split_pattern=pattern)


def listed(*merges: tuple[bytes, bytes], pattern: str = "none") -> Tokenizer:
    products = dict.fromkeys(left + right for left, right in merges)
    vocab = BYTES | dict(enumerate(products, 256))
    return Tokenizer(vocab, list(merges), {"<|x|>": 900}, split_pattern=pattern)


def list_lengths(merges: list[tuple[bytes, bytes]]) -> list[int]:
    """Return the length of the merge list after 0, 1, … tokens: adjacent merges may share one."""
    products = [left + right for left, right in merges]
    new = [at for at, token in enumerate(products) if products[at - 1 : at] != [token]]
    return [*new, len(merges)]


def limits(replay: Replay, k: int) -> int:
    return replay.step(k + 1).new_id if k < replay.n_merges else replay.step(k).new_id + 1


@pytest.mark.parametrize("name", list(OPEN))
@examples(60)
@given(text=byte_texts, seed=st.integers(0, 10**9))
def test_pretrained_text_is_that_of_the_ranks_below(name, text, seed) -> None:
    replay, ranks = OPEN[name], RANKS[name]
    tok = replay.tokenizer
    prepared = replay.text(text)
    rng = random.Random(seed)
    ks = [0, replay.n_merges, rng.randrange(500), rng.randrange(replay.n_merges)]
    for k in ks:
        expected = []
        for start, end in tok.byte_text.split(text):
            if text[start:end] in tok.special_tokens:
                expected.append(tok.special_tokens[text[start:end]])
            else:
                pre_token = bytetext.to_bytes(text[start:end])
                tokens = encode_by_ranks_below(pre_token, ranks, limits(replay, k))
                expected += [ranks[token] for token in tokens]
        at = prepared.at(k)
        assert at.ids.tolist() == expected
        assert prepared.n_tokens(k) == len(at) == len(expected)
        data = bytetext.to_bytes(text)
        starts = [0, *at.byte_ends.tolist()]
        parts = [data[a:b] for a, b in pairwise(starts)]
        assert parts == [tok.token_bytes(i) for i in expected]
    assert prepared.at(replay.n_merges).ids.tolist() == tok.byte_text.encode(text).tolist()


ALPHABET = [b"a", b"b", b"c"]


@st.composite
def merge_lists(draw: st.DrawFn) -> list[tuple[bytes, bytes]]:
    """Merge lists in any order, in which a merge may use the token of a later one."""
    tokens = list(ALPHABET)
    merges: list[tuple[bytes, bytes]] = []
    for _ in range(draw(st.integers(1, 9))):
        pair = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if pair not in merges and len(pair[0] + pair[1]) < 8:
            merges.append(pair)
            if pair[0] + pair[1] not in tokens:
                tokens.append(pair[0] + pair[1])
    return draw(st.permutations(merges)) if draw(st.booleans()) else merges


pre_tokens = st.lists(st.sampled_from(ALPHABET), max_size=14).map(b"".join)


@examples(300)
@given(merges=merge_lists(), pre_token=pre_tokens)
def test_text_of_any_merge_list_is_that_of_its_first_merges(merges, pre_token) -> None:
    tok = listed(*merges)
    replay = Replay.open(tok)
    prepared = replay.text(pre_token.decode())
    assert replay.n_merges == len(list_lengths(merges)) - 1
    for k, length in enumerate(list_lengths(merges)):
        expected = [tok.token_id(token) for token in encode_by_merges(pre_token, merges[:length])]
        assert prepared.at(k).ids.tolist() == expected


@examples(300)
@given(
    tokens=st.lists(
        pre_tokens.filter(lambda p: 1 < len(p) < 7), unique=True, min_size=1, max_size=9
    ),
    pre_token=pre_tokens,
)
def test_text_of_any_ranks_is_that_of_the_ranks_below(tokens, pre_token) -> None:
    """Ranks in any order, tokens that no merge reaches, and pre-tokens that are looked up whole."""
    tok = ranked(*tokens)
    ranks = {token: rank for rank, token in tok.vocab.items() if rank < 900}
    replay = Replay.open(tok)
    assert replay.n_merges == len(tokens)
    text = pre_token.decode() + "<|x|>" + pre_token.decode()
    prepared = replay.text(text)
    for k in range(len(tokens) + 1):
        half = [ranks[token] for token in encode_by_ranks_below(pre_token, ranks, 256 + k)]
        assert prepared.at(k).ids.tolist() == [*half, 900, *half]


@examples(300)
@given(
    merges=merge_lists(),
    extra=st.sampled_from([b"abc", b"ab", b"ccc", b"bca"]),
    pre_token=pre_tokens,
)
def test_pre_tokens_that_are_tokens_are_looked_up_where_merges_are_ignored(
    merges, extra, pre_token
):
    """From the first merge that makes the token, or from the start if none does."""
    products = [left + right for left, right in merges]
    vocab = BYTES | dict(enumerate(dict.fromkeys([*products, extra]), 256))
    tok = Tokenizer(vocab, list(merges), split_pattern="none", ignore_merges=True)
    replay = Replay.open(tok)
    prepared = replay.text(pre_token.decode())
    for k, length in enumerate(list_lengths(merges)):
        tokens = encode_by_merges(pre_token, merges[:length])
        if pre_token in products[:length] or (pre_token == extra and pre_token not in products):
            tokens = [pre_token]
        expected = [tok.token_id(token) for token in tokens]
        assert prepared.at(k).ids.tolist() == expected
    assert prepared.at(replay.n_merges).ids.tolist() == tok.encode(pre_token.decode())


@examples(60)
@given(text=texts)
def test_the_text_of_a_run_is_that_of_a_shorter_run(text) -> None:
    source = ["the theory of the other, then there and here 123 12 1"]
    whole = Replay.open(tokviz.train(source, 290, special_tokens=["<|endoftext|>"]))
    prepared = whole.text(text)
    for k in (0, 3, 11, whole.n_merges):
        short = tokviz.train(source, 257 + k, special_tokens=["<|endoftext|>"]).tokenizer
        ids = short.encode(text)
        moved = {short.n_vocab - 1: whole.tokenizer.n_vocab - 1}
        assert prepared.at(k).ids.tolist() == [moved.get(i, i) for i in ids]


def test_an_unreached_token_is_a_step_without_a_pair() -> None:
    replay = Replay.open(ranked(b"ab", b"abcd"))
    step = replay.step(2)
    assert not step.is_reached
    assert (step.left_id, step.right_id, step.token, step.new_id) == (-1, -1, b"abcd", 257)
    assert "No merge makes" in str(replay.why(2))
    assert replay.text("abcd").at(2).ids.tolist() == [257]
    assert replay.text("abcda").at(2).ids.tolist() == [256, 99, 100, 97]


def test_a_token_whose_listed_merges_never_happen_is_a_step_without_a_pair() -> None:
    bc_first = (b"b", b"c"), (b"a", b"b"), (b"c", b"d"), (b"b", b"cd")
    tok = listed(*bc_first, (b"a", b"bcd"), (b"ab", b"cd"))
    abcd = tok.token_id(b"abcd")
    assert abcd is not None and tok.merge_of(abcd) is None
    step = Replay.open(tok).step(5)
    assert (step.left_id, step.right_id, step.token, step.new_id) == (-1, -1, b"abcd", abcd)


def test_special_tokens_can_be_plain_text() -> None:
    replay = OPEN["gpt2"]
    assert replay.text("<|endoftext|>").at(0).ids.tolist() == [50256]
    assert len(replay.text("<|endoftext|>", parse_specials=False).at(0)) == 13


def test_no_text_has_no_tokens() -> None:
    prepared = OPEN["gpt2"].text("")
    assert len(prepared.at(0)) == prepared.n_tokens(7) == 0
    assert prepared.next_change(0) is prepared.previous_change(50_000) is None


def test_changes_are_where_the_tokens_change() -> None:
    replay = OPEN["gpt2"]
    prepared = replay.text(" the theory")
    k, seen = 0, [prepared.at(0).ids.tolist()]
    while (after := prepared.next_change(k)) is not None:
        assert prepared.n_tokens(k) == prepared.n_tokens(after - 1) != prepared.n_tokens(after)
        assert prepared.previous_change(after) == after
        assert prepared.at(after - 1).ids.tolist() == seen[-1]
        seen.append(prepared.at(after).ids.tolist())
        k = after
    assert seen[-1] == replay.tokenizer.encode(" the theory")
    assert len(seen[-1]) < len(seen[-2])


def test_a_text_is_one_token_from_some_merge_on() -> None:
    replay = OPEN["gpt2"]
    prepared = replay.text(" theory")
    k = prepared.previous_change(replay.n_merges)
    assert k is not None
    assert (len(prepared.at(k - 1)) > 1, len(prepared.at(k))) == (True, 1)
    assert replay.text("the theory").n_tokens(replay.n_merges) == 2
    assert replay.text("t").previous_change(replay.n_merges) is None
    assert replay.text("t").n_tokens(0) == 1


def test_bytes_that_have_no_token_yet_are_minus_one() -> None:
    vocab = {0: b"a", 1: b"b", 2: b"ab"}
    replay = Replay.open(Tokenizer(vocab, [(b"a", b"b")], split_pattern="none"))
    assert replay.text("ab").at(1).ids.tolist() == [2]
    with pytest.raises(VocabularyError):
        replay.text("abc")


def test_a_long_run_is_prepared_by_its_tokens_not_as_one_pre_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    replay, worked_on = Replay.open("cl100k_base"), list[int]()

    def join(pre_token: bytes, *others: object) -> JoinTimes:
        worked_on.append(len(pre_token))
        return join_times(pre_token, *others)

    monkeypatch.setattr("tokviz.training.replay.text.join_times", join)
    text = replay.text("x" * 100_000)
    assert text.n_tokens(replay.n_merges) == len(replay.tokenizer.encode("x" * 100_000))
    assert sum(worked_on) < 1_000


EDITED = "newest lowest wider <|endoftext|> é 漢 ids, 1984"


@pytest.mark.parametrize("source", ["gpt2", "cl100k_base", "cs336"])
def test_an_edited_text_has_the_tokens_of_a_replay_after_each_merge(source: str) -> None:
    replay = Replay.open(lessons()[source].ready() if source in lessons() else source)
    text, last = replay.text(EDITED), replay.n_merges
    for k in (0, 1, 5, last // 2, last):
        tokens, then = text.at(k), replay.tokenizer_after(k)
        live = LiveDocument(EDITED[:9], then)
        live.edit(9, 0, EDITED[9:])
        assert list(live.ids()) == tokens.ids.tolist()
        assert then.tokenize(EDITED).byte_spans[:, 1].tolist() == tokens.byte_ends.tolist()
    assert replay.tokenizer.encode(EDITED) == text.at(last).ids.tolist()
