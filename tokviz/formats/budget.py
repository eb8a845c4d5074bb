"""What reading a file that nobody vouches for may cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from tokviz.child.limits import Limits
from tokviz.errors import JobError, LargeFileError

LARGE_BYTES = 32 << 20
"""A larger file may take more, and is worth a question."""

_MEMORY_MB = 512
_SECONDS = 5


_answer: ContextVar[Callable[[str], object] | None] = ContextVar("answer", default=None)


@contextmanager
def before_large(told: Callable[[str], object]) -> Iterator[None]:
    """Let somebody hear, in a sentence, of every large file that this thread is about to read."""
    before = _answer.set(told)
    try:
        yield
    finally:
        _answer.reset(before)


def ask_first(sentence: str) -> None:
    """Refuse to read a large file; for `before_large`.

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

    def why(self, error: JobError) -> str:
        """Say why the child ended."""
        over = {
            "memory": f"takes more than {self.memory_mb:,} MB of memory to read",
            "time": f"takes more than {self.seconds} s to read",
        }.get(error.over)
        made = "no tokenizer of its size needs so much; it is damaged, or made to do this"
        return f"cannot be read: {error}" if over is None else f"{over}: {made}"


def budget(n_bytes: int) -> Budget:
    """Give what reading so many bytes may take."""
    times = max(1.0, n_bytes / LARGE_BYTES)
    return Budget(int(_MEMORY_MB * times), int(_SECONDS * times))


def tell_if_large(name: str, n_bytes: int) -> None:
    """Say what reading a file may take if that is much; see `before_large`."""
    told = _answer.get()
    if n_bytes > LARGE_BYTES and told is not None:
        allowed = budget(n_bytes)
        told(
            f"{name} has {n_bytes / 1e6:,.0f} MB: reading it may take {allowed.seconds} s and "
            f"{allowed.memory_mb:,} MB of memory"
        )
