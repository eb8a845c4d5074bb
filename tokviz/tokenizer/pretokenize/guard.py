"""Splitting by a guarded pattern in a child process; see `regex_process`."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import accumulate
from typing import Any

from tokviz.errors import JobError, PatternError
from tokviz.process.child import JobTimeoutError
from tokviz.process.protocol import Body, Message, pack_numbers, unpack_numbers
from tokviz.process.runner import JobDroppedError
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.pretokenize.alternatives import Alternative, Cut
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.regex_process import client_for, text_requests
from tokviz.tokenizer.pretokenize.split_steps import Split, join_steps
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS, pre_token_error, too_long

_splits_ahead: ContextVar[tuple[SplitPattern, dict[str, Split]] | None] = ContextVar(
    "splits_ahead", default=None
)


def guarded_split(pattern: SplitPattern, text: str) -> Split:
    """Split text in the child process.

    Raises:
        PatternError: If a step takes too long or too much memory.
        JobDroppedError: If the child is closed meanwhile.
    """
    ahead = _splits_ahead.get()
    if ahead is not None and ahead[0] == pattern and text in ahead[1]:
        return ahead[1][text]
    return _split_in_child(pattern, text)


@contextmanager
def split_ahead(pattern: SplitPattern, texts: Iterable[str]) -> Iterator[None]:
    """Split many short texts in one request, if the pattern is guarded.

    Within the block, and in its thread, `guarded_split` looks their results up.
    """
    if not pattern.guarded:
        yield
        return
    distinct = list(dict.fromkeys(texts))
    parts = [TextPart("".join(distinct))]

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests(parts, memory)
        yield {
            **_split_request(pattern),
            "do": "each",
            "ends": pack_numbers(array("I", accumulate(map(len, distinct)))),
        }

    answers: list[Message] = []
    # Texts without an answer are split one by one later, which raises their errors.
    with suppress(JobTimeoutError, PatternError):
        client_for("split").call(requests, answers.append)
    results = (split for answer in answers for split in answer["splits"])
    splits = {
        text: Split(array("q", ends), tuple(gaps), n_zero_width)
        for text, (ends, gaps, n_zero_width) in zip(distinct, results, strict=False)
    }
    token = _splits_ahead.set((pattern, splits))
    try:
        yield
    finally:
        _splits_ahead.reset(token)


def _split_request(pattern: SplitPattern) -> Body:
    return {
        "do": "split",
        "regex": pattern.regex,
        "unicode_of_tiktoken": pattern.unicode_of_tiktoken,
        "steps": pattern.steps if pattern.in_steps else (),
        "seconds": STEP_SECONDS,
    }


def _split_in_child(pattern: SplitPattern, text: str) -> Split:
    parts = [TextPart(text)]

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests(parts, memory)
        yield _split_request(pattern)

    steps: list[Split] = []
    try:
        client_for("split").call(requests, lambda answer: steps.append(split_of(answer)))
    except JobDroppedError:
        raise
    except JobError as error:
        is_timeout = isinstance(error, JobTimeoutError)
        reason = too_long(STEP_SECONDS) if is_timeout else str(error)
        start = max((step.ends[-1] for step in steps if step.ends), default=0)
        raise pre_token_error(pattern.regex, reason, text, start) from None
    return join_steps(steps)


def split_of(answer: Message) -> Split:
    """Return the pre-tokens in an answer of the job."""
    start: int = answer["start"]
    ends = array("q", map(start.__add__, unpack_numbers(answer["ends"])))
    fields = tuple(answer["gaps"]), answer["n_zero_width"], start
    return Split(ends, *fields, near=answer.get("near", False))


def guarded_cut(pattern: SplitPattern, text: str, start: int, end: int) -> Cut:
    """Run `tokviz.tokenizer.pretokenize.alternatives.cut_of` in the child process.

    Raises:
        PatternError: If it takes too long.
        JobError: If the child process fails.
    """
    parts = [TextPart(text)]

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield from text_requests(parts, memory)
        yield {**_split_request(pattern), "do": "cut", "start": start, "end": end}

    answers = client_for("split").call(requests)
    alternative, *rest = next(answer["cut"] for answer in answers if "cut" in answer)
    if alternative is None:
        return Cut(None, *rest)
    (first, last), *fields = alternative
    return Cut(Alternative((first, last), *fields), *rest)
