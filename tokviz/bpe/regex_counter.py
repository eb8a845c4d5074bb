"""Counting pieces by a custom regex in several processes.

Nothing is known of such a regex: what it matches may depend on any character of a text, so a text
is never cut. Texts end at special tokens, delimiters and documents, and these are shared out. A
process is started when there is something for it to do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import tokviz
from tokviz.bpe.counting import PieceCounts, Tick
from tokviz.bpe.threads import Threads
from tokviz.corpus.text_blocks import TextBlock
from tokviz.errors import JobError, PatternError
from tokviz.pretokenize.patterns import SplitPattern

_COMMAND = [sys.executable, "-P", "-m", "tokviz.bpe.regex_process"]
_BYTES_AT_ONCE = 1 << 18
_SECONDS_TO_STOP = 1.0
"""How long a process may go on with a text once somebody asks to stop; then its counts are lost."""


class RegexCounter:
    """Counts in processes, each of which takes texts as long as there are any."""

    def __init__(self, pattern: SplitPattern, n_processes: int) -> None:
        """Take the pattern that cuts texts into pieces, and how many processes are to count."""
        self._processes = [_Process(pattern) for _ in range(n_processes)]
        self._threads = Threads(self._processes)
        self._n_batches = 0
        self._texts: list[bytes] = []
        self._n_bytes = 0
        self._open_text: list[bytes] = []
        self._kill_at: float | None = None

    @property
    def n_unique(self) -> int:
        """How many different pieces there are so far, at least."""
        return max(process.n_unique for process in self._processes)

    def add(self, block: TextBlock, tick: Tick) -> None:
        """Count the texts of a block; the last one waits while it is open."""
        last = len(block.starts) - 1
        for index, (start, end) in enumerate(zip(block.starts, block.ends, strict=True)):
            self._open_text.append(block.data[start:end])
            if index < last or not block.is_open:
                self._texts.append(b"".join(self._open_text))
                self._n_bytes += len(self._texts[-1])
                self._open_text.clear()
        if self._n_bytes >= _BYTES_AT_ONCE:
            self._hand_on(tick)

    def finish(self, tick: Tick) -> None:
        """Wait until all is counted, or somebody asks to stop."""
        if self._texts:
            self._hand_on(tick)
        self._threads.finish(lambda: self._should_stop(tick))
        for process in self._processes:
            process.finish()

    def close(self) -> None:
        """Let no process go on."""
        for process in self._processes:
            process.kill()
        self._threads.close()
        for process in self._processes:
            process.reap()

    def result(self, n_documents: int, complete: bool) -> PieceCounts:
        """Join what the processes have counted, in the order of the first occurrences."""
        counts: Counter[bytes] = Counter()
        news = [(number, i) for i, one in enumerate(self._processes) for number in one.news]
        for number, i in sorted(news):
            process = self._processes[i]
            for piece, n in process.pieces[slice(*process.news[number])]:
                counts[piece] += n
        return PieceCounts.of(
            counts,
            n_chars=sum(process.n_chars for process in self._processes),
            n_invalid=sum(process.n_invalid for process in self._processes),
            n_documents=n_documents,
            complete=complete,
        )

    def _hand_on(self, tick: Tick) -> None:
        """Give the texts that have come together to the next process that is free."""
        batch = TextBlock(b"".join(self._texts))
        for start, end in pairwise(accumulate(map(len, self._texts), initial=0)):
            batch.add(start, end, True)
        self._texts.clear()
        self._n_bytes = 0
        self._threads.put(self._n_batches, batch, lambda: self._should_stop(tick))
        self._n_batches += 1

    def _should_stop(self, tick: Tick) -> bool:
        if not tick(self.n_unique):
            return False
        now = time.monotonic()
        if self._kill_at is None:
            self._kill_at = now + _SECONDS_TO_STOP
        elif now >= self._kill_at:
            for process in self._processes:
                process.kill()
        return True


class _Process:
    """One process and what it has counted.

    Attributes:
        n_unique: How many different pieces it has met.
        news: The first of a batch's new pieces and the first that is none, by the batch's number.
        pieces: All its pieces with their counts, once it has finished.
        n_chars: Their characters.
        n_invalid: The bytes among them that are not UTF-8.
    """

    def __init__(self, pattern: SplitPattern) -> None:
        self.n_unique = 0
        self.news: dict[int, tuple[int, int]] = {}
        self.pieces: list[tuple[bytes, int]] = []
        self.n_chars = self.n_invalid = 0
        self._pattern = pattern
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self._lock = threading.Lock()

    def count(self, number: int, block: TextBlock, should_stop: Callable[[], bool]) -> None:
        """Have texts counted.

        Raises:
            PatternError: If the regex fails on one of them.
            JobError: If the process ends before.
        """
        if should_stop() or not self._start():
            return
        lengths = [end - start for start, end in zip(block.starts, block.ends, strict=True)]
        answer = self._ask({"lengths": lengths}, block.data)
        if answer is not None:
            self.news[number] = self.n_unique, answer["n_unique"]
            self.n_unique = answer["n_unique"]

    def finish(self) -> None:
        """Take what has been counted."""
        if self._process is None:
            return
        answer = self._ask({"lengths": None})
        if answer is None:
            self.news.clear()
            return
        assert self._process.stdout is not None
        data, *rest = (self._process.stdout.read(n) for n in answer["bytes"])
        lengths, counts = array("q", rest[0]), array("q", rest[1])
        spans = pairwise(accumulate(lengths, initial=0))
        pieces = (data[start:end] for start, end in spans)
        self.pieces = list(zip(pieces, counts, strict=True))
        self.n_chars, self.n_invalid = answer["n_chars"], answer["n_invalid"]

    def kill(self) -> None:
        """End the process at once; what it has counted is lost unless it has finished."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def reap(self) -> None:
        """Wait for the end of a killed process, which is soon."""
        if self._process is not None:
            # What it never read is lost with it.
            with suppress(OSError), self._process:
                self._process.kill()

    def _start(self) -> bool:
        """Start the process unless it runs; False if it is not to."""
        with self._lock:
            if self._process is None and not self._killed:
                root = str(Path(tokviz.__file__).resolve().parents[1])
                paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
                try:
                    self._process = subprocess.Popen(
                        _COMMAND,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                    )
                except OSError as error:
                    raise JobError(f"no process can be started: {error}") from error
                self._write(self._pattern._asdict())
            return not self._killed

    def _ask(self, request: dict[str, Any], data: bytes = b"") -> dict[str, Any] | None:
        """Send a request and wait for the answer; None if the process was killed meanwhile."""
        assert self._process is not None and self._process.stdout is not None
        with suppress(OSError):
            self._write(request, data)
        line = self._process.stdout.readline()
        if self._killed:
            return None
        if not line:
            code = self._process.wait()
            raise JobError(f"a process that cuts text into pieces ended with code {code}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PatternError(self._pattern.regex, answer["error"])
        return answer

    def _write(self, request: dict[str, Any], data: bytes = b"") -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n" + data)
        self._process.stdin.flush()
