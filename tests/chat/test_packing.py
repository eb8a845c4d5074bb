"""Packing agrees with the slow oracle, and with TRL's own example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import packing as oracle
from tests.profiles import examples
from tokviz.chat.packing import STRATEGIES, RowLengths, pack

ORACLES = {
    "none": oracle.one_each,
    "greedy": oracle.first_fit,
    "bfd": oracle.best_fit,
    "wrapped": oracle.wrapped,
}


@st.composite
def rows(draw: st.DrawFn) -> RowLengths:
    lengths = draw(st.lists(st.integers(0, 40), max_size=40))
    answers = []
    for row, length in enumerate(lengths):
        borders = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
        answers += [(row, *pair) for pair in zip(borders[::2], borders[1::2], strict=False)]
    return RowLengths(np.array(lengths, np.int64), np.array(answers, np.int64).reshape(-1, 3))


def as_multiset(windows):
    return sorted((len(window), len(dict(window))) for window in windows)


def test_every_strategy_has_an_oracle():
    assert [*ORACLES] == [*STRATEGIES]


@pytest.mark.parametrize("strategy", STRATEGIES)
@examples(100)
@given(rows=rows(), context=st.integers(1, 50), batch_rows=st.sampled_from([7, 1000]))
def test_windows_and_cut_answers_are_those_of_the_oracle(strategy, rows, context, batch_rows):
    packing = pack(rows, strategy, context, batch_rows)
    windows = ORACLES[strategy](rows.lengths.tolist(), context, batch_rows)
    ours = zip(packing.fills.tolist(), packing.documents.tolist(), strict=True)
    assert sorted(ours) == sorted((len(window), len(dict(window))) for window in windows)
    n_placed = sum(map(len, windows))
    assert packing.n_lost == rows.lengths.sum() - n_placed
    n_cells = context * len(windows)
    assert packing.waste == pytest.approx(1 - n_placed / n_cells if windows else 0)
    where = {place: number for number, window in enumerate(windows) for place in window}
    n_cut = 0
    for row, first, end in rows.answers.tolist():
        found = {where.get((row, token), -1) for token in range(first, end)}
        n_cut += len(found) > 1 or -1 in found
    assert packing.n_cut_answers == n_cut


def test_the_example_of_trl_gives_the_windows_of_trl():
    """Its docstring packs [1…5], [6, 7], [8, 9, 10], [11] into [1…4], [8, 9, 10, 11], [6, 7]."""
    packing = pack(RowLengths(np.array([5, 2, 3, 1]), np.zeros((0, 3), np.int64)), "bfd", 4)
    assert packing.windows.tolist() == [0, 2, 1, 1]
    assert packing.sizes.tolist() == [4, 2, 3, 1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_token_of_many_rows_is_packed_or_counted_as_lost(strategy):
    lengths = np.random.default_rng(0).lognormal(6, 1, 20_000).astype(np.int64)
    packing = pack(RowLengths(lengths, np.zeros((0, 3), np.int64)), strategy, 2048)
    assert packing.sizes.sum() + packing.n_lost == lengths.sum()
