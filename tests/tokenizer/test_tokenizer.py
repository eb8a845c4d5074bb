from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.bpe import encode_by_merges, encode_by_ranks
from tests.oracles.nasty import FRAGMENTS, byte_texts, texts
from tests.profiles import examples
from tests.reference import PATTERNS, tiktoken_encoding
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.text import bytetext
from tokviz.tokenizer.encoding import segment_encoder
from tokviz.tokenizer.encoding.merging import merge_pre_token
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS

NAMES = [builtin.name for builtin in BUILTIN_TOKENIZERS]
SINGLE_BYTES = {byte: bytes([byte]) for byte in range(256)}


def fresh(name: str) -> tokviz.Tokenizer:
    """Load a tokenizer without compiled tables."""
    return next(b for b in BUILTIN_TOKENIZERS if b.name == name).load()


@pytest.mark.parametrize("name", PATTERNS)
@given(text=texts)
def test_ids_are_tiktokens(name: str, text: str) -> None:
    tok, reference = tokviz.load(name), tiktoken_encoding(name)
    tok.prepare()
    assert tok.encode(text) == reference.encode(text, allowed_special="all")
    assert tok.encode(text, allowed_special="none") == reference.encode_ordinary(text)


@pytest.mark.parametrize("name", PATTERNS)
@given(text=texts)
def test_ids_are_tiktokens_before_the_tables_are_built(name: str, text: str) -> None:
    tok = _unprepared(name)
    assert tok.encode(text, "none") == tiktoken_encoding(name).encode_ordinary(text)


_cache: dict[str, tokviz.Tokenizer] = {}


def _unprepared(name: str) -> tokviz.Tokenizer:
    return _cache.setdefault(name, fresh(name))


@pytest.mark.parametrize("name", PATTERNS)
@given(text=st.text(st.characters(codec=None, exclude_categories=()), max_size=40))
def test_lone_surrogates_follow_tiktokens_rule(name: str, text: str) -> None:
    tok, reference = tokviz.load(name), tiktoken_encoding(name)
    assert tok.encode(text, "none") == reference.encode_ordinary(text)
    assert tok.tokenize(text).n_replaced == bytetext.replace_surrogates(text)[1]


def test_surrogates_in_a_long_text_follow_tiktokens_rule() -> None:
    tok, reference = tokviz.load("cl100k_base"), tiktoken_encoding("cl100k_base")
    for text in ("é 👍 " * 150_000 + "\ud83d", "\ud83d\udc4d" * 150_000 + "\udc80 "):
        expected = reference.encode_ordinary(text)
        assert tok.encode(text, "none") == tok.encode_to_numpy(text, "none").tolist() == expected
        assert tok.encode_batch(["a", text], "none")[1] == tok.tokenize(text, "none").ids


@pytest.mark.parametrize("name", NAMES)
@given(text=byte_texts)
def test_bytes_come_back_exactly(name: str, text: str) -> None:
    tok = tokviz.load(name)
    data = bytetext.to_bytes(tok.normalizer.apply(text))
    assert tok.decode_bytes(tok.encode_bytes(data)) == data
    assert tok.decode_bytes(tok.encode_bytes(data, "none")) == data


@pytest.mark.parametrize("unit", [" ", "\t", "\u3000"])
def test_white_space_beyond_tiktoken_follows_the_ranks(unit: str) -> None:
    """The run without its last character is one pre-token; the last one goes with the x or
    alone.
    """
    tok = tokviz.load("gpt2")
    ranks = _gpt2_ranks()
    run = unit * 149_999
    merged = merge_pre_token(run.encode(), lambda left, right: ranks.get(left + right))
    expected = [ranks[token] for token in merged] + tok.encode(unit + "x")
    assert tok.encode(run + unit + "x") == expected


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
@pytest.mark.parametrize("text", [" " * 120_000, " " * 119_999 + "x", "\t" * 110_000 + "\nx"])
def test_own_path_for_long_white_space_is_tiktokens(name: str, text: str) -> None:
    """These lengths are the longest that tiktoken can encode."""
    assert tokviz.load(name).encode(text) == tiktoken_encoding(name).encode_ordinary(text)


def test_a_million_spaces_do_not_raise(capfd: pytest.CaptureFixture[str]) -> None:
    tok = tokviz.load("cl100k_base")
    for text in (" " * 1_000_000, " " * 999_999 + "x"):
        assert tok.decode(tok.encode(text)) == text
    assert capfd.readouterr().err == ""


@given(text=st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join))
def test_rank_vocabulary_follows_the_textbook(text: str) -> None:
    tok = tokviz.load("gpt2")
    ranks = _gpt2_ranks()
    expected = [
        ranks[token]
        for start, end in tok.byte_text.split(text, allowed_special=False)
        for token in encode_by_ranks(text[start:end].encode(), ranks)
    ]
    assert tok.encode(text, "none") == expected


def _gpt2_ranks() -> dict[bytes, int]:
    return {token: rank for rank, token in tokviz.load("gpt2").vocab.items()}


# -- merge lists


def merge_lists() -> Iterator[list[tuple[bytes, bytes]]]:
    rng = random.Random(7)
    for _ in range(60):
        tokens = [b"a", b"b", b"c", b"\xff"]
        merges = []
        for _ in range(rng.randint(0, 12)):
            pair = (rng.choice(tokens), rng.choice(tokens))
            if pair not in merges:
                merges.append(pair)
                if pair[0] + pair[1] not in tokens:
                    tokens.append(pair[0] + pair[1])
        yield merges


@pytest.mark.parametrize("merges", merge_lists())
def test_merge_list_follows_the_textbook(merges: list[tuple[bytes, bytes]]) -> None:
    products = dict.fromkeys(left + right for left, right in merges)
    vocab = SINGLE_BYTES | {256 + i: token for i, token in enumerate(products)}
    tok = tokviz.Tokenizer(vocab, merges, split_pattern="none")
    rng = random.Random(len(merges))
    for _ in range(40):
        data = bytes(rng.choices(b"abc\xff", k=rng.randint(0, 30)))
        tokens = [tok.token_bytes(i) for i in tok.encode_bytes(data)]
        assert tokens == encode_by_merges(data, merges)


def test_merge_list_is_not_ranks_of_concatenations() -> None:
    """`abc` can only be made of a + bc, which are never adjacent: ab is merged first."""
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc")]
    vocab = SINGLE_BYTES | {256: b"ab", 257: b"bc", 258: b"abc"}
    tok = tokviz.Tokenizer(vocab, merges, split_pattern="none")
    assert tok.encode("abc") == [256, ord("c")]


def test_contradictory_vocabularies_are_refused() -> None:
    with pytest.raises(tokviz.VocabularyError, match="are both"):
        tokviz.Tokenizer(SINGLE_BYTES | {256: b"a"}, [])
    for vocab, reason in (
        ({0: b""}, "is empty"), ({-1: b"a"}, "-1 is negative"), ({1 << 32: b"a"}, "is too large")
    ):  # fmt: skip
        with pytest.raises(tokviz.VocabularyError, match=reason):
            tokviz.Tokenizer(vocab, [])
    with pytest.raises(tokviz.VocabularyError, match=r"merge 0 .*is not a token"):
        tokviz.Tokenizer(SINGLE_BYTES, [(b"a", b"b")])
    with pytest.raises(tokviz.VocabularyError, match="0x61 has no token"):
        tokviz.Tokenizer({0: b"b"}, []).encode("a")


# -- special tokens


def specials_of(names: list[str] | dict[str, int]) -> tokviz.Tokenizer:
    return tokviz.Tokenizer(SINGLE_BYTES, [], names, split_pattern="gpt2")


def test_longest_of_overlapping_specials_wins() -> None:
    tok = specials_of(["<|end|>", "<|end|><|end|>"])
    ids = tok.encode("a<|end|><|end|>b<|end|>")
    assert ids == [97, 257, 98, 256]


def test_listed_specials_come_after_the_rest_unless_they_are_there() -> None:
    tok = tokviz.Tokenizer(SINGLE_BYTES | {300: b"<s>"}, [], ["<s>", "</s>"])
    assert tok.special_tokens == {"<s>": 300, "</s>": 301}
    assert tok.encode("<s></s>") == [300, 301]
    assert tok.n_vocab == 302


def test_only_allowed_specials_are_recognised() -> None:
    tok = tokviz.load("cl100k_base")
    text = "<|endoftext|><|fim_prefix|>"
    assert tok.encode(text) == [100257, 100258]
    assert tok.encode(text, allowed_special={"<|fim_prefix|>"})[-1] == 100258
    assert 100257 not in tok.encode(text, allowed_special={"<|fim_prefix|>"})
    assert not {100257, 100258} & set(tok.encode(text, allowed_special="none"))
    with pytest.raises(tokviz.SpecialTokenError, match="allowed_special"):
        tok.encode(text, allowed_special="<|endoftext|>")


def test_colliding_specials_are_refused() -> None:
    with pytest.raises(tokviz.SpecialTokenError, match="is the token"):
        specials_of({"<s>": 97})
    with pytest.raises(tokviz.SpecialTokenError, match="empty"):
        specials_of({"": 300})
    with pytest.raises(tokviz.SpecialTokenError, match="same id"):
        specials_of({"<a>": 300, "<b>": 300})
    with pytest.raises(tokviz.SpecialTokenError, match="listed twice"):
        specials_of(["<a>", "<a>"])


# -- decoding


def test_unknown_ids_are_named() -> None:
    tok = tokviz.load("cl100k_base")
    with pytest.raises(tokviz.TokenIdError, match=r"id 999999 \(position 1 of the ids\)"):
        tok.decode([1, 999999])
    with pytest.raises(tokviz.TokenIdError, match="is a gap"):
        tok.decode_bytes([100261])
    with pytest.raises(tokviz.TokenIdError):
        tok.decode([-1])


def test_half_a_character_decodes_to_a_replacement() -> None:
    tok = tokviz.load("gpt2")
    half = tok.encode("世")[:1]
    assert tok.decode(half) == "\ufffd"
    assert tok.decode_bytes(half) == "世".encode()[: len(tok.token_bytes(half[0]))]


# -- tokenize


@pytest.mark.parametrize("name", NAMES)
@examples(40)
@given(text=texts)
def test_spans_and_pre_tokens_tile_the_bytes(name: str, text: str) -> None:
    tok = tokviz.load(name)
    text = tok.normalizer.apply(text)
    result = tok.tokenize(text)
    data = text.encode()
    assert result.ids == tok.encode(text)
    assert b"".join(data[a:b] for a, b in result.byte_spans) == data
    assert [tok.token_bytes(i) for i in result.ids] == [data[a:b] for a, b in result.byte_spans]
    assert b"".join(data[a:b] for a, b in result.pre_tokens) == data
    assert set(result.pre_tokens[:, 1]) <= set(result.byte_spans[:, 1])
    assert list(result.special) == [tok.is_special(i) for i in result.ids]
    assert result.byte_spans.shape == (len(result.ids), 2)


def test_empty_text() -> None:
    result = tokviz.load("gpt2").tokenize("")
    assert result.ids == []
    assert result.byte_spans.shape == (0, 2)
    assert result.pre_tokens.shape == (0, 2)
    assert result.byte_spans.dtype == np.int64


def test_encode_iterable_is_lazy() -> None:
    tok = tokviz.load("gpt2")

    def lines() -> Iterator[str]:
        yield "one line\n"
        raise AssertionError("asked for more than was needed")

    stream = tok.encode_iterable(lines())
    assert [next(stream) for _ in tok.encode("one line\n")] == tok.encode("one line\n")
    assert list(tok.encode_iterable(["a b", " c"])) == tok.encode("a b") + tok.encode(" c")


# -- the vocabulary


def test_recovered_merges_rebuild_gpt2() -> None:
    """GPT-2's published merges.txt starts with these; every merge makes the token of its rank."""
    tok = tokviz.load("gpt2")
    assert tok.merges[:4] == [(b" ", b"t"), (b" ", b"a"), (b"h", b"e"), (b"i", b"n")]
    assert len(tok.merges) == 50_000
    assert [left + right for left, right in tok.merges] == [
        tok.vocab[256 + i] for i in range(50_000)
    ]


@examples(30)
@given(text=texts)
def test_recovered_merges_encode_the_same(text: str) -> None:
    tok = tokviz.load("gpt2")
    assert [tok.token_id(t) for t in _gpt2_by_merges(text)] == tok.encode(text, "none")


def _gpt2_by_merges(text: str) -> list[bytes]:
    by_merges = _cache.get("by merges")
    if by_merges is None:
        gpt2 = tokviz.load("gpt2")
        ordinary = {i: token for i, token in gpt2.vocab.items() if not gpt2.is_special(i)}
        by_merges = _cache["by merges"] = tokviz.Tokenizer(ordinary, gpt2.merges)
    return [by_merges.token_bytes(i) for i in by_merges.encode(text)]


def test_one_merge_is_recovered_without_the_others() -> None:
    tok = fresh("cl100k_base")
    the = tok.token_id(b" the")
    assert the is not None
    assert tok.merge_of(the) == (b" th", b"e")
    assert tok.merge_of(0) is None
    assert tok.merge_of(100257) is None
    assert tok.rank(the) == the
    assert tok.rank(100257) is None


# -- many at once


@pytest.fixture(params=["compiled", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Encode everything with compiled loops, or everything in Python."""
    monkeypatch.setattr(
        segment_encoder, "SHORT_TEXT", -1 if request.param == "compiled" else 1 << 60
    )
    return request.param


def listed() -> tokviz.Tokenizer:
    """Create a tokenizer from a merge list, without compiled tables."""
    gpt2 = tokviz.load("gpt2")
    specials = {"<|im_start|>": 60_000, "'s": 60_001}
    return tokviz.Tokenizer(
        {i: token for i, token in gpt2.vocab.items() if not gpt2.is_special(i)},
        gpt2.merges, specials, split_pattern=r"\w+|\n",
    )  # fmt: skip


@pytest.mark.parametrize("name", [*NAMES, "listed"])
def test_all_ways_to_encode_agree(name: str, way: str) -> None:
    tok = fresh(name) if name in NAMES else listed()
    rng = random.Random(5)
    many = ["".join(rng.choices(FRAGMENTS, k=rng.randint(0, 60))) for _ in range(80)]
    assert tok.encode_batch(many) == [tok.encode(text) for text in many]
    for text in many:
        result = tok.tokenize(text)
        array = tok.encode_to_numpy(text)
        assert array.dtype == np.uint32
        assert array.tolist() == tok.encode(text) == result.ids
        spans = tok.byte_text.split(text)
        sizes = [[len(text[:end].encode()) for end in span] for span in spans]
        assert result.pre_tokens.tolist() == sizes
        assert list(result.special) == [tok.is_special(i) for i in result.ids]
        if not tok.normalizer:
            data = text.encode()
            tokens = [data[start:end] for start, end in result.byte_spans]
            assert tokens == [tok.token_bytes(i) for i in result.ids]
        if name in NAMES:
            assert result.ids == tokviz.load(name).encode(text)


def test_a_tokenizer_with_another_pattern_shares_the_tables(way: str) -> None:
    tok = fresh("gpt2")
    tok.prepare()
    other = tok.with_parts(SPLIT_PATTERNS["none"], tok.specials)
    assert other.tables is tok.tables
    assert other.encode("a b") == [64, 275]
