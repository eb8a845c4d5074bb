"""Counting the different pre-tokens of a corpus: all that training needs to know of it.

A small corpus is counted in plain Python, at once; a large one by compiled loops, or by several
processes if the regex is a custom one. The result is the same.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from itertools import accumulate, chain, islice, pairwise, takewhile
from math import inf
from operator import itemgetter, methodcaller, mul, sub
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tokviz.errors import InputFileError
from tokviz.process.processors import n_processors
from tokviz.storage.files import MAX_FILE_BYTES
from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.scan import scanner_of
from tokviz.tokenizer.pretokenize.step_limit import StepLimit
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees
from tokviz.training.columns import Column
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import REST, TextBlock

if TYPE_CHECKING:
    from regex import Match

    from tokviz.training.columns import Memory
    from tokviz.training.compiled_counter import CompiledCounter
    from tokviz.training.regex_counter import RegexCounter

SMALL_CORPUS_BYTES = 100_000
"""Up to this size plain Python is as quick as loading anything else."""

SMALL_FOR_PROCESSES = 1_000_000
"""Up to this size it is as quick as other processes are in beginning."""

SECONDS_BETWEEN_REPORTS = 0.05

_CHARS_AT_ONCE = 1 << 18
_JOIN_CHARS = 1 << 16
_MATCHES_AT_ONCE = 10_000
_GROUP = itemgetter(0)
_SPAN = methodcaller("span")

T = TypeVar("T")


class FileCounts(NamedTuple):
    """What a file has of the pre-tokens, or a part of what it has.

    Attributes:
        file: The file, by its place in the corpus.
        pre_tokens: Some of the pre-tokens, by their places. Shape (n,), int32.
        times: How often each occurs there. Shape (n,), int64.
    """

    file: int
    pre_tokens: Memory
    times: Memory


class PreTokenCounts:
    """The different pre-tokens of a corpus in the order of their first occurrence.

    Attributes:
        data: The bytes of all pre-tokens, one behind another. Shape (total,), uint8.
        offsets: Where each pre-token starts in `data`, and at last where the last one ends.
            Shape (m + 1,), int64.
        counts: How often each pre-token occurs. Shape (m,), int64.
        memory: What these arrays show, by name.
        n_bytes: The bytes of all occurrences: the corpus without special tokens and delimiters.
        n_chars: Their characters; a byte that is not UTF-8 counts as one.
        n_invalid: The bytes among them that are not UTF-8.
        n_documents: How many documents had any text.
        complete: False if counting was stopped before the end of the corpus.
        by_file: What the files have of them that are told apart (see `Corpus.apart`), until the
            merges are known; it may be larger than the pre-tokens.
    """

    data = Column()
    offsets = Column()
    counts = Column()

    def __init__(
        self,
        data: Memory,
        offsets: Memory,
        counts: Memory,
        *,
        lengths: Memory | None = None,
        n_occurrences: int | None = None,
        n_bytes: int = 0,
        n_chars: int = 0,
        n_invalid: int = 0,
        n_documents: int = 0,
        complete: bool = True,
        by_file: Sequence[FileCounts] = (),
    ) -> None:
        """Take the pre-tokens and what is known of them."""
        self.memory: dict[str, Memory] = {"data": data, "offsets": offsets, "counts": counts}
        self._lengths, self._n_occurrences = lengths, n_occurrences
        self.n_bytes = n_bytes
        self.n_chars = n_chars
        self.n_invalid = n_invalid
        self.n_documents = n_documents
        self.complete = complete
        self.by_file = by_file

    @classmethod
    def of(cls, counts: Mapping[bytes, int], **totals: Any) -> PreTokenCounts:
        """Take pre-tokens with their counts, in the order of their first occurrence."""
        lengths = array("q", map(len, counts))
        return cls(
            data=memoryview(bytearray().join(counts)),
            offsets=memoryview(array("q", accumulate(lengths, initial=0))),
            counts=memoryview(array("q", counts.values())),
            lengths=memoryview(lengths),
            n_bytes=sum(map(mul, lengths, counts.values())),
            **totals,
        )

    def __len__(self) -> int:
        """Count the different pre-tokens."""
        return len(self.memory["counts"])

    def lengths(self) -> Memory:
        """Give the length of every pre-token in bytes, as 64 bits."""
        if self._lengths is None:
            offsets = self.memory["offsets"].tolist()
            self._lengths = memoryview(array("q", map(sub, offsets[1:], offsets)))
        return self._lengths

    def n_occurrences(self) -> int:
        """Count all pre-tokens, as often as they occur."""
        if self._n_occurrences is None:
            self._n_occurrences = sum(self.memory["counts"].tolist())
        return self._n_occurrences

    def pre_tokens(self) -> Iterator[tuple[bytes, int]]:
        """Give each pre-token with its count."""
        data, offsets = self.memory["data"].tobytes(), self.memory["offsets"].tolist()
        for index, n in enumerate(self.memory["counts"].tolist()):
            yield data[offsets[index] : offsets[index + 1]], n


class CountProgress(NamedTuple):
    """How far counting has come.

    Attributes:
        n_bytes_read: The position in the corpus as it lies on the disk, up to which all is counted.
        n_bytes_total: The corpus's size there; None if it cannot be known.
        n_unique: How many different pre-tokens there are so far.
    """

    n_bytes_read: int
    n_bytes_total: int | None
    n_unique: int


class _Watch:
    """Reports, and asks whether to stop, a few times a second.

    Attributes:
        stopped: Somebody asked to stop.
        share: Tells how much of what has been read is counted, 0 to 1.
    """

    def __init__(
        self,
        corpus: Corpus,
        on_progress: Callable[[CountProgress], None] | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self._corpus = corpus
        self._on_progress = on_progress
        self._should_stop = should_stop
        self._next = time.monotonic() + SECONDS_BETWEEN_REPORTS
        self.stopped = False
        self.share: Callable[[], float] = lambda: 1.0

    def tick(self, n_unique: int) -> bool:
        """Report if it is time to; True if it is time to stop."""
        if not self.stopped and time.monotonic() >= self._next:
            self.report(n_unique)
            self._next = time.monotonic() + SECONDS_BETWEEN_REPORTS
        return self.stopped

    def report(self, n_unique: int) -> None:
        if self._on_progress is not None:
            corpus = self._corpus
            n_counted = int(self.share() * corpus.n_bytes_read)
            progress = CountProgress(n_counted, corpus.n_bytes_total, n_unique)
            self._on_progress(progress)
        if self._should_stop is not None and self._should_stop():
            self.stopped = True


def count_pre_tokens(
    corpus: Corpus,
    pattern: SplitPattern,
    special_tokens: Iterable[str] = (),
    *,
    on_progress: Callable[[CountProgress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> PreTokenCounts:
    """Count the different pre-tokens of a corpus.

    What a custom regex does not match counts as a pre-token, as it does when text is encoded.

    Args:
        corpus: What to read; it cannot be read again.
        pattern: How texts are cut into pre-tokens.
        special_tokens: Cut out before; no pre-token crosses them and they are not counted.
        on_progress: Called about every 50 ms and at the end.
        should_stop: Asked as often; when it says yes, what has been counted is returned.

    Raises:
        InputFileError: If a file cannot be read.
        PatternError: If the regex is invalid or fails on a text, or (guarded) takes too long.
        JobError: If a process that was started to count ends before it is done.
        SpecialTokenError: If a special token is empty.
    """
    watch = _Watch(corpus, on_progress, should_stop)
    blocks = corpus.text_blocks(special_tokens)
    scanner = scanner_of(pattern)
    head, is_small = _read_head(blocks, SMALL_CORPUS_BYTES if scanner else SMALL_FOR_PROCESSES)
    n_processes = 0 if is_small or scanner else n_processors()
    counter: PlainCounter | CompiledCounter | RegexCounter
    if n_processes or pattern.guarded:
        from tokviz.training.regex_counter import RegexCounter

        counter = RegexCounter(pattern, max(n_processes, 1), corpus.files)
    elif is_small or scanner is None:
        counter = PlainCounter(pattern)
    else:
        from tokviz.training.compiled_counter import CompiledCounter

        counter = CompiledCounter(scanner)
    watch.share = lambda: counter.share
    documents = DocumentCount()
    with closing(counter):
        for block in chain(head, blocks):
            counter.add(block, watch.tick)
            refuse_endless(counter, corpus.unmeasured)
            if watch.tick(counter.n_unique):
                break
            documents.add(block)
        counter.finish(watch.tick)
    result = counter.result(documents.n, complete=not watch.stopped)
    if result.complete:
        watch.report(len(result))
    return result


def refuse_endless(counter: PlainCounter | CompiledCounter | RegexCounter, path: str) -> None:
    """Stop where more waits for the end of a text or pre-token than memory should hold.

    Args:
        counter: Holds it.
        path: What it is from, if nobody knows how much that will give.

    Raises:
        InputFileError: If it may never end.
    """
    if path and counter.n_waiting > MAX_FILE_BYTES:
        reason = (
            f"more than {MAX_FILE_BYTES:,} bytes of it cannot be cut into pre-tokens before more "
            f"is "
            "known: write them to a file, unpacked"
        )
        raise InputFileError(path, reason)


def _read_head(blocks: Iterable[TextBlock], n_small: int) -> tuple[list[TextBlock], bool]:
    """Read a little more than so many bytes, and tell whether that is all."""
    head: list[TextBlock] = []
    n_bytes = 0
    for block in blocks:
        head.append(block)
        n_bytes += len(block.data)
        if n_bytes > n_small:
            return head, False
    return head, True


class DocumentCount:
    """Counts documents.

    Attributes:
        n: Those with any text.
        n_all: All.
        first_has_text: Whether the first one has any.
        last_has_text: Whether the last one has.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self.n = self.n_all = 0
        self.first_has_text = self.last_has_text = False
        self._has_text = False

    def add(self, block: TextBlock) -> None:
        """Count the documents that end in a block."""
        for start, end, ends_document in zip(
            block.starts, block.ends, block.ends_document, strict=True
        ):
            self._has_text |= end > start
            if ends_document:
                self.last_has_text = self._has_text
                self.first_has_text = self._has_text if not self.n_all else self.first_has_text
                self.n_all += 1
                self.n += self._has_text
                self._has_text = False


Tick = Callable[[int], bool]
"""`tick(n_unique)` is called often while counting; True asks to stop."""


class PlainCounter:
    """Counts with the regex and a dict, here and now.

    Attributes:
        watching: Limits the steps of what is done within, in a text of so many characters at most.
    """

    def __init__(self, pattern: SplitPattern, step_seconds: float | None = None) -> None:
        """Take the pattern, and how long a step from one pre-token to the next may take.

        Only a main thread can limit that; None for as long as it likes.
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
        """How many different pre-tokens there are so far, without those of a block under way."""
        return len(self._counts)

    @property
    def n_waiting(self) -> int:
        """The bytes of a text that wait for its end."""
        return sum(map(len, self._open_text))

    @property
    def share(self) -> float:
        """How much of what was given is counted, 0 to 1."""
        return self._n_counted / self._n_taken if self._n_taken else 1.0

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block; the last one waits while it is open."""
        before = self._n_counted
        self._n_taken += block.n_bytes
        with closing(self.steps(block)) as steps:
            for n_bytes in steps:
                self._n_counted = before + n_bytes
                if tick(self.n_unique):
                    return

    def finish(self, tick: Tick) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def steps(self, block: TextBlock) -> Generator[int]:
        """Count the texts that end in a block, and say after every step how many bytes are done.

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
        """Give the counts that those of some texts of a file are added to."""
        counts = self._counts if file == REST else Counter[str]()
        try:
            yield counts
        finally:
            if file != REST:
                self._counts.update(counts)
                self._by_file.append((file, counts))

    def _count(self, text: str, counts: Counter[str]) -> Iterator[float]:
        """Count the pre-tokens of a text, and say now and then how much of it is done, 0 to 1."""
        seen = as_tiktoken_sees(text) if self._pattern.unicode_of_tiktoken else text
        if len(text) <= _CHARS_AT_ONCE and seen == text and self._counted_at_once(text, counts):
            return
        for _, pre_tokens, reached in self._batches(text, seen, 0):
            counts.update(filter(None, pre_tokens))
            yield reached / len(text)

    def part_steps(self, text: str, place: int, n: int) -> Generator[float, None, int | None]:
        """Count one of n parts of a text, and say after every step how much of the part is done.

        What is matched next depends on nothing but where the last match has ended. So a part
        begins anywhere, and ends where a match ends that is also one of those from the beginning of
        the next part on. `keep` counts it, once it is known where the part before has ended.

        Returns:
            Where it ends; None if that is the end of the text.
        """
        seen = as_tiktoken_sees(text) if self._pattern.unicode_of_tiktoken else text
        position, last = (len(text) * i // n for i in (place, place + 1))
        first, ends = position, set[int]()
        if last < len(text):
            spans = map(_SPAN, chain.from_iterable(self._matches(seen, last)))
            near = takewhile(lambda span: span[1] <= last + _JOIN_CHARS, spans)
            ends = {last, *(end for start, end in near if start < end)}
        self._head, self._rest = [], Counter()
        for matches, pre_tokens, reached in self._batches(text, seen, first):
            found = (end for start, end in map(_SPAN, matches) if start < end and end in ends)
            end: int | None = next(found, None) if reached >= last else None
            edges = accumulate(map(len, pre_tokens), initial=position)
            placed = zip(pre_tokens, islice(edges, 1, None), strict=True)
            is_head = position < first + _JOIN_CHARS
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

    def keep(self, begin: int | None, file: int) -> None:
        """Count what the last part has behind a place; nothing without one."""
        with self._counts_for(file) as counts:
            if begin is not None:
                counts.update(
                    pre_token for pre_token, end in self._head if pre_token and end > begin
                )
                counts.update(self._rest)
        self._head, self._rest = [], Counter()

    def _batches(
        self, text: str, seen: str, position: int
    ) -> Iterator[tuple[list[Any], list[str], int]]:
        """Yield some matches at a time, with the pre-tokens up to the end of the last one."""
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
        """Give the matches from a place on, some at a time."""
        matches = self._compiled.finditer(text, start)
        take, most = self._limit.take, _MATCHES_AT_ONCE
        while some := take(matches, most, self._compiled, text, start):
            yield some
            start = some[-1].end()

    def _counted_at_once(self, text: str, counts: Counter[str]) -> bool:
        """Take the matches as they are where they are all pre-tokens, at twice the speed."""
        matches = [] if self._compiled.groups else self._limit.find_all(self._compiled, text)
        if sum(map(len, matches)) < len(text):
            return False
        counts.update(filter(None, matches))
        return True

    def result(self, n_documents: int, complete: bool) -> PreTokenCounts:
        """Give what has been counted."""
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


def counts_by_file(
    pre_tokens: Iterable[T], by_file: Iterable[tuple[int, Mapping[T, int]]]
) -> list[FileCounts]:
    """Give what files have of pre-tokens, which are named by their places from now on."""
    found = [*by_file]
    place = {pre_token: place for place, pre_token in enumerate(pre_tokens)} if found else {}
    return [
        FileCounts(
            file,
            memoryview(array("i", map(place.__getitem__, counts))),
            memoryview(array("q", counts.values())),
        )
        for file, counts in found
    ]
