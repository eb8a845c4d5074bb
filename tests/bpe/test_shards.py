"""Merging by workers that each have a shard of the pieces gives what one process gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bpe.trainers import corpora, finished, piece_counts, settings
from tokviz.bpe.cluster import shards
from tokviz.bpe.cluster.sharded_trainer import ShardedTrainer
from tokviz.bpe.compiled_trainer import CompiledTrainer

RULES = ("first", "lexicographic", "smallest_id")


class Here:
    """Does what workers would, in this process; some of it twice, some after a death."""

    def __init__(self, folder: str, accidents: Iterable[int] = ()) -> None:
        self.folder = folder
        self._accidents = iter(accidents)
        self._replies: list[Any] = []

    def ask(self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> None:
        self._replies = []
        for one in arguments:
            accident = next(self._accidents, 0)
            if accident == 1:
                work(*one)
            elif accident == 2:
                shards.forget(self.folder)
            self._replies.append(work(*one))

    def replies(self, seconds: float) -> list[Any] | None:
        return self._replies


@pytest.mark.parametrize("rule", RULES)
@given(
    corpora(),
    st.lists(st.integers(0, 20), max_size=3),
    st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=30),
    st.sampled_from([1, 2, 70_000]),
    st.sampled_from([1, 7, 2_000]),
)
def test_shards_together_learn_what_the_whole_does(
    rule: str,
    corpus: tuple[list[bytes], list[int]],
    borders: list[int],
    accidents: list[int],
    min_count: int,
    n_merges: int,
) -> None:
    pieces = piece_counts(*corpus)
    wanted = settings(rule, n_merges, min_count)
    alone = finished(CompiledTrainer(pieces, wanted))
    ends = [*sorted(min(border, len(pieces)) for border in borders), len(pieces)]
    with TemporaryDirectory() as folder:
        together = finished(ShardedTrainer(pieces, wanted, Here(folder, accidents), ends))
        shards.forget(folder)
    assert together.history() == alone.history()
    assert together.end == alone.end
    assert together.n_tokens == alone.n_tokens
