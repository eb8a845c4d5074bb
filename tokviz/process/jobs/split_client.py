"""The parent's client of the job `split`, and the pre-tokens that it receives."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tokviz.errors import PatternError, TokvizError
from tokviz.process.child import JobTimeoutError
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, Message
from tokviz.process.runner import JobClient, RunHandlers
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.pretokenize.guard import split_of
from tokviz.tokenizer.pretokenize.regex_process import PATIENCE_SECONDS, text_requests
from tokviz.tokenizer.pretokenize.split_steps import Split
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS, too_long


class PreToken(NamedTuple):
    """A pre-token: no merge crosses its ends. `gap` is true if the regex did not match it."""

    start: int
    end: int
    gap: bool = False


@dataclass(slots=True)
class SplitResult:
    """All pre-tokens received so far; they are adjacent and end at the character `n_chars`."""

    n_pre_tokens: int = 0
    n_gaps: int = 0
    n_zero_width: int = 0
    complete: bool = False
    _start: int = 0
    _ends: array[int] = field(default_factory=lambda: array("q"))
    _gaps: set[int] = field(default_factory=set)

    @property
    def n_chars(self) -> int:
        """The end of the last pre-token received so far."""
        return self._ends[-1] if self._ends else 0

    def add(self, part: Split) -> None:
        """Add the next part."""
        if not self._ends:
            self._start = part.start
        self._gaps.update(len(self._ends) + index for index in part.gaps)
        self._ends.extend(part.ends)
        self.n_pre_tokens += len(part.ends)
        self.n_gaps += len(part.gaps)
        self.n_zero_width += part.n_zero_width

    def covers(self, lo: int, hi: int) -> bool:
        """Return whether the pre-tokens of all characters `lo` to `hi` are known."""
        return bool(self._ends) and self._start <= lo and hi <= self.n_chars

    def pre_tokens_in(self, lo: int, hi: int) -> list[PreToken]:
        """List the known pre-tokens that touch the characters `lo` to `hi`, in order."""
        if lo >= hi or hi <= self._start:
            return []
        first = bisect_right(self._ends, lo)
        ends = self._ends[first : bisect_left(self._ends, hi, first) + 1]
        starts = [self._ends[first - 1] if first else self._start, *ends]
        spans = zip(starts, ends, strict=False)
        return [PreToken(*span, number in self._gaps) for number, span in enumerate(spans, first)]


class SplitClient(JobClient):
    """Client that splits a text by a regex in a child process; only edits of the text are sent."""

    def __init__(
        self,
        on_part: Callable[[int, Split], object],
        on_done: Callable[[int], object],
        on_error: Callable[[int, TokvizError], object],
        *,
        limits: Limits | None = None,
        seconds: float = STEP_SECONDS,
    ) -> None:
        """Create a client; its child starts with the first run.

        The callbacks are called from a thread with the run id first. If a regex is invalid, cannot
        be compiled, or takes more than `seconds` of processor time for a pre-token, `on_error` is
        called with a `PatternError`.
        """
        super().__init__("split", limits=limits, patience=PATIENCE_SECONDS + seconds)
        self._seconds = seconds
        self._on_part = on_part
        self._on_done = on_done
        self._on_error = on_error

    def split(
        self,
        regex: str,
        chunks: Sequence[TextPart],
        *,
        near: tuple[int, str] | None = None,
        start: int = 0,
    ) -> int:
        """Split a text, which replaces any other run.

        Args:
            regex: The regex.
            chunks: The text in chunks, which must not be modified later. Chunks that did not change
                since the last call should be the same objects.
            near: The start of a part of the text to split first, and its text.
            start: The end of a pre-token from which to continue.

        Returns:
            The run id.
        """
        body = {"do": "split", "regex": regex, "seconds": self._seconds}

        def requests(memory: dict[str, Any]) -> Iterator[Body]:
            if near is not None:
                yield {**body, "at": near[0], "near": near[1]}
            yield from text_requests(chunks, memory)
            yield {**body, "start": start}

        def on_error(run: int, error: TokvizError) -> None:
            if isinstance(error, JobTimeoutError):
                error = PatternError(regex, too_long(self._seconds))
            self._on_error(run, error)

        def on_answer(run: int, body: Message) -> None:
            self._on_part(run, split_of(body))

        return self.run(requests, RunHandlers(on_answer, self._on_done, on_error))
