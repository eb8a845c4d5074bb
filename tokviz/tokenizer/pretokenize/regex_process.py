"""Child processes that compile and run untrusted regexes.

A regex may need years for thirty characters (`(?:z|z)*b` on z's), and the process that runs it
handles no key meanwhile. So such a regex is compiled and run by the job `split` in a child process
that is started on first use. A step from one pre-token to the next that exceeds its time limit is a
`PatternError`.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from tokviz.errors import JobError, PatternError
from tokviz.process.child import JobTimeoutError
from tokviz.process.limits import HAS_CPU_LIMITS, Limits
from tokviz.process.protocol import Body
from tokviz.process.runner import JobClient, JobDroppedError
from tokviz.text.snapshots import TextPart, changed_range, joined
from tokviz.tokenizer.pretokenize.step_limit import STEP_SECONDS

PATIENCE_SECONDS = 30.0 if HAS_CPU_LIMITS else 2.0
"""Wall-clock time to wait for an answer. Where the system has timers, the child itself ends a
step sooner."""

_LIMITS = Limits(niceness=0)
_REQUEST_CHARS = 1 << 18

_lock = Lock()
_clients: dict[str, JobClient] = {}


def client_for(purpose: str) -> JobClient:
    """Return the client of the job `split` for a purpose; its child starts on first use."""
    with _lock:
        if purpose not in _clients:
            _clients[purpose] = JobClient("split", limits=_LIMITS, patience=PATIENCE_SECONDS)
        return _clients[purpose]


def close(purpose: str | None = None) -> None:
    """End the child of a purpose, or all children; the next call starts new ones.

    A thread that waits for an ended child gets a `JobDroppedError`.
    """
    with _lock:
        purposes = list(_clients) if purpose is None else [purpose]
        clients = [_clients.pop(purpose) for purpose in purposes if purpose in _clients]
    for client in clients:
        client.close()


def check(regex_text: str) -> bool:
    """Compile a regex in the child.

    Returns:
        Whether it matches the empty text.

    Raises:
        PatternError: If it is not a valid regex, or takes too long or too much memory to compile.
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


def text_requests(parts: Sequence[TextPart], memory: dict[str, Any]) -> Iterator[Body]:
    """Update the child's text, in requests small enough not to block other threads.

    Args:
        parts: The text in parts, which must not be modified later. Parts that did not change since
            the last call should be the same objects.
        memory: The parent's record of the child's state.
    """
    old: Sequence[TextPart] = memory.get("parts", ())
    first, old_last, new_last = changed_range(old, parts)
    if first == old_last == new_last:
        return
    text = joined(parts[first:new_last])
    for start in range(0, len(text), _REQUEST_CHARS):
        yield {"do": "text", "text": text[start : start + _REQUEST_CHARS]}
    yield {
        "do": "replace",
        "start": sum(part.n_chars for part in old[:first]),
        "removed": sum(part.n_chars for part in old[first:old_last]),
    }
    memory["parts"] = parts


def _renew_lock() -> None:
    """Replace the lock, which a thread of a forked process may have held."""
    global _lock
    _lock = Lock()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
