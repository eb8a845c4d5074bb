"""Counting the distinct pre-tokens of a corpus.

Plain Python counts a small corpus. Compiled loops count a large one, or several processes if the
split pattern is a custom regex. The result is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import InputFileError
from tokviz.process.limits import n_processors
from tokviz.storage.files import MAX_FILE_BYTES
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.scan import scanner_of
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import TextBlock
from tokviz.training.plain_counter import PlainCounter
from tokviz.training.pre_token_counts import PreTokenCounts

if TYPE_CHECKING:
    from tokviz.training.compiled_counter import CompiledCounter
    from tokviz.training.regex_counter import RegexCounter

SMALL_CORPUS_BYTES = 100_000
"""Up to this size, plain Python is as fast as loading compiled loops."""

SMALL_FOR_PROCESSES = 1_000_000
"""Up to this size, plain Python is as fast as starting other processes."""

SECONDS_BETWEEN_REPORTS = 0.05


class CountProgress(NamedTuple):
    """Progress of counting.

    Attributes:
        n_bytes_read: Bytes of the corpus counted so far, as stored on the disk.
        n_bytes_total: Size of the corpus on the disk; None if unknown.
        n_unique: Number of distinct pre-tokens so far.
    """

    n_bytes_read: int
    n_bytes_total: int | None
    n_unique: int


class _Watch:
    """Reports progress and checks whether to stop, a few times a second.

    Attributes:
        stopped: True once counting should stop.
        share: Returns the counted share of the text read so far, 0 to 1.
    """

    def __init__(
        self,
        corpus: Corpus,
        on_progress: Callable[[CountProgress], object],
        should_stop: Callable[[], bool],
    ) -> None:
        self._corpus = corpus
        self._on_progress = on_progress
        self._should_stop = should_stop
        self._next = time.monotonic() + SECONDS_BETWEEN_REPORTS
        self.stopped = False
        self.share: Callable[[], float] = lambda: 1.0

    def tick(self, n_unique: int) -> bool:
        """Report progress if it is due, and return whether to stop."""
        if not self.stopped and time.monotonic() >= self._next:
            self.report(n_unique)
            self._next = time.monotonic() + SECONDS_BETWEEN_REPORTS
        return self.stopped

    def report(self, n_unique: int) -> None:
        n_counted = int(self.share() * self._corpus.n_bytes_read)
        self._on_progress(CountProgress(n_counted, self._corpus.n_bytes_total, n_unique))
        self.stopped = self._should_stop()


def count_pre_tokens(
    corpus: Corpus,
    pattern: SplitPattern,
    special_tokens: Iterable[str] = (),
    *,
    on_progress: Callable[[CountProgress], object] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PreTokenCounts:
    """Count the distinct pre-tokens of a corpus.

    Text that a custom regex does not match counts as a pre-token, as it does in encoding.

    Args:
        corpus: The corpus, which can be read only once.
        pattern: The split pattern.
        special_tokens: Special tokens, which are cut out first and not counted. No pre-token
            crosses them.
        on_progress: Called about every 50 ms and at the end.
        should_stop: Called as often; True returns the counts so far.

    Raises:
        InputFileError: If a file cannot be read.
        PatternError: If the regex is invalid or fails on a text, or (guarded) takes too long.
        JobError: If a counting process ends unexpectedly.
        SpecialTokenError: If a special token is empty.
    """
    watch = _Watch(corpus, on_progress, should_stop)
    blocks = corpus.text_blocks(special_tokens)
    scanner = scanner_of(pattern)
    head, is_small = _read_head(blocks, SMALL_CORPUS_BYTES if scanner else SMALL_FOR_PROCESSES)
    n_processes = 0 if is_small or scanner else n_processors()
    counter: PlainCounter | CompiledCounter | RegexCounter
    # Importing the job client or the kernels would slow down a small training by 15 % each.
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
    """Refuse an input of unknown size whose current text or pre-token exceeds a limit of memory.

    Args:
        counter: The counter that holds the incomplete text.
        path: The input, empty if its size is known.

    Raises:
        InputFileError: If the text may never end.
    """
    if path and counter.n_waiting > MAX_FILE_BYTES:
        reason = (
            f"more than {MAX_FILE_BYTES:,} bytes of it cannot be cut into pre-tokens before more "
            "is known: write them to a file, unpacked"
        )
        raise InputFileError(path, reason)


def _read_head(blocks: Iterable[TextBlock], n_small: int) -> tuple[list[TextBlock], bool]:
    """Read blocks until they exceed `n_small` bytes, and return whether they do not."""
    head: list[TextBlock] = []
    n_bytes = 0
    for block in blocks:
        head.append(block)
        n_bytes += len(block.data)
        if n_bytes > n_small:
            return head, False
    return head, True


class DocumentCount:
    """Counts of documents.

    Attributes:
        n: Number of documents that are not empty.
        n_all: Number of all documents.
        first_has_text: True if the first document is not empty.
        last_has_text: True if the last document is not empty.
    """

    def __init__(self) -> None:
        """Start at zero."""
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
