"""Counting tokens by pieces is counting them by encoding."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tokviz.chat import token_counts
from tokviz.chat.token_counts import EncodingCounter, PieceCounter, SafeCuts, token_counter
from tokviz.formats.registry import load
from tokviz.pretokenize.scan import scanner_of
from tokviz.tokenizer import Tokenizer

BYTES = {i: bytes([i]) for i in range(256)}
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.lists(
            st.sampled_from(
                ["a", "b ", " ", "\n", "é", "你", "'s", "/", "<|", "\udcff", "123", "\u2028"]
            ),
            max_size=20,
        ).map("".join),
    ).filter(
        lambda text: not any("\ud800" <= c < "\udc80" or "\udcff" < c <= "\udfff" for c in text)
    ),
    max_size=10,
)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
@examples(60)
@given(texts=TEXTS)
def test_pieces_count_what_encoding_counts(name, texts):
    tokenizer = load(name)
    scanner = scanner_of(tokenizer.split_pattern)
    assert scanner is not None
    counter = PieceCounter(tokenizer, scanner, most_pieces=5)
    for _ in range(2):
        assert counter.count(texts) == EncodingCounter(tokenizer).count(texts)


def test_many_different_pieces_are_no_matter():
    tokenizer = load("gpt2")
    scanner = scanner_of(tokenizer.split_pattern)
    assert scanner is not None
    texts = [
        " ".join(f"x{i}y{i * 7919}" for i in range(n, n + 500)) for n in range(0, 100_000, 500)
    ]
    counter = PieceCounter(tokenizer, scanner, most_pieces=10_000)
    assert counter.count(texts[:100]) == EncodingCounter(tokenizer).count(texts[:100])
    assert counter.count(texts[100:]) == EncodingCounter(tokenizer).count(texts[100:])


def test_a_custom_pattern_is_counted_by_encoding():
    tokenizer = Tokenizer(BYTES, [], split_pattern=r"\w+|\W+")
    assert isinstance(token_counter(tokenizer, 10**12), EncodingCounter)


def test_few_texts_are_counted_by_encoding():
    assert isinstance(token_counter(load("gpt2"), 1000), EncodingCounter)


def test_nobody_waits_for_a_compiler(monkeypatch):
    monkeypatch.setattr("tokviz.bpe.compiled_counter.KERNELS.are_compiled", lambda: False)
    assert isinstance(token_counter(load("gpt2"), 10**12), EncodingCounter)
    monkeypatch.setattr("tokviz.bpe.compiled_counter.KERNELS.are_compiled", lambda: True)
    assert isinstance(token_counter(load("gpt2"), 10**12), PieceCounter)


def test_encoding_prepares_the_tokenizer_once_it_is_worth_it(monkeypatch):
    tokenizer = Tokenizer(BYTES, [])
    prepared: list[bool] = []
    monkeypatch.setattr(tokenizer, "prepare", lambda: prepared.append(True))
    counter = EncodingCounter(tokenizer)
    counter.count(["a" * token_counts._WORTH_PREPARING_CHARS])
    assert prepared == []
    counter.count(["a"])
    counter.count(["a"])
    assert prepared == [True]


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
@examples(100)
@given(texts=TEXTS, around=TEXTS, n_chars=st.integers(0, 30))
def test_a_block_has_the_same_tokens_wherever_it_stands(name, texts, around, n_chars):
    tokenizer = load(name)

    def count(text: str) -> int:
        return len(tokenizer.encode_byte_text(text, parse_specials=False))

    for text in texts:
        block = SafeCuts(tokenizer).block(text * 3, n_chars)
        if not block:
            continue
        # The block begins at the first cut; the same text may stand before it, too.
        safe_cut = tokenizer.split_pattern.safe_cut
        assert safe_cut is not None
        found = re.compile(safe_cut).search(text * 3, 1)
        assert found is not None
        at = found.start()
        before, after = (text * 3)[:at], (text * 3)[at + len(block) :]
        assert (text * 3)[at:].startswith(block)
        outer = ["", ""] if not around else [around[0], around[-1]]
        whole = count(outer[0] + before + block + after + outer[1])
        assert whole == count(outer[0] + before) + count(block) + count(after + outer[1])


def test_a_custom_pattern_has_no_blocks():
    assert SafeCuts(Tokenizer(BYTES, [], split_pattern=r"\w+|\W+")).block("a b c d", 2) == ""
