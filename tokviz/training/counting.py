"""Counting the different pre-tokens of a corpus.

A small corpus is counted in plain Python, at once; a large one by compiled loops, or by several
processes if the regex is a custom one. The result is the same.
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
from tokviz.training.compiled_counter import CompiledCounter
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.text_blocks import TextBlock
from tokviz.training.plain_counter import PlainCounter
from tokviz.training.pre_token_counts import PreTokenCounts

if TYPE_CHECKING:
    from tokviz.training.regex_counter import RegexCounter

SMALL_CORPUS_BYTES = 100_000
"""Up to this size plain Python is as quick as loading anything else."""

SMALL_FOR_PROCESSES = 1_000_000
"""Up to this size it is as quick as other processes are in beginning."""

SECONDS_BETWEEN_REPORTS = 0.05


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
