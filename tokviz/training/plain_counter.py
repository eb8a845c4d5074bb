"""Counting pre-tokens with the regex and a dict, in this thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import accumulate, chain, islice, pairwise, takewhile
from math import inf
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING, Any

from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.step_limit import StepLimit
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees
from tokviz.training.corpus.text_blocks import REST, TextBlock
from tokviz.training.pre_token_counts import PreTokenCounts, Tick, counts_by_file

if TYPE_CHECKING:
    from regex import Match

CHARS_AT_ONCE = 1 << 18
JOIN_CHARS = 1 << 16
MATCHES_AT_ONCE = 10_000
_GROUP = itemgetter(0)
_SPAN = methodcaller("span")


class PlainCounter:
    """Counter that uses the regex and a dict, in this thread.

    Attributes:
        watching: Context manager that limits the steps within, given the length of the text.
    """

    def __init__(self, pattern: SplitPattern, step_seconds: float | None = None) -> None:
        """Create a counter.

        Args:
            pattern: The split pattern.
            step_seconds: Time limit for a step from one pre-token to the next, which only a main
                thread can enforce; None for no limit.
        """
        self._limit = StepLimit(step_seconds or inf)
        self.watching = nullcontext if step_seconds is None else self._limit.watching
        self._pattern = pattern
        self._compiled = pattern.compile()
        self._counts: Counter[str] = Counter()
        self._by_file: list[tuple[int, Counter[str]]] = []
        self._open_text: list[bytes] = []
        self._n_taken = self._n_counted = 0
        self._head: list[tuple[str, int]] = []
        self._rest: Counter[str] = Counter()

    @property
    def n_unique(self) -> int:
        """Number of distinct pre-tokens so far, without those of the current block."""
        return len(self._counts)

    @property
    def n_waiting(self) -> int:
        """Bytes of an incomplete text."""
        return sum(map(len, self._open_text))

    @property
    def share(self) -> float:
        """The counted share of the added text, 0 to 1."""
        return self._n_counted / self._n_taken if self._n_taken else 1.0

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block; an open text waits for its end."""
        before = self._n_counted
        self._n_taken += block.n_bytes
        with closing(self.steps(block)) as steps:
            for n_bytes in steps:
                self._n_counted = before + n_bytes
                if tick(self.n_unique):
                    return

    def finish(self, tick: Tick) -> None:
        """Do nothing: `add` has counted all texts."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def steps(self, block: TextBlock) -> Generator[int]:
        """Count the texts that end in a block, and yield the bytes done so far after every step.

        Raises:
            PatternError: If the regex fails on one.
        """
        n_done = 0
        with self._counts_for(block.file) as counts:
            for text in block.whole_texts(self._open_text):
                for share in self._count(bytetext.from_bytes(text), counts):
                    yield n_done + int(share * len(text))
                n_done += len(text)
                yield n_done

    @contextmanager
    def _counts_for(self, file: int) -> Iterator[Counter[str]]:
        """Provide the counter for texts of a file, whose counts are added to all counts later."""
        counts = self._counts if file == REST else Counter[str]()
        try:
            yield counts
        finally:
            if file != REST:
                self._counts.update(counts)
                self._by_file.append((file, counts))

    def _count(self, text: str, counts: Counter[str]) -> Iterator[float]:
        """Count the pre-tokens of a text, and yield the finished share, 0 to 1, now and then."""
        seen = as_tiktoken_sees(text) if self._pattern.unicode_of_tiktoken else text
        if len(text) <= CHARS_AT_ONCE and seen == text and self._counted_at_once(text, counts):
            return
        for _, pre_tokens, reached in self._batches(text, seen, 0):
            counts.update(filter(None, pre_tokens))
            yield reached / len(text)

    def part_steps(self, text: str, place: int, n: int) -> Generator[float, None, int | None]:
        """Count one of n parts of a text, and yield the finished share of it after every step.

        The next match depends only on the end of the previous one. So a part may start anywhere,
        and ends at the end of a match that is also found when matching from the start of the next
        part. `keep` adds the counts once the end of the previous part is known.

        Returns:
            The end of the part; None if that is the end of the text.
        """
        seen = as_tiktoken_sees(text) if self._pattern.unicode_of_tiktoken else text
        position, last = (len(text) * i // n for i in (place, place + 1))
        first, ends = position, set[int]()
        if last < len(text):
            spans = map(_SPAN, chain.from_iterable(self._matches(seen, last)))
            near = takewhile(lambda span: span[1] <= last + JOIN_CHARS, spans)
            ends = {last, *(end for start, end in near if start < end)}
        self._head, self._rest = [], Counter()
        for matches, pre_tokens, reached in self._batches(text, seen, first):
            found = (end for start, end in map(_SPAN, matches) if start < end and end in ends)
            end: int | None = next(found, None) if reached >= last else None
            edges = accumulate(map(len, pre_tokens), initial=position)
            placed = zip(pre_tokens, islice(edges, 1, None), strict=True)
            is_head = position < first + JOIN_CHARS
            if is_head or end is not None:
                some = [
                    (pre_token, edge) for pre_token, edge in placed if end is None or edge <= end
                ]
                pre_tokens = [pre_token for pre_token, _ in some]
            if is_head:
                self._head += some
            else:
                self._rest.update(filter(None, pre_tokens))
            if end is not None:
                return end
            position = reached
            yield min(1.0, (position - first) / max(last - first, 1))
        return None

    def keep(self, start: int | None, file: int) -> None:
        """Add the counts of the last part from a position; None adds nothing."""
        with self._counts_for(file) as counts:
            if start is not None:
                counts.update(
                    pre_token for pre_token, end in self._head if pre_token and end > start
                )
                counts.update(self._rest)
        self._head, self._rest = [], Counter()

    def _batches(
        self, text: str, seen: str, position: int
    ) -> Iterator[tuple[list[Any], list[str], int]]:
        """Yield matches in batches, with the pre-tokens up to the end of the last match."""
        for some in self._matches(seen, position):
            pre_tokens = list(map(_GROUP, some))
            reached = some[-1].end()
            if seen is not text or sum(map(len, pre_tokens)) < reached - position:
                spans = [(start, end) for start, end in map(_SPAN, some) if start < end]
                edges = [position, *chain.from_iterable(spans)]
                pre_tokens = [text[start:end] for start, end in pairwise(edges)]
                reached = edges[-1]  # an empty match ends no gap
            yield some, pre_tokens, reached
            position = reached
        yield [], [text[position:]], len(text)

    def _matches(self, text: str, start: int) -> Iterator[list[Match[str]]]:
        """Yield the matches from a position in batches."""
        matches = self._compiled.finditer(text, start)
        take, most = self._limit.take, MATCHES_AT_ONCE
        while some := take(matches, most, self._compiled, text, start):
            yield some
            start = some[-1].end()

    def _counted_at_once(self, text: str, counts: Counter[str]) -> bool:
        """Count the matches if they cover the text, which is twice as fast; else return False."""
        matches = [] if self._compiled.groups else self._limit.find_all(self._compiled, text)
        if sum(map(len, matches)) < len(text):
            return False
        counts.update(filter(None, matches))
        return True

    def result(self, n_documents: int, complete: bool) -> PreTokenCounts:
        """Return the counts."""
        counts = self._counts
        pre_tokens = map(bytetext.to_bytes, counts)
        return PreTokenCounts.of(
            dict(zip(pre_tokens, counts.values(), strict=True)),
            n_chars=sum(len(pre_token) * n for pre_token, n in counts.items()),
            n_invalid=sum(bytetext.n_raw_bytes(pre_token) * n for pre_token, n in counts.items()),
            n_documents=n_documents,
            complete=complete,
            by_file=counts_by_file(counts, self._by_file),
        )
