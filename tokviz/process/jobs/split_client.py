"""Splitting by an untrusted regex, seen from the parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tokviz.errors import PatternError, TokvizError
from tokviz.process.child import JobTimeoutError
from tokviz.process.jobs.split_result import SplitPart
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, Message
from tokviz.process.runner import JobClient, RunHandlers
from tokviz.text.snapshots import TextPart, changed_range, joined
from tokviz.tokenizer.pretokenize.regex_process import PATIENCE_SECONDS
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS, too_long

_PART_CHARS = 262_144


class SplitClient(JobClient):
    """Splits a text by a regex in a child process; the text is sent once, then only edits."""

    def __init__(
        self,
        on_part: Callable[[int, SplitPart], object],
        on_done: Callable[[int], object],
        on_error: Callable[[int, TokvizError], object],
        *,
        limits: Limits | None = None,
        seconds: float = STEP_SECONDS,
    ) -> None:
        """Take the callbacks (from a thread, run id first); the child starts when needed.

        A regex that is invalid, cannot be compiled or takes more than `seconds` of processor time
        for a pre-token comes to `on_error` as a `PatternError`.
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
        """Split a text in place of any other splitting that goes on.

        Args:
            regex: The regex.
            chunks: The text in chunks; not to be changed any more. Chunks that did not change
                since the last call should be the same objects.
            near: A part of the text that is cut first, by itself, and where it begins.
            start: Where a pre-token ends behind which to begin, so that work can go on.

        Returns:
            The run id.
        """
        body = {"do": "split", "regex": regex, "seconds": self._seconds}

        def requests(memory: dict[str, Any]) -> Iterator[Body]:
            if near is not None:
                yield {**body, "at": near[0], "near": near[1]}
            yield from _text_requests(memory, chunks)
            yield {**body, "start": start}

        def on_error(run: int, error: TokvizError) -> None:
            if isinstance(error, JobTimeoutError):
                error = PatternError(regex, too_long(self._seconds))
            self._on_error(run, error)

        def on_answer(run: int, body: Message) -> None:
            self._on_part(run, SplitPart.from_answer(body))

        return self.run(requests, RunHandlers(on_answer, self._on_done, on_error))


def _text_requests(memory: dict[str, Any], chunks: Sequence[TextPart]) -> Iterator[Body]:
    """Bring the child's text up to date, in parts small enough to let other threads work."""
    old: Sequence[TextPart] = memory.get("chunks", ())
    first, old_last, new_last = changed_range(old, chunks)
    if first == old_last and first == new_last:
        return
    text = joined(chunks[first:new_last])
    for start in range(0, len(text), _PART_CHARS):
        yield {"do": "text", "text": text[start : start + _PART_CHARS]}
    yield {
        "do": "replace",
        "start": sum(part.n_chars for part in old[:first]),
        "removed": sum(part.n_chars for part in old[first:old_last]),
    }
    memory["chunks"] = chunks
