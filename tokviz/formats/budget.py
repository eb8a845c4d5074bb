"""What reading a file that nobody vouches for may cost."""

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
"""A larger file may take more, and is worth a question."""

_MEMORY_MB = 512
_LEAST_SECONDS, _SECONDS = 5, 10
"""For a small file, and for `LARGE_BYTES`. gpt-oss's tokenizer.json, 27 MB, takes 4 to 6."""

_FURTHER = 4, 10
"""So many times the memory and the time may be taken where somebody knows of it."""

_answer: ContextVar[tuple[Callable[[str], object], Collection[str]] | None] = ContextVar(
    "answer", default=None
)


@contextmanager
def before_large(told: Callable[[str], object], agreed: Collection[str] = ()) -> Iterator[None]:
    """Let somebody hear, in a sentence, of every large file that this thread is about to read.

    And of those that turn out to take more than others of their size: unless nobody hears of it, or
    `told` raises, they are read further.

    Args:
        told: Is told the sentences.
        agreed: Those that need not be told.
    """
    before = _answer.set((told, agreed))
    try:
        yield
    finally:
        _answer.reset(before)


def ask_first(sentence: str) -> None:
    """Refuse to read a large file (further); for `before_large`.

    Raises:
        LargeFileError: With the sentence.
    """
    raise LargeFileError(sentence)


class Budget(NamedTuple):
    """What a child may use for a file."""

    memory_mb: int
    seconds: int

    @property
    def cpu_seconds(self) -> int:
        """The same for a process, which counts whole seconds, one that has begun too."""
        return self.seconds - 1

    @property
    def limits(self) -> Limits:
        """The same as limits of a process."""
        return Limits(memory_mb=self.memory_mb, cpu_seconds=self.cpu_seconds)

    @property
    def patience(self) -> float:
        """Seconds by the clock without an answer: other work may take most of the machine."""
        return self.seconds * (20.0 if HAS_CPU_LIMITS else 3.0)

    def why(self, over: str) -> str:
        """Say that reading a file went over this."""
        made = "hardly a tokenizer of its size needs so much; it may be damaged, or made to do this"
        return f"takes more than {self._named(over)} to read: {made}"

    def further(self) -> Budget:
        """Give what may be used for a file that took more than this."""
        memory, time = _FURTHER
        return Budget(self.memory_mb * memory, self.seconds * time)

    def sentence(self, name: str, over: str) -> str:
        """Say what it takes to read a file further that went over this."""
        more = self.further()
        return (
            f"{name} takes more than {self._named(over)} to read, as few files of its size do: "
            f"reading on may take {more._named('time')} and {more._named('memory')}"
        )

    def _named(self, over: str) -> str:
        return {
            "memory": f"{self.memory_mb:,} MB of memory",
            "time": f"{self.seconds:,} s of processor time",
        }[over]


def budget(n_bytes: int) -> Budget:
    """Give what reading so many bytes may take."""
    size = n_bytes / LARGE_BYTES
    return Budget(int(_MEMORY_MB * max(1.0, size)), int(max(_LEAST_SECONDS, _SECONDS * size)))


def bytes_of(path: StrPath) -> int:
    """Give the size of a file, 0 where that cannot be told."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def tell_if_large(name: str, n_bytes: int) -> None:
    """Say what reading a file may take if that is much; see `before_large`."""
    if n_bytes > LARGE_BYTES:
        allowed = budget(n_bytes)
        _tell(
            f"{name} has {n_bytes / 1e6:,.0f} MB: reading it may take {allowed.seconds} s and "
            f"{allowed.memory_mb:,} MB of memory"
        )


def _tell(sentence: str) -> bool:
    """Tell a sentence that is not agreed to; False if nobody hears it."""
    if (answer := _answer.get()) is None:
        return False
    told, agreed = answer
    if sentence not in agreed:
        told(sentence)
    return True


def within_budget(name: str, allowed: Budget, read: Callable[[Budget], T]) -> T:
    """Read a file on a budget, and further where somebody hears of it.

    Args:
        name: The file's name.
        allowed: The budget.
        read: Reads it; raises a `JobError` that says which limit it went `over`.

    Raises:
        JobError: What `read` raises in the end, with the limit that it went over in words.
    """
    answer = _answer.get()
    sentences = [allowed.sentence(name, over) for over in ("memory", "time")]
    budgets = [allowed, allowed.further()]
    if answer is not None and any(sentence in answer[1] for sentence in sentences):
        del budgets[0]
    for given in budgets:
        try:
            return read(given)
        except JobError as error:
            if not error.over:
                raise
            over = JobError(given.why(error.over))
            over.over = error.over
        try:
            if given is not allowed or not _tell(given.sentence(name, over.over)):
                break
        except LargeFileError as error:
            error.is_begun = True
            raise
    raise over
