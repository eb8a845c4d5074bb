"""Other trainers learn the same tokens."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
import regex

import tokviz
from tests.reference import PATTERNS
from tests.training.trainers import finished, settings
from tokviz.formats.byte_level import from_characters, to_characters
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training import python_trainer
from tokviz.training.compiled_trainer import CompiledTrainer
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.counting import count_pre_tokens
from tokviz.training.python_trainer import PythonTrainer


@pytest.fixture(scope="module")
def text() -> str:
    """Concatenate random tokens of GPT-4o by their frequency: meaningless text in many scripts."""
    vocab = tokviz.load("o200k_base").vocab
    tokens = [vocab[i].decode("utf-8", "ignore") for i in range(256, 6_000)]
    weights = [1 / rank for rank in range(1, len(tokens) + 1)]
    return "".join(random.Random(3).choices(tokens, weights, k=40_000))


@pytest.fixture(params=["python", "compiled"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(python_trainer, "SMALL_WORK", -1)
    else:
        monkeypatch.setattr(python_trainer, "SMALL_WORK", 1 << 60)
    return request.param


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4"])
def test_rustbpe_makes_the_same_tokens_in_the_same_order(text, pattern, engine):
    rustbpe = pytest.importorskip("rustbpe")
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator([text], 1_200, pattern=get_split_pattern(pattern).regex)
    run = tokviz.train([text], 1_200, split_pattern=pattern, tie_break="smallest_id", delimiter="")
    assert run.engine == engine
    assert run.tokenizer.vocab == {i: bytes(token) for token, i in theirs.get_mergeable_ranks()}


def test_minbpe_as_published_makes_the_same_tokens(text, engine):
    short = text[:3_000]
    run = tokviz.train([short], 456, split_pattern="gpt4", delimiter="")
    assert run.engine == engine
    chunks = regex.findall(PATTERNS["cl100k_base"], short)
    assert [*run.history.pairs()] == minbpe_merges([*map(list, map(str.encode, chunks))], 200)


def minbpe_merges(ids: list[list[int]], n_merges: int) -> list[tuple[int, int]]:
    """Train over all chunks, including repeated ones, as minbpe's RegexTokenizer does."""
    merges: list[tuple[int, int]] = []
    for new in range(256, 256 + n_merges):
        stats: dict[tuple[int, int], int] = {}
        for chunk in ids:
            for pair in pairwise(chunk):
                stats[pair] = stats.get(pair, 0) + 1
        best = max(stats, key=stats.__getitem__)
        merges.append(best)
        for chunk in ids:
            i = 0
            while i + 1 < len(chunk):
                if (chunk[i], chunk[i + 1]) == best:
                    chunk[i : i + 2] = [new]
                i += 1
    return merges


def by_hugging_face(text: str, vocab_size: int):
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def merges_of(tokenizer) -> list[tuple[bytes, bytes]]:
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(from_characters(left), from_characters(right)) for left, right in merges]


@pytest.mark.parametrize("engine", [PythonTrainer, CompiledTrainer])
def test_hugging_face_makes_the_same_tokens_if_bytes_have_its_order(text, engine):
    """Its ids of the bytes follow the characters that stand for them: " " is "Ġ", so it is late.

    Ties are all that this order decides: with it, all ids and all merges are the same.
    """
    theirs = by_hugging_face(text, 1_200)
    order = sorted(range(256), key=lambda byte: to_characters(bytes([byte])))
    pre_tokens = count_pre_tokens(Corpus([text], delimiter=None), get_split_pattern("gpt2"))
    pre_tokens.memory["data"] = np.argsort(order).astype(np.uint8)[pre_tokens.data]
    ours = finished(engine(pre_tokens, settings("smallest_id", 1_200 - 256)))
    tokens = [bytes([byte]) for byte in order]
    merges = [(tokens[left], tokens[right]) for left, right in with_tokens(tokens, ours.history())]
    assert {from_characters(name): i for name, i in theirs.get_vocab().items()} == {
        token: i for i, token in enumerate(tokens)
    }
    assert merges_of(theirs) == merges


def with_tokens(tokens: list[bytes], history) -> list[tuple[int, int]]:
    """Return the merges of a history, and add their tokens."""
    pairs = list(history.pairs())
    for left, right in pairs:
        tokens.append(tokens[left] + tokens[right])
    return pairs


@pytest.mark.parametrize("rule", ["first", "lexicographic", "smallest_id"])
def test_hugging_face_makes_the_same_merges_until_pairs_tie(text, rule, engine):
    """Without its order of the bytes, the results are equal up to the first tie."""
    run = tokviz.train([text], 1_200, split_pattern="gpt2", tie_break=rule, delimiter="")
    assert run.engine == engine
    n_decided = int(np.argmax(run.history.n_tied > 1))
    assert n_decided > 30
    assert merges_of(by_hugging_face(text, 1_200))[:n_decided] == run.tokenizer.merges[:n_decided]


def test_hugging_face_makes_the_same_set_of_tokens_where_no_pairs_tie():
    """Words that occur 1, 2, 4, … times: no two pairs have the same count."""
    words = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op", "qr", "st"]
    text = "\n".join(word for n, word in enumerate(words) for _ in range(2**n))
    run = tokviz.train([text], 266, split_pattern="gpt2", delimiter="")
    assert run.history.n_tied.tolist() == [1] * 10
    theirs = {from_characters(name) for name in by_hugging_face(text, 266).get_vocab()}
    assert theirs == set(run.tokenizer.vocab.values())
