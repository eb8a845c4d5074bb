"""Expensive checks of a tokenizer, run in a child process.

The checks create an object for every token. In the app's process these would fragment the memory,
so that little of it could be freed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from tokviz.formats.save import FORMATS, why_not_saved
from tokviz.formats.tokenizer_ipc import messages, to_parts
from tokviz.formats.validate import validate
from tokviz.process.protocol import Body, Message
from tokviz.process.runner import JobClient
from tokviz.tokenizer.report import Report
from tokviz.tokenizer.tokenizer import Tokenizer


def losses(tokenizer: Tokenizer, take: Callable[[str, list[str], str], object]) -> None:
    """Determine what each format loses of a tokenizer.

    Args:
        tokenizer: The tokenizer.
        take: Called in another thread with each format's name, the result of
            `tokviz.formats.save.what_is_lost`, and the reason if the format cannot hold the
            tokenizer at all.

    Raises:
        JobError: If the child fails.
    """
    if tokenizer.remote:
        for name in FORMATS:
            take(name, [], why_not_saved(tokenizer))
        return

    def forward(answer: Message) -> None:
        take(answer["format"], answer.get("lost", []), answer.get("error", ""))

    _ask(tokenizer, "losses", forward)


def check(tokenizer: Tokenizer) -> Report:
    """Check a tokenizer thoroughly; see `tokviz.formats.validate`.

    Raises:
        JobError: If the child fails.
    """
    if tokenizer.remote:
        return validate(tokenizer)
    (answer,) = _ask(tokenizer, "check")
    return Report.of(answer["report"])


def _ask(
    tokenizer: Tokenizer, what: str, take: Callable[[Message], object] = lambda answer: None
) -> list[Message]:
    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        head, parts = to_parts(tokenizer)
        yield {"head": head}
        yield from messages(parts)
        yield {"do": what}

    with closing(JobClient("examine_tokenizer")) as jobs:
        return jobs.call(requests, take)
