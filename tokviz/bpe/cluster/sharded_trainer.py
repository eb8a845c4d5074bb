"""Merging where the pieces stay with workers; one process keeps the counts of all pairs.

Every worker has a stretch of the pieces (a shard), and here is the *table*: how often each pair
occurs in all shards together. A round asks the shards to make several merges at once, and adds up
by how much these change the counts. What was merged, tied and came second is then noted by the code
of the local engine, merge by merge, as if each had been a round of its own.

**Which merges are sure.** Pairs are in the order in which they would be merged: by count, and by
the rule for ties. Two pairs *meet* where occurrences may overlap: the right token of one is the
left token of the other. A round makes the merges of p1 … pk if none of them meets another and pk+1
meets none of p1 … pk-1; only pk may be a pair of equal tokens, which meets itself. That is right:

1. No merge changes how often and where a pair occurs that it does not meet. So p1 … pk+1 keep their
   counts and first places until their turn, and other pairs that are there only lose.
2. What may come before is a new pair: merging pi = (a, b) makes (x, ab) of an (x, a), and (ab, y)
   of a (b, y). That one meets pi, so it stands behind pk+1, and its count is no higher than that of
   any of these. So neither is the new one's, which has at most as many occurrences.
3. If they are equal the rule decides. By ids, ab is greater than all ids before the round: (x, ab)
   is behind (x, a), and (ab, y) behind all. By places, (x, ab) begins where an (x, a) did. An
   (ab, y) begins a token further to the left than its (b, y), but at that token only (a, b) itself
   begins. By bytes a new pair can come first; there a round ends where a count does, so that no
   pair of that count is left of which a new one could be made (or it is of one merge).
4. So pi+1 is second when pi is merged, up to pk+1 at pk.

**First places.** A shard knows its own; the first of all is that of the first shard that has one,
since shards are stretches in the order of the corpus. A new pair's is told when it comes into
being, and stays until its count changes. Only where pairs tie is it needed: the shards are asked.

**Memory here.** The pairs that occur, 60 bytes each, and the pieces, which the run folder is to
hold. There are at most as many pairs as places where bytes meet in unique pieces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokviz.bpe import merge_state
from tokviz.bpe.cluster import shard_kernels, shards
from tokviz.bpe.cluster.shards import Question, Reply, answer, uses
from tokviz.bpe.compiled_trainer import BY_PAIR, history_of, merges_in, merges_of
from tokviz.bpe.counting import FileCounts, PieceCounts
from tokviz.bpe.engines import EngineName, why_it_ends
from tokviz.bpe.history import TrainingHistory
from tokviz.bpe.layout import Layout
from tokviz.bpe.merge_state import State
from tokviz.bpe.settings import N_BYTES, TrainSettings
from tokviz.bpe.ties import FIRST, PLACED, get_tie_break
from tokviz.compiled.memory import longer, zeros

if TYPE_CHECKING:
    import numpy.typing as npt

    from tokviz.bpe.columns import Memory
    from tokviz.bpe.ties import Pair

_MOST_MERGES = 256
_MOST_PAIRS = 1 << 12
"""The most pairs whose first places are asked for at once, and those to merge."""


class Workers(Protocol):
    """Who has the shards.

    Attributes:
        folder: Where files for them are; all see it by this name.
    """

    folder: str

    def ask(self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> None:
        """Have something done for each shard, with these arguments."""

    def replies(self, seconds: float) -> list[Any] | None:
        """Give what came of it for each; None if that takes longer."""


class ShardedTrainer:
    """Merges by workers; `CompiledTrainer` has the same face.

    Attributes:
        n_tokens: The tokens of the corpus now.
        end: Why no further merge is possible; None while it is.
    """

    name: EngineName = "sharded"

    def __init__(
        self, pieces: PieceCounts, settings: TrainSettings, workers: Workers, ends: Sequence[int]
    ) -> None:
        """Share out the pieces.

        Args:
            pieces: The pieces of the corpus.
            settings: What is wanted.
            workers: Who merges.
            ends: Before which piece each shard ends.

        Raises:
            OutputFileError: If they cannot be written.
        """
        rule = get_tie_break(settings.tie_break).compiled
        assert rule is not None
        self._rule = PLACED if rule == FIRST else rule
        self._min_count = settings.min_count
        self._n_merges = min(settings.n_merges, len(pieces.memory["data"]))
        self._workers, self._ends = workers, [0, *ends]
        shards.write_shards(workers.folder, pieces, ends)
        lengths, counts = np.asarray(pieces.lengths()), np.asarray(pieces.counts)
        self._n_single = int(counts[lengths == 1].sum())
        self.n_tokens = pieces.n_bytes
        self.end: str | None = None
        *_, state = Layout(PieceCounts.of({})).steps(self._n_merges)
        assert state is not None
        self._state: State = state._replace(text=longer(memoryview(bytes(range(256))), 1 << 16))
        state.numbers[merge_state.THRESHOLD] = shards.OUT_OF_REACH
        for byte in range(N_BYTES):
            state.token_at[byte] = byte
        self._n_text = N_BYTES
        self._slots = zeros(1, "i")
        self._pairs, self._n_wanted = zeros(_MOST_PAIRS, "i"), zeros(1, "q")
        self._ask(None, [], np.empty((0, 2), np.int32))

    @property
    def n_merges(self) -> int:
        """The merges so far."""
        return self._state.numbers[merge_state.N_MERGES]

    def advance(self, seconds: float) -> bool:
        """Merge for about that long; True when all is done."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.end is not None or self.n_merges == self._n_merges:
                return True
            replies = self._workers.replies(left)
            if replies is None:
                return False
            self._book(replies)
            self._plan()
        return False

    def _plan(self) -> None:
        """Ask for what is sure to come next."""
        state, most = self._state, min(_MOST_MERGES, self._n_merges - self.n_merges)
        if not most:
            return
        n = shard_kernels.plan_round(
            state, self._rule, self._min_count, most, _MOST_PAIRS, self._pairs, self._n_wanted
        )
        chosen = np.asarray(self._pairs)[: n + self._n_wanted[0]]
        if not len(chosen):
            self.end = why_it_ends(self._min_count)
            return
        tokens = np.asarray(state.pair_tokens).reshape(-1, 2)[chosen]
        self._ask(self.n_merges, [(a, b) for a, b in tokens[:n].tolist()], tokens[n:])

    def _ask(self, n_before: int | None, merges: list[Pair], wanted: npt.NDArray[np.int32]) -> None:
        folder = self._workers.folder
        self._question = Question(folder, self._n_merges, n_before, merges, wanted)
        self._workers.ask(answer, [(n, self._question) for n in range(len(self._ends) - 1)])

    def _book(self, replies: Sequence[Reply]) -> None:
        """Make the merges in the table that the shards have made."""
        question, numbers = self._question, self._state.numbers
        if question.n_before is None:
            self._add([reply.changes for reply in replies])
            counts = np.asarray(self._state.pair_count)[: numbers[merge_state.N_PAIRS]]
            numbers[merge_state.THRESHOLD] = int(counts.max(initial=0)) + 1
        for index, pair in enumerate(question.merges):
            best = shard_kernels.take_best(self._state, self._rule)
            assert tuple(self._state.pair_tokens[2 * best : 2 * best + 2]) == pair
            self._spell(pair)
            self._add([reply.changes[slice(*reply.ends[index : index + 2])] for reply in replies])
            n_left = sum(reply.n_tokens[index] for reply in replies)
            self._state.tokens_left[self.n_merges] = n_left
            self.n_tokens = n_left + self._n_single
            numbers[merge_state.N_MERGES] += 1
        shards.write_merges(question.folder, question.merges)
        places = np.stack([reply.places for reply in replies])
        # The first of the shards that have one; none is the greatest as an unsigned number.
        first = places.view(np.uint64).min(0).view(np.int64)
        wanted = np.ascontiguousarray(question.wanted).reshape(-1)
        n_slots = len(self._slots)
        shard_kernels.note_places(self._state, self._slots, n_slots, wanted, first, len(first))

    def _add(self, changes: list[npt.NDArray[np.int64]]) -> None:
        rows = np.concatenate(changes)
        self._make_room(len(rows))
        slots, flat = self._slots, rows.reshape(-1)
        shard_kernels.book(self._state, self._rule, slots, len(slots), flat, len(rows))

    def _spell(self, pair: Pair) -> None:
        """Write the bytes of a new token, which one rule compares."""
        state = self._state
        token = b"".join(
            bytes(state.text[at : at + state.token_length[part]])
            for part in pair
            for at in [state.token_at[part]]
        )
        end = self._n_text + len(token)
        if end > len(state.text):
            self._state = state = state._replace(text=longer(state.text, 2 * end))
        state.text[self._n_text : end] = token
        state.token_at[N_BYTES + self.n_merges] = self._n_text
        self._n_text = end

    def _make_room(self, n: int) -> None:
        """Make room for new pairs; those that no longer occur are thrown away for it."""
        state, numbers = self._state, self._state.numbers
        n_pairs = numbers[merge_state.N_PAIRS]
        if n_pairs + n <= len(state.pair_count):
            return
        alive = np.flatnonzero(np.asarray(state.pair_count)[:n_pairs])
        capacity = max(2 * len(alive), len(alive) + n, 1 << 16)
        larger: dict[str, Any] = {}
        for name, width in BY_PAIR.items():
            old = getattr(state, name)
            new = larger[name] = zeros(width * capacity, old.format)
            if not name.startswith("heap"):
                kept = np.asarray(old).reshape(-1, width)[alive]
                np.asarray(new)[: kept.size] = kept.reshape(-1)
        self._state = state._replace(**larger)
        numbers[merge_state.N_PAIRS], numbers[merge_state.N_HEAP] = len(alive), 0
        self._slots = zeros(1 << (2 * capacity - 1).bit_length(), "i")
        shard_kernels.number_anew(self._state, self._rule, self._slots, len(self._slots))

    def merges_from(self, first: int) -> list[tuple[int, int, int]]:
        """Give the merges from an index on: left id, right id, count."""
        return merges_of(self._state, first)

    def occurrences(self, counts: Iterable[FileCounts]) -> tuple[Memory, Memory]:
        """Say which merges, from 0 on, have happened in some of the pieces, and how often."""
        parts = [(file, np.asarray(pieces), np.asarray(times)) for file, pieces, times in counts]
        asked: list[tuple[Any, ...]] = []
        for number, (first, end) in enumerate(pairwise(self._ends)):
            inside = [(pieces >= first) & (pieces < end) for _, pieces, _ in parts]
            mine = [
                FileCounts(file, pieces[here] - np.int32(first), times[here])
                for (file, pieces, times), here in zip(parts, inside, strict=True)
            ]
            asked.append((number, self._question.folder, self._n_merges, self.n_merges, mine))
        self._workers.ask(uses, asked)
        while (replies := self._workers.replies(1)) is None:
            pass
        return merges_in(self._state, memoryview(np.sum(replies, 0)))

    def history(self) -> TrainingHistory:
        """Give the merges so far, with ids from 256 on for the new tokens."""
        return history_of(self._state, self._n_single)
