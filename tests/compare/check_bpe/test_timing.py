"""Textbook trainers learn the same merges in different times."""

from __future__ import annotations

from tests.compare.check_bpe.test_mistakes import corpus
from tokviz.compare.check_bpe.timing import time_trainers, timing_lines
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.counting import count_pre_tokens


def test_trainers_are_timed_on_as_many_merges_and_counting_again_is_the_slowest() -> None:
    text = corpus(1).decode("utf-8", "ignore")
    counts = count_pre_tokens(Corpus(iter([text])), SPLIT_PATTERNS["gpt2"])
    timings = time_trainers(counts, 10)
    assert [it.n_merges for it in timings] == [10] * 4
    assert timings[0].updating > timings[1].updating > timings[2].updating
    assert timings[2].choosing > timings[3].choosing
    lines = [*timing_lines(timings, 214)]
    assert lines[0] == "your trainer took 214 s"
    assert "count each distinct pre-token once (" in lines[-1]
    assert lines[-1].count("× faster") == 2


def test_an_empty_corpus_is_timed_without_merges() -> None:
    counts = count_pre_tokens(Corpus(iter(["a"])), SPLIT_PATTERNS["gpt2"])
    assert [it.n_merges for it in time_trainers(counts, 10)] == [0] * 4
    assert len([*timing_lines(time_trainers(counts, 10), 0)]) == 7
