"""Joining the tables of several threads into one list of pre-tokens, by as many threads.

What pre-tokens are in several tables is found first, in all threads: nothing changes meanwhile.
Then the pre-tokens are put one behind another in the order of their first occurrence, block by
block, which needs no look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from tokviz.kernels.memory import zeros
from tokviz.training import counting_kernels
from tokviz.training.pre_token_table import PreTokenTable
from tokviz.training.threads import Threads

_PRE_TOKENS_AT_ONCE = 1 << 15


def join(
    tables: Sequence[PreTokenTable],
    order: Sequence[tuple[int, int, int]],
    n_threads: int,
    tick: Callable[[], bool],
) -> PreTokenTable:
    """Join tables; the counts of their pre-tokens become their places among the joined ones.

    Args:
        tables: The tables, at least one.
        order: Runs of pre-tokens in the order that they are to have: the table's place, the run's
            first pre-token, and the first behind it. Every pre-token is in one.
        n_threads: How many threads may work.
        tick: Called often.

    Returns:
        The different pre-tokens and their counts. Nothing can be looked up in it.
    """
    bases = [0, *accumulate(map(len, tables))]
    names = zeros(bases[-1], "q")
    _find_same(tables, names, bases, n_threads, tick)
    n, n_bytes = bases[-1], sum(len(table.data) for table in tables)
    joined = PreTokenTable.of(zeros(n_bytes, "B"), zeros(n + 1, "q"), zeros(n, "q"))
    joined.table.numbers[counting_kernels.N_UNIQUE] = 0  # so far
    for i, first, last in order:
        place = tables[i].table, first, last, names, bases[i]
        counting_kernels.join_pre_tokens(*place, joined.table)
        tick()
    return joined


def _find_same(
    tables: Sequence[PreTokenTable],
    names: memoryview,
    bases: Sequence[int],
    n_threads: int,
    tick: Callable[[], bool],
) -> None:
    """Name each pre-token by the first table that has it; see the kernel."""

    def find(i: int, first: int, _: Callable[[], bool]) -> None:
        last = min(first + _PRE_TOKENS_AT_ONCE, len(tables[i]))
        for j in range(i):
            there = tables[j].table, bases[j]
            counting_kernels.find_same(tables[i].table, first, last, names, bases[i], *there)

    def go_on() -> bool:
        tick()
        return False

    threads = Threads([find] * n_threads)
    try:
        for i in range(1, len(tables)):
            for first in range(0, len(tables[i]), _PRE_TOKENS_AT_ONCE):
                threads.put(i, first, go_on)
        threads.finish(go_on)
    finally:
        threads.close()
