"""Each known mistake is diagnosed in the ids of an independent wrong encoder."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import tokviz
from tests.compare.check_bpe.test_mistakes import SPECIAL, WORDS
from tests.oracles import wrong_bpe
from tokviz.compare.check_bpe.encoder import ENCODERS, EncodingCheck, check_encoding
from tokviz.compare.check_bpe.mistakes import MISTAKES
from tokviz.errors import TokvizError
from tokviz.tokenizer.tokenizer import Tokenizer

SPECIALS = [SPECIAL, SPECIAL * 2]


def texts(seed: int) -> list[str]:
    random = Random(seed)
    ends = [" ", " ", " ", "\n", SPECIAL, SPECIAL * 2]
    words = [*WORDS, *("".join(random.choices("anblowest", k=9)) for _ in range(20))]
    return ["".join(random.choice(words) + random.choice(ends) for _ in range(40)) for _ in "abc"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    run = tokviz.train(iter(texts(9)), 400, split_pattern="gpt2", special_tokens=SPECIALS)
    return run.tokenizer


def encoded(tokenizer: Tokenizer, seed: int, wrong: str) -> dict[str, list[int]]:
    given = texts(seed)
    vocab, merges = tokenizer.vocab, tokenizer.merges
    return dict(zip(given, wrong_bpe.encode(given, vocab, merges, SPECIALS, wrong), strict=True))


@pytest.mark.parametrize("name", [name for name in ENCODERS if name.startswith("encode-")])
@pytest.mark.parametrize("seed", range(3))
def test_wrong_encoder_is_diagnosed_by_name(tokenizer: Tokenizer, name: str, seed: int) -> None:
    found = check_encoding(tokenizer, encoded(tokenizer, seed, name))
    assert (found.mistakes, found.n_explained) == ((name,), 3), found
    assert found.ours != found.theirs
    assert f"mistake: {name}: " in "\n".join(found.lines())


@pytest.mark.parametrize("seed", range(20))
def test_correct_encoder_is_never_diagnosed(tokenizer: Tokenizer, seed: int) -> None:
    assert check_encoding(tokenizer, encoded(tokenizer, seed, "")) == EncodingCheck(3, 3)


def test_strict_decoding_is_diagnosed(tokenizer: Tokenizer) -> None:
    ids = encoded(tokenizer, 1, "") | {"漢": tokenizer.encode("漢")}
    both = {
        text: {"ids": it, "decoded": wrong_bpe.decode(it, tokenizer.vocab)}
        for text, it in ids.items()
    }
    found = check_encoding(tokenizer, both)
    assert (found.mistakes, found.n_explained) == (("decode-errors",), 4)
    assert "is decoded wrong" in "\n".join(found.lines())


def test_ids_of_another_text_and_unknown_ids_are_reported(tokenizer: Tokenizer) -> None:
    found = check_encoding(tokenizer, {"low": tokenizer.encode("lower")})
    assert found.mistakes == ()
    assert "your ids decode to another text: b'lower'" in [*map(str.strip, found.lines())]
    found = check_encoding(tokenizer, {"low": [9999]})
    assert "  your vocabulary has no id 9999" in [*found.lines()]


@pytest.mark.parametrize("ids", ["low", {"decoded": "low"}, [1.5], None])
def test_values_that_are_not_ids_are_refused(tokenizer: Tokenizer, ids: Any) -> None:
    with pytest.raises(TokvizError, match="the ids of the text 'low'"):
        check_encoding(tokenizer, {"low": ids})


@pytest.mark.parametrize("name", ENCODERS)
def test_smallest_text_shows_the_mistake(name: str) -> None:
    gpt2 = tokviz.load("gpt2")
    tokenizer = Tokenizer(gpt2.vocab, gpt2.merges, SPECIALS)
    text = MISTAKES[name].corpus.decode()
    (ids,) = wrong_bpe.encode([text], tokenizer.vocab, gpt2.merges, SPECIALS, name)
    entry = {"ids": ids} | ({"decoded": None} if name == "decode-errors" else {})
    assert name in check_encoding(tokenizer, {text: entry}).mistakes
