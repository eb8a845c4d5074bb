"""Splitting by an untrusted regex in a child process, with a time limit for each step.

A regex may need years for thirty characters (`(?:z|z)*b` on z's), and the process that runs it
handles no key meanwhile. So a guarded pattern is compiled and run by the job `split`. This process
has one child for that, started when it is first needed. A step (from one pre-token to the next)
that exceeds the limit is a `PatternError`.
"""

from __future__ import annotations

import atexit
import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import accumulate
from threading import Lock
from typing import Any

from tokviz.errors import JobError, PatternError
from tokviz.process.child import JobTimeoutError
from tokviz.process.limits import HAS_CPU_LIMITS, Limits
from tokviz.process.protocol import Body, Message, pack_numbers, unpack_numbers
from tokviz.process.runner import JobClient, JobDroppedError
from tokviz.tokenizer.pretokenize.alternatives import Alternative, Cut
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import Split, SplitProgress, join_steps
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS, pre_token_error, too_long

PATIENCE_SECONDS = 30.0 if HAS_CPU_LIMITS else 2.0
"""Wall-clock time: the child ends a step by itself, or itself, where there are timers for that."""

_LIMITS = Limits(niceness=0)
_PART_CHARS = 1 << 20
_KEPT_CHARS = 1 << 20

_NOTHING: tuple[tuple[SplitPattern, str] | None, Split | None] = (None, None)

_ahead: ContextVar[tuple[SplitPattern, dict[str, Split]] | None] = ContextVar("ahead", default=None)

_lock = Lock()
_last = _NOTHING
"""The newest text and how it was split, replaced as one: it is often asked for twice."""
_clients: dict[str, JobClient] = {}


def check(regex_text: str) -> bool:
    """Compile a regex in the child.

    Returns:
        Whether it matches the empty text.

    Raises:
        PatternError: If it is no valid regex, or takes too long or too much memory to compile.
    """
    request = {"do": "check", "regex": regex_text, "seconds": STEP_SECONDS}
    try:
        (answer,) = client_for("split").ask([request])
    except JobDroppedError:
        raise
    except JobTimeoutError:
        raise PatternError(regex_text, "takes too long to compile") from None
    except JobError as error:
        raise PatternError(regex_text, f"cannot be compiled: {error}") from None
    return bool(answer["matches_empty"])


def guarded_split(pattern: SplitPattern, text: str) -> Split:
    """Do what `tokviz.tokenizer.pretokenize.split.split` does, in the child.

    Raises:
        PatternError: If a step takes too long or too much memory.
        JobDroppedError: If the app is about to end.
    """
    global _last
    ahead = _ahead.get()
    if ahead is not None and ahead[0] == pattern and text in ahead[1]:
        return ahead[1][text]
    asked = (pattern, text)
    last_asked, result = _last
    if result is None or last_asked != asked:
        result = _ask_child(pattern, text)
        _last = (asked, result) if len(text) <= _KEPT_CHARS else _NOTHING
    return result


@contextmanager
def split_ahead(pattern: SplitPattern, texts: Iterable[str]) -> Iterator[None]:
    """Have many short texts split in one go, if the pattern is guarded, for this block and thread.

    Within the block each of them is split by looking it up.
    """
    if not pattern.guarded:
        yield
        return
    every = list(dict.fromkeys(texts))

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests("".join(every), memory)
        yield {
            **_split_request(pattern),
            "do": "each",
            "ends": pack_numbers(array("I", accumulate(map(len, every)))),
        }

    answers: list[Message] = []
    # Texts without an answer are split one by one later, which raises their errors.
    with suppress(JobTimeoutError, PatternError):
        client_for("split").call(requests, answers.append)
    found = (split for answer in answers for split in answer["splits"])
    splits = {
        text: Split(array("q", ends), tuple(gaps), n_zero_width)
        for text, (ends, gaps, n_zero_width) in zip(every, found, strict=False)
    }
    token = _ahead.set((pattern, splits))
    try:
        yield
    finally:
        _ahead.reset(token)


def _split_request(pattern: SplitPattern) -> Body:
    return {
        "do": "split",
        "regex": pattern.regex,
        "unicode_of_tiktoken": pattern.unicode_of_tiktoken,
        "seconds": STEP_SECONDS,
    }


def _ask_child(pattern: SplitPattern, text: str) -> Split:
    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests(text, memory)
        yield _split_request(pattern)

    steps: list[SplitProgress] = []
    try:
        client_for("split").call(requests, lambda answer: steps.append(_as_progress(answer)))
    except JobDroppedError:
        raise
    except JobError as error:
        reason = too_long(STEP_SECONDS) if isinstance(error, JobTimeoutError) else str(error)
        place = max((step.ends[-1] for step in steps if step.ends), default=0)
        raise pre_token_error(pattern.regex, reason, text, place) from None
    return join_steps(steps)


def guarded_cut(pattern: SplitPattern, text: str, start: int, end: int) -> Cut:
    """Do what `tokviz.tokenizer.pretokenize.alternatives.cut_of` does, in the child.

    Raises:
        PatternError: If it takes too long.
        JobError: If the child process fails.
    """

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests(text, memory)
        yield {**_split_request(pattern), "do": "cut", "start": start, "end": end}

    answers = client_for("split").call(requests)
    taken, *how = next(answer["cut"] for answer in answers if "cut" in answer)
    if taken is None:
        return Cut(None)
    (first, last), *rest = taken
    return Cut(Alternative((first, last), *rest), *how)


def text_requests(text: str, memory: dict[str, Any]) -> Iterator[Body]:
    """Let a text be the one that the child keeps; `memory` is what is known of that."""
    for start in range(0, len(text), _PART_CHARS):
        yield {"do": "text", "text": text[start : start + _PART_CHARS]}
    yield {"do": "replace", "start": 0, "removed": memory.get("n_chars", 0)}
    memory["n_chars"] = len(text)


def close(purpose: str | None = None) -> None:
    """End the child of a purpose, or all; the next call starts others.

    Who waits for one gets a `JobDroppedError`.
    """
    with _lock:
        purposes = list(_clients) if purpose is None else [purpose]
        clients = [_clients.pop(purpose) for purpose in purposes if purpose in _clients]
    for client in clients:
        client.close()


def client_for(purpose: str) -> JobClient:
    """Give the client of the job `split` that serves a purpose, whose child starts when needed."""
    with _lock:
        if purpose not in _clients:
            _clients[purpose] = JobClient("split", limits=_LIMITS, patience=PATIENCE_SECONDS)
        return _clients[purpose]


def _as_progress(answer: Message) -> SplitProgress:
    start: int = answer["start"]
    ends = array("q", map(start.__add__, unpack_numbers(answer["ends"])))
    return SplitProgress(start, ends, tuple(answer["gaps"]), answer["n_zero_width"])


def _forget() -> None:
    """Leave the child to the parent of a process that was forked."""
    global _clients, _lock
    _clients, _lock = {}, Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
