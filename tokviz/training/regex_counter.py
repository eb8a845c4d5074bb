"""Counting pre-tokens by a custom regex in several processes.

A match of a custom regex may depend on any character of a text, so a process needs the whole text.
Texts, which end at special tokens, delimiters and documents, are distributed among the processes;
every process counts a part of a long text. A process starts when it gets its first text.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from itertools import accumulate, pairwise
from operator import sub
from typing import Any, NamedTuple

from tokviz.errors import PatternError
from tokviz.process.child import JobTimeoutError
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, Message, pack, pack_numbers, unpack, unpack_numbers
from tokviz.process.runner import JobClient, JobDroppedError
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS, too_long
from tokviz.training.corpus.text_blocks import REST, TextBlock
from tokviz.training.pre_token_counts import PreTokenCounts, Tick, counts_by_file
from tokviz.training.threads import Threads

_LIMITS = Limits(memory_mb=None, cpu_seconds=None, niceness=0)
"""A counting process may use the same resources as this one."""

BYTES_AT_ONCE = 1 << 18
LONG_TEXT = 1 << 22  # bytes
_SECONDS_OF_WAITING = 0.02
SECONDS_TO_STOP = 1.0
"""Time after a request to stop before a process is killed, which loses its counts."""


class _TextPart(NamedTuple):
    """A part of a text.

    Attributes:
        index: The index of the part.
        n: Number of parts of the text.
        start: The end of the previous part.
        end: The end of this part.
    """

    index: int  # type: ignore[assignment]  # not the method of tuples
    n: int
    start: Future[int | None]
    end: Future[int | None]


class RegexCounter:
    """Counter that distributes texts among processes.

    Attributes:
        processes: The processes.
    """

    def __init__(self, pattern: SplitPattern, n_processes: int, files: Sequence[str] = ()) -> None:
        """Create a counter.

        Args:
            pattern: The split pattern.
            n_processes: Number of processes.
            files: The files of the corpus, for error messages.
        """
        self._parts: dict[int, _TextPart] = {}
        self.processes = [CountingProcess(pattern, self._parts, files) for _ in range(n_processes)]
        self._threads = Threads([process.count for process in self.processes])
        self._n_batches = self._n_taken = 0
        self._texts: list[bytes] = []
        self._n_bytes = 0
        self._open_text: list[bytes] = []
        self._file = REST
        self._kill_at: float | None = None

    @property
    def n_unique(self) -> int:
        """A lower bound of the number of distinct pre-tokens so far."""
        return max(process.n_unique for process in self.processes)

    @property
    def n_waiting(self) -> int:
        """Bytes of an incomplete text."""
        return sum(map(len, self._open_text))

    @property
    def share(self) -> float:
        """The counted share of the added text, 0 to 1."""
        n_counted = sum(process.n_counted for process in self.processes)
        return n_counted / self._n_taken if self._n_taken else 1.0

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block; an open text waits for its end."""
        if block.file != self._file and self._texts:
            self._submit_batch(tick)
        self._file = block.file
        self._n_taken += block.n_bytes
        for text in block.whole_texts(self._open_text):
            if self._texts and len(text) >= LONG_TEXT:
                self._submit_batch(tick)
            self._texts.append(text)
            self._n_bytes += len(text)
            if self._n_bytes >= BYTES_AT_ONCE:
                self._submit_batch(tick)

    def finish(self, tick: Tick) -> None:
        """Wait until all texts are counted or counting is stopped."""
        if self._texts:
            self._submit_batch(tick)
        self._threads.finish(lambda: self._should_stop(tick))
        for process in self.processes:
            process.finish()

    def close(self) -> None:
        """Stop all processes."""
        for process in self.processes:
            process.kill()
        self._threads.close()

    def result(self, n_documents: int, complete: bool) -> PreTokenCounts:
        """Join the counts of the processes, in the order of the first occurrences."""
        counts: Counter[bytes] = Counter()
        order = [
            (number, i)
            for i, process in enumerate(self.processes)
            for number in process.new_by_batch
        ]
        for number, i in sorted(order):
            process = self.processes[i]
            for pre_token, n in process.pre_tokens[slice(*process.new_by_batch[number])]:
                counts[pre_token] += n
        by_file = (part for process in self.processes for part in process.by_file())
        return PreTokenCounts.of(
            counts,
            n_chars=sum(process.n_chars for process in self.processes),
            n_invalid=sum(process.n_invalid for process in self.processes),
            n_documents=n_documents,
            complete=complete,
            by_file=counts_by_file(counts, by_file),
        )

    def _submit_batch(self, tick: Tick) -> None:
        """Queue the collected texts for the next free process.

        A long text forms its own batch, and the processes share its parts.
        """
        batch = TextBlock(b"".join(self._texts), file=self._file)
        for start, end in pairwise(accumulate(map(len, self._texts), initial=0)):
            batch.add(start, end, True)
        self._texts.clear()
        self._n_bytes = 0
        is_long = len(batch.starts) == 1 and len(batch.data) >= LONG_TEXT
        n = len(self.processes) if is_long else 1
        borders: list[Future[int | None]] = [Future() for _ in range(n + 1)]
        borders[0].set_result(0)
        for index, ends in enumerate(pairwise(borders)):
            if n > 1:
                self._parts[self._n_batches] = _TextPart(index, n, *ends)
            self._threads.put(self._n_batches, batch, lambda: self._should_stop(tick))
            self._n_batches += 1

    def _should_stop(self, tick: Tick) -> bool:
        now = time.monotonic()
        if self._threads.failed:
            self._kill_at = now
        elif not tick(self.n_unique):
            return False
        elif self._kill_at is None:
            self._kill_at = now + SECONDS_TO_STOP
        if now >= self._kill_at:
            for process in self.processes:
                process.kill()
        return True


class CountingProcess:
    """One process and its counts.

    Attributes:
        jobs: The client of the process.
        n_unique: Number of distinct pre-tokens.
        n_counted: Number of bytes counted.
        new_by_batch: Start and end of a batch's new pre-tokens, by the batch's number.
        pre_tokens: All pre-tokens with their counts, after `finish`.
        n_chars: Number of their characters.
        n_invalid: Number of their bytes that are not UTF-8.
    """

    def __init__(
        self, pattern: SplitPattern, parts: dict[int, _TextPart], files: Sequence[str]
    ) -> None:
        """Create the client; the process starts with the first text."""
        self._parts = parts
        self._files = files
        self.n_unique = self.n_counted = 0
        self.new_by_batch: dict[int, tuple[int, int]] = {}
        self.pre_tokens: list[tuple[bytes, int]] = []
        self.n_chars = self.n_invalid = 0
        self._by_file: list[Message] = []
        self._pattern = pattern
        self.jobs = JobClient("count_pre_tokens", limits=_LIMITS, replaces_child=False)

    def count(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> None:
        """Count texts in the process.

        Raises:
            PatternError: If the regex fails on one of them.
            JobError: If the process ends unexpectedly.
        """
        part = self._parts.pop(number, None)
        if should_stop():
            return
        lengths = array("q", map(sub, block.ends, block.starts))
        # Sent in parts, because encoding a long text at once would block all other threads.
        parts = range(0, len(block.data), BYTES_AT_ONCE)
        requests: list[Body] = [
            {"do": "take", "data": pack(block.data[at : at + BYTES_AT_ONCE])} for at in parts
        ]
        count = {"do": "count", "lengths": pack_numbers(lengths), "file": block.file}
        requests.append(count if part is None else {**count, "part": part[:2]})
        first, before = self.n_unique, self.n_counted

        def on_answer(answer: Message) -> None:
            self.n_unique = answer["n_unique"]
            self.n_counted = before + answer["n_counted"]

        try:
            answers = self._call(*requests, on_answer=on_answer)
        except PatternError as error:
            files = self._files if block.file == REST else [self._files[block.file]]
            raise error.of_file(files[0] if len(files) == 1 else "") from None
        if answers and part is not None:
            answers = self._keep(part, answers[-1]["end"], block.file, should_stop)
        if answers:
            self.n_unique = answers[-1]["n_unique"]
            self.new_by_batch[number] = first, self.n_unique

    def _keep(
        self, part: _TextPart, end: int | None, file: int, should_stop: Callable[[], bool]
    ) -> list[Message]:
        """Add the counts of a part from the end of the previous one, which may be the last."""
        start = None
        while not part.start.done() and not should_stop():
            wait([part.start], _SECONDS_OF_WAITING)
        if part.start.done():
            start = part.start.result()
        part.end.set_result(None if start is None or end is None else max(start, end))
        return self._call({"do": "keep", "begin": start, "file": file})

    def finish(self) -> None:
        """Receive the counts from the process."""
        if not self.new_by_batch:
            return
        answers = self._call({"do": "end"})
        if not answers:
            self.new_by_batch.clear()
            return
        self.n_chars, self.n_invalid = answers[0]["n_chars"], answers[0]["n_invalid"]
        for part in answers[1:]:
            if "file" in part:
                self._by_file.append(part)
                continue
            data = unpack(part["data"])
            ends = accumulate(unpack_numbers(part["lengths"], "q"), initial=0)
            pre_tokens = (data[start:end] for start, end in pairwise(ends))
            self.pre_tokens += zip(pre_tokens, unpack_numbers(part["counts"], "q"), strict=True)

    def by_file(self) -> Iterator[tuple[int, dict[bytes, int]]]:
        """Yield the counts of each tracked file."""
        for part in self._by_file:
            pre_tokens = (self.pre_tokens[place][0] for place in unpack_numbers(part["pre_tokens"]))
            yield (
                part["file"],
                dict(zip(pre_tokens, unpack_numbers(part["times"], "q"), strict=True)),
            )

    def kill(self) -> None:
        """Kill the process, which loses its counts unless `finish` has received them."""
        self.jobs.close()

    def _call(
        self, *bodies: Body, on_answer: Callable[[Message], object] = lambda answer: None
    ) -> list[Message]:
        """Wait for the answers to requests; none if the process is killed."""

        def requests(memory: dict[str, Any]) -> Iterator[Body]:
            if not memory:
                memory["pattern"] = self._pattern
                yield {"do": "begin", **self._pattern._asdict()}
            yield from bodies

        try:
            return self.jobs.call(requests, on_answer)
        except JobDroppedError:
            return []
        except JobTimeoutError:
            raise PatternError(self._pattern.regex, too_long(STEP_SECONDS)) from None
