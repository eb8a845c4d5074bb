"""Each known mistake is diagnosed in the merges of an independent wrong trainer."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.oracles import wrong_bpe
from tests.profiles import EXAMPLES
from tokviz.compare.check_bpe.check import BpeCheck, check_bpe
from tokviz.compare.check_bpe.mistakes import MISTAKES, Mistake
from tokviz.compare.check_bpe.trainer import Setup, count, learn
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training.ties import TIE_BREAKS

SPECIAL = wrong_bpe.SPECIAL
N_MERGES = 100
WORDS = (
    *("banana", "mississippi", "aaaa", "aaa", "aaaaaa", "abababab", "Abab", "ABAB", "low", "lower"),
    *("lowest", "newest", "widest", "Zoë", "naïve", "héhé", "éléphant", "é_é", "x_y", "9a", "678"),
    *("snake_case", "12345", "it's", "they've", "<a|b>", "<<a", ">>b", "<<<b", "ααα", "βαβα"),
)


def corpus(seed: int, *, with_specials: bool = True) -> bytes:
    """Return a text in which every mistake makes a difference."""
    random = Random(seed)
    ends = ["\r\n\r\n", "\n\n", " ", "  \n"] + ([SPECIAL] if with_specials else [])
    weights = [9, 4, 40, 6] + ([3] if with_specials else [])
    words = random.choices(WORDS, k=1000)
    text = "".join(word + random.choices(ends, weights)[0] for word in words)
    data = text.encode().split(b" ")
    return b" ".join(word + b"\xff\xfe" * (random.random() < 0.2) for word in data)


def check(tmp_path: Path, data: bytes, merges: wrong_bpe.Merges, **more: int) -> BpeCheck:
    """Check merges that should follow CS336's rules."""
    file = tmp_path / "corpus.txt"
    file.write_bytes(data)
    return check_bpe(
        None,
        merges,
        corpus=file,
        special_tokens=[SPECIAL],
        tie_break="lexicographic",
        seconds=60,
        **more,
    )


TRAINED = [
    name
    for name, it in MISTAKES.items()
    if it.topic not in ("size", "encoding") and name != "ties-lexicographic"
]


SEEDS = 3
"""Number of corpora: all for each mistake in the long run (see `tests.profiles`), else one."""


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        (name, seed)
        for number, name in enumerate(TRAINED)
        for seed in range(SEEDS)
        if EXAMPLES in os.environ or seed == number % SEEDS
    ],
)
def test_wrong_trainer_is_diagnosed_by_name(tmp_path: Path, name: str, seed: int) -> None:
    data = corpus(seed, with_specials=name != "chunk-in-pre-token")
    merges = wrong_bpe.train(data, N_MERGES, name)
    found = check(tmp_path, data, merges)
    assert found.n_equal < len(merges)
    assert name in [it.mistakes[0].name for it in found.explanations], str(found)
    assert found.explanations[0].n_equal == len(merges)
    assert len(found.explanations) <= 3


@pytest.mark.parametrize(
    "names",
    [
        ("lowercase", "unweighted-counts"),
        ("ties-first", "specials-in-corpus"),
        ("newline-translation", "ties-smallest-bytes"),
        ("overlapping-pairs", "no-pre-tokenization"),
        ("unweighted-counts", "merges-across-specials"),
        ("no-decrement", "other-pattern"),
    ],
)
def test_two_mistakes_are_both_named(tmp_path: Path, names: tuple[str, str]) -> None:
    data = corpus(5)
    found = check(tmp_path, data, wrong_bpe.train(data, N_MERGES, *names))
    assert found.explanations, str(found)
    best = found.explanations[0]
    named = {it.name for it in best.mistakes}
    assert named == {*names}, str(found)


def test_correct_merges_are_identical(tmp_path: Path) -> None:
    data = corpus(7)
    merges = wrong_bpe.train(data, N_MERGES)
    found = check(tmp_path, data, merges, vocab_size=N_MERGES + 257)
    assert found.is_correct
    assert str(found).startswith("identical: 100 of 100 merges")


def test_correct_random_trainings_are_never_diagnosed(tmp_path: Path) -> None:
    for seed in range(10):
        random = Random(seed)
        data = " ".join(random.choices(WORDS, k=random.randrange(1, 60))).encode()
        found = check(tmp_path, data, wrong_bpe.train(data, random.randrange(1, 60)))
        assert (found.is_correct, found.explanations) == (True, ()), str(found)


@pytest.mark.parametrize(
    "mistake", [it for it in MISTAKES.values() if it.corpus and it.topic != "encoding"]
)
def test_smallest_corpus_shows_the_mistake(mistake: Mistake) -> None:
    other = "smallest_id" if mistake.name == "ties-lexicographic" else "lexicographic"
    setup = Setup(get_split_pattern("gpt2"), (SPECIAL.encode(),), TIE_BREAKS[other])
    correct = [*learn(setup, count(setup, [mistake.corpus]), 20)]
    wrong = [
        [*islice(learn(it, count(it, [mistake.corpus]), 20), 20)] for it in mistake.variants(setup)
    ]
    assert any(merges != correct for merges in wrong)


@pytest.mark.parametrize(
    ("n_merges", "name"), [(270, "size-without-bytes"), (14, "size-without-specials")]
)
def test_wrong_number_of_merges_is_explained(tmp_path: Path, n_merges: int, name: str) -> None:
    data = b" ".join(bytes([65 + i % 26, 97 + i // 26]) for i in range(600))
    found = check(tmp_path, data, wrong_bpe.train(data, n_merges), vocab_size=270)
    assert not found.is_correct
    assert name in str(found)


def test_pairs_before_the_first_wrong_merge_are_shown_for_both(tmp_path: Path) -> None:
    data = b"ab ab ab cd cde ef"
    found = check(tmp_path, data, wrong_bpe.train(data, 3, "unweighted-counts"))
    assert found.mistakes == ("unweighted-counts",)
    assert found.table[0] == ((b"a", b"b"), 3)
    assert dict(found.their_table)[b"c", b"d"] == 2
    assert dict(found.their_table)[b"a", b"b"] == 2
