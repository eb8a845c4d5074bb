"""One trainer for all mistakes: the reference algorithm with every rule as a parameter.

>>> from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
>>> from tokviz.training.ties import TIE_BREAKS
>>> counts = PreTokenCounts.of({b"aaab": 1})
>>> base = Setup(get_split_pattern("none"), (), TIE_BREAKS["first"])
>>> [*learn(base, counts, 2)]
[(b'a', b'a'), (b'aa', b'a')]
>>> [*learn(base._replace(right_to_left=True), counts, 2)]
[(b'a', b'a'), (b'a', b'aa')]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from tokviz.formats.merge_files import of_merges
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.counting import count_pre_tokens
from tokviz.training.pre_token_counts import PreTokenCounts
from tokviz.training.python_trainer import PairCorpus, is_small, merge_pair
from tokviz.training.settings import N_BYTES, TrainSettings
from tokviz.training.ties import Pair, Position, TieBreak

Table = list[tuple[Merge, int]]
"""The most frequent pairs with their counts, the first one first."""

TABLE_ROWS = 6
_STEP_SECONDS = 0.02


class Setup(NamedTuple):
    """The rules of a trainer. The defaults are correct.

    Attributes:
        pattern: The split pattern.
        specials: The special tokens.
        tie_break: The tie-breaking rule.
        read: Functions that change each document.
        special_use: Special tokens are cut out ("cut"), left in the text ("kept"), left as separate
            texts ("separate"), removed so that the texts around them are joined ("joined"), or used
            as a regex ("regex").
        chunks: How documents are cut first, and the size: see `cut`.
        weighted: Whether a pair counts as often as its pre-token occurs.
        overlapping: Whether "aaa" contains the pair ("a", "a") twice.
        right_to_left: Whether "aaa" becomes "a", "aa".
        decrements: Whether a merge lowers the counts of the pairs that it removes.
        old_neighbors: The neighbors before the merge with which it counts its new pairs. "right" is
            correct if the counts are also lowered.
        updates: Whether a merge changes the counts at all.
        by_insertion: Whether the first pair of a tie is the one inserted first in a dict of counts.
        last_of_ties: Whether the last pair of a tie is merged instead of the first.
    """

    pattern: SplitPattern
    specials: tuple[bytes, ...]
    tie_break: TieBreak
    read: tuple[Callable[[bytes], bytes], ...] = ()
    special_use: Literal["cut", "kept", "separate", "joined", "regex"] = "cut"
    chunks: tuple[str, int] | None = None
    weighted: bool = True
    overlapping: bool = True
    right_to_left: bool = False
    decrements: bool = True
    old_neighbors: Literal["", "right", "both"] = ""
    updates: bool = True
    by_insertion: bool = False
    last_of_ties: bool = False

    @property
    def text_rules(self) -> tuple[object, ...]:
        """The rules that decide on the pre-tokens."""
        return self.pattern, self.specials, self.read, self.special_use, self.chunks

    @property
    def rules(self) -> tuple[object, ...]:
        """The other rules."""
        return self.tie_break, *self[6:]

    @property
    def is_compiled(self) -> bool:
        """Whether only rules of the text differ, so that the compiled loops can train."""
        correct = Setup(self.pattern, (), self.tie_break)
        return self.tie_break.compiled is not None and self.rules == correct.rules


def as_corpus(setup: Setup, documents: Sequence[bytes]) -> Corpus:
    """Return the texts that a trainer with these rules cuts into pre-tokens."""
    texts: Iterable[bytes] = documents
    for change in setup.read:
        texts = [change(text) for text in texts]
    if setup.chunks is not None:
        texts = [chunk for text in texts for chunk in cut(text, *setup.chunks, setup.specials)]
    by_length = sorted(setup.specials, key=len, reverse=True)
    special = b"|".join(by_length if setup.special_use == "regex" else map(re.escape, by_length))
    if special and setup.special_use == "joined":
        texts = [re.sub(special, b"", text) for text in texts]
    elif special and setup.special_use != "kept":
        kept = b"(" + special + b")" if setup.special_use == "separate" else special
        texts = [part for text in texts for part in re.split(kept, text)]
    return _Texts(texts)


class _Texts(Corpus):
    """Texts as bytes, which may be invalid UTF-8."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        super().__init__((), delimiter=None)
        self._data = texts

    def texts(self) -> Iterator[bytes]:
        return iter(self._data)


def cut(data: bytes, kind: str, size: int, specials: Sequence[bytes]) -> list[bytes]:
    """Cut a document into blocks of `size`, or into `-size` equal parts.

    Args:
        data: The document.
        kind: "bytes" cuts between any bytes; "ignore" and "replace" then decode each chunk with
            this error handler; "characters" cuts between characters; "specials" also moves a border
            within a special token to its end; "lines" cuts after line breaks.
        size: The size in characters, for bytes in bytes.
        specials: The special tokens.
    """
    if kind == "lines":
        return data.splitlines(keepends=True)
    if kind not in ("characters", "specials"):
        raw = [data[start:end] for start, end in pairwise(_borders(len(data), size))]
        return raw if kind == "bytes" else [chunk.decode("utf-8", kind).encode() for chunk in raw]
    text = data.decode("utf-8", "surrogateescape")
    borders = _borders(len(text), size)
    if kind == "specials" and specials:
        pattern = re.compile("|".join(re.escape(special.decode()) for special in specials))
        inside = {at: it.end() for it in pattern.finditer(text) for at in range(*it.span())[1:]}
        borders = sorted({inside.get(border, border) for border in borders})
    chunks = (text[start:end] for start, end in pairwise(borders))
    return [chunk.encode("utf-8", "surrogateescape") for chunk in chunks]


def _borders(length: int, size: int) -> list[int]:
    step = size if size > 0 else max(1, length // -size)
    borders = [*range(0, length, step)][: -size if size < 0 else None]
    return [*borders, length]


def count(
    setup: Setup, documents: Sequence[bytes], should_stop: Callable[[], bool] = lambda: False
) -> PreTokenCounts:
    """Count the pre-tokens as a trainer with these rules does."""
    corpus = as_corpus(setup, documents)
    return count_pre_tokens(corpus, setup.pattern, should_stop=should_stop)


def learn(
    setup: Setup,
    counts: PreTokenCounts,
    n_merges: int,
    should_stop: Callable[[], bool] = lambda: False,
    table_at: int = -1,
    table: Table | None = None,
) -> Iterator[Merge]:
    """Learn merges by any rules, one by one.

    Args:
        setup: The rules.
        counts: The pre-tokens; see `count`.
        n_merges: The maximum number of merges.
        should_stop: Called often; True ends the training.
        table_at: The index of the merge before which the pairs are counted for `table`.
        table: Receives the most frequent pairs, unless the loops are compiled; see `pair_table`.
    """
    if not setup.is_compiled or is_small(counts, n_merges):
        corpus = _RuledCorpus(setup, counts)
        for index, merge in enumerate(islice(corpus.learn(), n_merges)):
            if index == table_at and table is not None:
                table += top_pairs(corpus.pair_counts, corpus.tokens, merge)
            yield merge
        return
    from tokviz.training.compiled_trainer import CompiledTrainer  # imports the kernels

    rule = setup.tie_break.name
    settings = TrainSettings(N_BYTES + n_merges, setup.pattern, (), "last", rule, 1)
    engine = CompiledTrainer(counts, settings)
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    is_done = False
    while not is_done and not should_stop():
        is_done = engine.advance(_STEP_SECONDS)
        for left, right, _ in engine.merges_from(len(tokens) - N_BYTES):
            tokens.append(tokens[left] + tokens[right])
            yield tokens[left], tokens[right]


def pair_table(counts: PreTokenCounts, merges: Sequence[Merge], *others: Merge) -> Table:
    """Return the most frequent pairs before the last of some merges of a correct trainer.

    Args:
        counts: The pre-tokens.
        merges: The first merges.
        others: Pairs that follow in the table, even if others are more frequent.
    """
    tokenizer = of_merges(merges[:-1], SPLIT_PATTERNS["none"], "merges")
    pre_tokens, numbers = zip(*counts.pre_tokens(), strict=True)
    encoded = tokenizer.byte_text.encode_all([*map(bytetext.from_bytes, pre_tokens)], "none")
    pairs: Counter[Pair] = Counter()
    for ids, n in zip(encoded, numbers, strict=True):
        for pair in pairwise(ids):
            pairs[pair] += n
    return top_pairs(pairs, tokenizer.vocab, merges[-1], *others)


def top_pairs(
    counts: Mapping[Pair, int], tokens: Mapping[int, bytes] | Sequence[bytes], *named: Merge
) -> Table:
    """Return the most frequent pairs with their counts, the first named one before its ties.

    Other named pairs follow at the end, even if their counts are lower.
    """
    pairs = {(tokens[left], tokens[right]): n for (left, right), n in counts.items()}
    top = nlargest(TABLE_ROWS, pairs.items(), lambda row: (row[1], row[0] == named[0]))
    return [*top, *((it, pairs.get(it, 0)) for it in named if it not in dict(top))]


class _RuledCorpus(PairCorpus):
    """Pre-tokens whose pairs are counted and merged by other rules."""

    def __init__(self, setup: Setup, counts: PreTokenCounts) -> None:
        is_stale = not setup.decrements or not setup.updates or bool(setup.old_neighbors)
        self._setup = setup
        self._by_insertion = setup.by_insertion or is_stale
        self._serials: dict[Pair, int] = {}
        pre_tokens = [*counts.pre_tokens()]
        weights = [n if setup.weighted else 1 for _, n in pre_tokens]
        super().__init__([it for it, _ in pre_tokens], weights, setup.tie_break, [])

    def learn(self) -> Iterator[Merge]:
        """Yield each merge just before it changes the counts."""
        while (best := self.pop_best()) is not None and best[1] > 0:
            left, right = best[0]
            yield self.tokens[left], self.tokens[right]
            self.merge(best[0])

    def pairs(self, tokens: list[int]) -> Iterable[Pair]:
        return pairwise(tokens) if self._setup.overlapping else _apart(tokens)

    def replace(self, tokens: list[int], pair: Pair, new: int) -> list[int]:
        if self._setup.right_to_left:
            return merge_pair(tokens[::-1], (pair[1], pair[0]), new)[::-1]
        return super().replace(tokens, pair, new)

    def changes(
        self, before: list[int], after: list[int], pair: Pair, new: int
    ) -> Iterator[tuple[Pair, int]]:
        setup = self._setup
        if not setup.updates:
            return
        changes = super().changes(before, after, pair, new)
        if setup.old_neighbors:
            changes = _old_neighbors(before, after, pair, new, both=setup.old_neighbors == "both")
        yield from (change for change in changes if setup.decrements or change[1] > 0)

    def merge(self, pair: Pair) -> None:
        super().merge(pair)
        self.pair_counts[pair] = 0

    def first_position(self, pair: Pair) -> Position:
        if self._by_insertion:
            return self._serials.setdefault(pair, len(self._serials)), 0
        return super().first_position(pair)

    def pop_best(self) -> tuple[Pair, int] | None:
        if not self._setup.last_of_ties:
            return super().pop_best()
        most = max(self.pair_counts.values(), default=0)
        if most < 1:
            return None
        tied = [pair for pair, n in self.pair_counts.items() if n == most]
        return max(tied, key=self.first_position), most


def _apart(tokens: Sequence[int]) -> Iterator[Pair]:
    """Yield the pairs of neighbors, but of overlapping equal pairs only the first."""
    previous = None
    for pair in pairwise(tokens):
        previous = None if pair == previous else pair
        if previous is not None:
            yield pair


def _old_neighbors(
    before: list[int], after: list[int], pair: Pair, new: int, *, both: bool
) -> Iterator[tuple[Pair, int]]:
    """Yield the changes around each replaced pair, with the neighbors before the merge."""
    at = 0
    for index, token in enumerate(after):
        if token != new:
            at += 1
            continue
        if at:
            left = before[at - 1] if both else after[index - 1]
            yield (left, pair[0]), -1
            yield (left, new), 1
        at += 2
        if at < len(before):
            yield (pair[1], before[at]), -1
            yield (new, before[at]), 1
