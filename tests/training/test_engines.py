"""Both engines merge exactly as the slow originals do, and keep the same history."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles import train as oracle
from tests.profiles import examples
from tests.training.trainers import corpora, finished, pre_token_counts, settings
from tokviz.training import compiled_trainer, merge_kernels, merge_state, python_trainer
from tokviz.training.compiled_trainer import CompiledTrainer
from tokviz.training.python_trainer import PythonTrainer, history_of, is_small, learn_merges
from tokviz.training.ties import TIE_BREAKS

RULES = sorted(TIE_BREAKS)
ENGINES = [PythonTrainer, CompiledTrainer]

both_engines = pytest.mark.parametrize("engine", ENGINES)
every_rule = pytest.mark.parametrize("rule", RULES)


@both_engines
@every_rule
@given(corpora(), st.sampled_from([1, 5, 300]), st.sampled_from([1, 1, 2, 71_000]))
@example(([b"aaa"], [1]), 300, 1)
@example(([b"aaaaa", b"aaaa"], [1, 2]), 300, 1)
@example(([b"a"], [7]), 300, 1)
@examples(60)
def test_merges_and_history_equal_the_slow_original(engine, rule, corpus, n_merges, min_count):
    pre_tokens, counts = corpus
    expected = history_of(oracle.learn(pre_tokens, counts, rule, n_merges, min_count))
    trainer = finished(
        engine(pre_token_counts(pre_tokens, counts), settings(rule, n_merges, min_count))
    )
    assert trainer.history() == expected
    assert trainer.n_merges == len(expected)
    assert (trainer.end is None) == (len(expected) == n_merges)


def random_corpus(seed: int, n_pre_tokens: int) -> tuple[list[bytes], list[int]]:
    random = np.random.default_rng(seed)
    words = {
        bytes(random.choice(list(b"etaoin shr"), random.integers(1, 12)).tolist()): None
        for _ in range(n_pre_tokens)
    }
    return list(words), random.zipf(1.5, len(words)).clip(1, 10**9).tolist()


@every_rule
def test_the_engines_agree_on_a_larger_corpus(rule):
    corpus = pre_token_counts(*random_corpus(1, 3_000))
    plain = finished(PythonTrainer(corpus, settings(rule, 2_000)))
    compiled = finished(CompiledTrainer(corpus, settings(rule, 2_000)))
    assert compiled.history() == plain.history()
    assert compiled.merges_from(1_990) == plain.merges_from(1_990)
    assert compiled.n_tokens == plain.n_tokens


@every_rule
def test_arrays_that_are_always_full_change_nothing(rule, monkeypatch):
    corpus = pre_token_counts(*random_corpus(2, 500))
    expected = finished(CompiledTrainer(corpus, settings(rule, 400))).history()
    monkeypatch.setattr(compiled_trainer, "capacity_for", lambda n_used, _, n_more: n_used + n_more)
    trainer = CompiledTrainer(corpus, settings(rule, 400))
    while trainer.state is None:
        trainer.advance(-1.0)
    state = trainer.state
    n_more = len(state.fresh) // 2
    trainer.state = state._replace(
        occurrences=state.occurrences[: state.numbers[merge_state.N_OCCURRENCES] + n_more],
        **{
            name: getattr(state, name)[: n * (state.numbers[merge_state.N_PAIRS] + n_more)]
            for name, n in compiled_trainer.BY_PAIR.items()
        },
    )
    compiled_trainer.note_capacities(trainer.state)
    compactions: list[int] = []

    def compact(state, rule):
        compactions.append(trainer.n_merges)
        compact_kernel(state, rule)

    compact_kernel = merge_kernels.compact
    monkeypatch.setattr(merge_kernels, "compact", compact)
    assert finished(trainer).history() == expected
    assert len(compactions) > 10


@every_rule
def test_pauses_change_nothing(rule, monkeypatch):
    corpus = pre_token_counts(*random_corpus(3, 300))
    expected = finished(CompiledTrainer(corpus, settings(rule, 300))).history()
    monkeypatch.setattr(compiled_trainer, "LEAST_BUDGET", 1)
    trainer = CompiledTrainer(corpus, settings(rule, 300))
    trainer.budget = 1
    n_pauses = 0
    while not trainer.advance(1e-9):
        n_pauses += 1
        assert trainer.history() == as_prefix(expected, trainer.n_merges)
    assert n_pauses >= 299
    assert trainer.history() == expected


def as_prefix(history, n):
    return type(history)(**{name: array[:n] for name, array in history.arrays().items()})


@every_rule
def test_a_layout_in_many_steps_changes_nothing(rule, monkeypatch):
    corpus = pre_token_counts(*random_corpus(4, 300))
    expected = finished(CompiledTrainer(corpus, settings(rule, 300))).history()
    monkeypatch.setattr(compiled_trainer, "PRE_TOKENS_AT_ONCE", 7)
    monkeypatch.setattr(compiled_trainer, "CELLS_AT_ONCE", 50)
    trainer = CompiledTrainer(corpus, settings(rule, 300))
    n_steps = 0
    while trainer.state is None:
        assert (trainer.n_merges, trainer.n_tokens) == (0, corpus.n_bytes)
        assert trainer.merges_from(0) == []
        assert len(trainer.history()) == 0
        trainer.advance(-1.0)
        n_steps += 1
    assert n_steps > 50
    assert finished(trainer).history() == expected


@both_engines
def test_an_end_before_the_goal_is_explained(engine):
    trainer = finished(engine(pre_token_counts([b"abc"], [1]), settings("first", 10)))
    assert trainer.end == "no pair is left to merge"
    trainer = finished(engine(pre_token_counts([b"ab", b"bc"], [3, 1]), settings("first", 10, 2)))
    assert trainer.n_merges == 1
    assert trainer.end == "no pair occurs 2 times or more"


def test_overlapping_pairs_are_all_counted():
    (merge,) = islice(learn_merges([b"aaaa"], [1], TIE_BREAKS["first"]), 1)
    assert (merge.count, merge.n_tokens) == (3, 2)


def test_the_rules_differ_where_pairs_tie():
    def first_merge(rule: str) -> tuple[int, int]:
        return next(learn_merges([b"mn", b"yz", b"ab"], [2, 2, 2], TIE_BREAKS[rule])).pair

    assert first_merge("first") == tuple(b"mn")
    assert first_merge("lexicographic") == tuple(b"yz")
    assert first_merge("smallest_id") == tuple(b"ab")


def test_the_lexicographic_rule_compares_tokens_not_their_concatenation():
    # ("a", "zz") and ("az", "b") tie: as a tuple the second is greater ("az" > "a").
    pre_tokens, counts = [b"zz", b"az", b"azz", b"azb"], [90, 80, 5, 5]
    merges = list(learn_merges(pre_tokens, counts, TIE_BREAKS["lexicographic"]))
    tokens = [bytes([byte]) for byte in range(256)]
    for merge in merges:
        tokens.append(tokens[merge.pair[0]] + tokens[merge.pair[1]])
    assert tokens[256:] == [b"zz", b"az", b"azb", b"azz"]
    assert merges[2].n_tied == 2


def test_weights_beyond_31_bits_are_exact():
    trainer = finished(
        CompiledTrainer(pre_token_counts([b"ab", b"ac"], [2**40, 1]), settings("first", 2))
    )
    assert trainer.history().count.tolist() == [2**40, 1]


def test_the_work_of_plain_python_is_bounded_by_the_squares_of_the_pre_tokens(monkeypatch):
    monkeypatch.setattr(python_trainer, "SMALL_WORK", 4 * 4 + 2 * 2)
    assert is_small(pre_token_counts([b"abcd", b"ab"], [1, 9]), 1_000)
    assert not is_small(pre_token_counts([b"abcd", b"abc"], [1, 9]), 1_000)
    assert is_small(pre_token_counts([b"abcdefg"], [1]), 2), "two merges write it but twice"
