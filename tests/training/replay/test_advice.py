from __future__ import annotations

import random

import pytest

import tokviz
from tokviz.training.replay.advice import KNEE, Advice, Size, advice_of, advise


@pytest.fixture(scope="module")
def texts() -> tuple[str, str]:
    letters = random.Random(5)
    words = ["".join(letters.choices("abcdeé ", k=letters.randint(2, 7))) for _ in range(5_000)]
    return " ".join(words[:4_900]), " ".join(words[4_900:])


def test_every_size_equals_a_training_of_that_size(texts: tuple[str, str]) -> None:
    corpus, held_out = texts
    options = {"special_tokens": ["<|a|>"], "split_pattern": "gpt2"}
    data = held_out.encode()
    advice = advise(tokviz.train([corpus], 1_500, **options).tokenizer, [data], 64)
    assert [size.n_vocab for size in advice.sizes] == [512, 1_500]
    for size in advice.sizes:
        trained = tokviz.train([corpus], size.n_vocab, **options).tokenizer
        assert size.bytes_per_token == len(data) / len(trained.encode(held_out))
        assert size.n_parameters == 64 * size.n_vocab
    assert Advice.from_json(advice.to_json()) == advice


def test_the_knee_is_where_twice_the_size_saves_little(texts: tuple[str, str]) -> None:
    corpus, held_out = texts
    tokenizer = tokviz.train([corpus + " hello" * 999], 2_048).tokenizer
    advice = advise(tokenizer, [b" hello" * 50], 1000)
    assert [size.saved for size in advice.sizes] == [None, 0, 0] and advice.knee == 512
    assert advice.reason == (
        "512 tokens are enough: 1,024 would save 0.0% of the tokens and need 0.5 M more weights"
    )
    small = advise(tokviz.train([corpus], 300).tokenizer, [held_out.encode()], 1)
    assert (small.knee, len(small.sizes)) == (None, 1)
    assert small.lines()[-1].startswith("More tokens") and small.lines()[-1].endswith("ends.")


@pytest.mark.parametrize(
    ("saved", "knee"),
    [
        ([0.3, 0.2, 0.1], None),
        ([0.3, KNEE, KNEE], None),
        ([0.3, KNEE - 0.001, 0.2], 1_000),
        ([0.01, 0.01, 0.01], 500),
        ([], None),
    ],
)
def test_the_knee_is_the_first_size_whose_double_saves_less(
    saved: list[float], knee: int | None
) -> None:
    sizes = [Size(500 << number, 4.0, share, 0) for number, share in enumerate([None, *saved])]
    assert advice_of(sizes).knee == knee
