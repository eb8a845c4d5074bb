"""Limits of memory and time for reading an untrusted file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

from tokviz.errors import JobError, LargeFileError
from tokviz.process.limits import HAS_CPU_LIMITS, Limits
from tokviz.storage.files import StrPath

T = TypeVar("T")

LARGE_BYTES = 32 << 20
"""The size in bytes above which the user is asked before a file is read."""

_MEMORY_MB = 512
_LEAST_SECONDS, _SECONDS = 5, 10
"""Processor time for a small file, and for `LARGE_BYTES`. gpt-oss's tokenizer.json, 27 MB, takes 4
to 6 seconds."""

_FURTHER = 4, 10
"""Factors of memory and time for a retry that the user knows of."""

_answer: ContextVar[tuple[Callable[[str], object], Collection[str]] | None] = ContextVar(
    "answer", default=None
)


@contextmanager
def before_large(notify: Callable[[str], object], agreed: Collection[str] = ()) -> Iterator[None]:
    """Call a function before this thread reads a large file, or retries one with a larger budget.

    Without this context, or if the function raises, there is no retry.

    Args:
        notify: Called with a sentence that describes the cost.
        agreed: Sentences that the user has agreed to, for which `notify` is not called.
    """
    before = _answer.set((notify, agreed))
    try:
        yield
    finally:
        _answer.reset(before)


def ask_first(sentence: str) -> None:
    """Refuse to read a large file, or to retry it; for `before_large`.

    Raises:
        LargeFileError: With the sentence.
    """
    raise LargeFileError(sentence)


class Budget(NamedTuple):
    """Memory and processor time that a child process may use for a file."""

    memory_mb: int
    seconds: int

    @property
    def cpu_seconds(self) -> int:
        """The limit for the process, which counts a started second as a whole one."""
        return self.seconds - 1

    @property
    def limits(self) -> Limits:
        """The budget as limits of a process."""
        return Limits(memory_mb=self.memory_mb, cpu_seconds=self.cpu_seconds)

    @property
    def patience(self) -> float:
        """Wall-clock seconds to wait for an answer: other programs may keep the processor busy."""
        return self.seconds * (20.0 if HAS_CPU_LIMITS else 3.0)

    def why(self, over: str) -> str:
        """Explain that a file went over this budget; `over` is "memory" or "time"."""
        made = "few tokenizers of its size need so much; it may be damaged or malicious"
        return f"takes more than {self._limit(over)} to read: {made}"

    def further(self) -> Budget:
        """Return the larger budget for a retry."""
        memory, time = _FURTHER
        return Budget(self.memory_mb * memory, self.seconds * time)

    def sentence(self, name: str, over: str) -> str:
        """Describe the cost of retrying a file that went over this budget."""
        more = self.further()
        return (
            f"{name} takes more than {self._limit(over)} to read, as few files of its size do: "
            f"reading on may take {more._limit('time')} and {more._limit('memory')}"
        )

    def _limit(self, over: str) -> str:
        return {
            "memory": f"{self.memory_mb:,} MB of memory",
            "time": f"{self.seconds:,} s of processor time",
        }[over]


def budget(n_bytes: int) -> Budget:
    """Return the budget for a file of a size in bytes."""
    size = n_bytes / LARGE_BYTES
    return Budget(int(_MEMORY_MB * max(1.0, size)), int(max(_LEAST_SECONDS, _SECONDS * size)))


def bytes_of(path: StrPath) -> int:
    """Return the size of a file in bytes, 0 if it is unknown.

    A GGUF file counts as a large one: of a model only the metadata is read, but they take more work
    than a `tokenizer.json` of their size.
    """
    try:
        size = os.stat(path).st_size
        with open(path, "rb") as file:
            return 2 * LARGE_BYTES if file.read(4) == b"GGUF" else size
    except OSError:
        return 0


def notify_if_large(name: str, n_bytes: int) -> None:
    """Notify of the cost of reading a large file; see `before_large`."""
    if n_bytes > LARGE_BYTES:
        allowed = budget(n_bytes)
        _notify(
            f"{name} has {n_bytes / 1e6:,.0f} MB: reading it may take {allowed.seconds} s and "
            f"{allowed.memory_mb:,} MB of memory"
        )


def _notify(sentence: str) -> bool:
    """Notify of a cost that is not agreed to; return False outside of `before_large`."""
    if (answer := _answer.get()) is None:
        return False
    notify, agreed = answer
    if sentence not in agreed:
        notify(sentence)
    return True


def within_budget(name: str, allowed: Budget, read: Callable[[Budget], T]) -> T:
    """Read a file on a budget, and retry with a larger one if `before_large` allows.

    Args:
        name: The file's name.
        allowed: The budget.
        read: Reads the file; raises a `JobError` whose `over` names the limit exceeded.

    Raises:
        JobError: The last error of `read`, with the limit in words.
    """
    answer = _answer.get()
    sentences = [allowed.sentence(name, over) for over in ("memory", "time")]
    budgets = [allowed, allowed.further()]
    if answer is not None and any(sentence in answer[1] for sentence in sentences):
        del budgets[0]
    for attempt in budgets:
        try:
            return read(attempt)
        except JobError as error:
            if not error.over:
                raise
            over = JobError(attempt.why(error.over))
            over.over = error.over
        try:
            if attempt is not allowed or not _notify(attempt.sentence(name, over.over)):
                break
        except LargeFileError as error:
            error.is_begun = True
            raise
    raise over
