"""Tokens that the next character may change, against trying characters one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.profiles import examples
from tokviz.explain.stability import MOST_TAIL, sentences_of, unstable_end
from tokviz.text.sentences import format_sentences
from tokviz.tokenizer.tokenizer import Tokenizer

SAMPLE = [
    *map(chr, range(0x80)),
    *"éÉßſ\u212a\u0301\u3000\u2028\xa0你好世界あカ한글😀🏽½²٣ǅʰ\u200d\u0e00\u1780",
    *map(chr, range(0xC0, 0x500, 17)),
    *map(chr, range(0x4E00, 0x9FFF, 401)),
]
PARTS = ["the", " wor", "it's", "\n\n", "  ", "<|endo", "<|endoftext|>", "indivis", " un", "12"]
TEXTS = st.lists(
    st.sampled_from([*" \n\t'abdehilnorstw019.,(/éſ你😀", *PARTS]), min_size=1, max_size=7
).map("".join)


def n_same(one: list[int], other: list[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def n_changed_by_trying(tok: Tokenizer, text: str) -> int:
    before = tok.encode(text)
    return len(before) - min(n_same(before, tok.encode(text + one)) for one in SAMPLE)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
@examples(40)
@given(text=TEXTS)
def test_no_character_changes_more_and_the_named_one_changes_as_much(name: str, text: str) -> None:
    tok = tokviz.load(name)
    found = unstable_end(tok, text)
    before = tok.encode(text)
    assert found.complete
    assert found.n_tokens >= n_changed_by_trying(tok, text)
    if found.n_tokens:
        after = tok.encode(text + found.character)
        assert n_same(before, after) == len(before) - found.n_tokens
        assert tok.decode_bytes(before[-found.n_tokens :]) == found.data
        assert b"".join(found.becomes) == found.data + found.character.encode()


def test_a_trailing_space_names_tokens_it_makes_unreachable() -> None:
    tok = tokviz.load("gpt2")
    found = unstable_end(tok, "once upon a ")
    assert (found.n_tokens, found.data) == (1, b" ")
    longer = [token for token in tok.vocab.values() if token.startswith(b" ") and token != b" "]
    assert found.n_longer == len(longer)
    assert found.examples[0] == (b" the", 262)
    for token, token_id in found.examples:
        assert tok.encode("once upon a" + token.decode()) == [*tok.encode("once upon a"), token_id]
    sentences = format_sentences(sentences_of(found))
    assert "The text ends in white space." in sentences
    assert "33,134 longer tokens start with ' '" in sentences
    assert "Token healing" in sentences


@pytest.mark.parametrize(
    ("name", "text", "n_tokens"),
    [("cl100k_base", "123", 0), ("gpt2", "it'", 1), ("o200k_base", "it'", 2), ("gpt2", "", 0)],
    ids=["full", "quote", "two", "empty"],
)
def test_some_ends_by_hand(name: str, text: str, n_tokens: int) -> None:
    found = unstable_end(tokviz.load(name), text)
    assert found.n_tokens == n_tokens
    assert found.complete


def test_a_long_text_ends_as_its_end_does() -> None:
    tok = tokviz.load("cl100k_base")
    text = "It is a long text, which goes on. " * 40 + "hello wor"
    assert unstable_end(tok, text) == unstable_end(tok, "goes on. hello wor")
    assert not unstable_end(tok, "x" * (MOST_TAIL + 1)).complete
