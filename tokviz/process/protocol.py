r"""Protocol between parent and child: one JSON object per line, UTF-8, versioned.

Every message contains `v` (the version), `type` and, except `ready`, `run` (the run's id).

| from | type | more fields | meaning |
|---|---|---|---|
| child | `ready` | | the child has started |
| parent | `request` | `body` | one request of the run; a run may have several, in order |
| parent | `end` | | the run has no more requests |
| parent | `cancel` | | stop the run at the next answer |
| parent | `enough` | | end the run with the results so far |
| child | `answer` | `body` | a part of the result |
| child | `handled` | | one request is done |
| child | `done` | | the run is complete |
| child | `cancelled` | | the run was stopped |
| child | `error` | `error`, `expected` | the run failed; see `describe_error` |

JSON escapes everything outside ASCII, so lone surrogates of byte text are preserved.
"""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Mapping
from typing import Any, Literal

from tokviz.errors import JobError, PatternError, TokvizError

VERSION = 1

Message = dict[str, Any]
Body = Mapping[str, Any]


def encode_line(message_type: str, run: int | None = None, **fields: object) -> bytes:
    """Encode one message as a line."""
    message: Message = {"v": VERSION, "type": message_type, **fields}
    if run is not None:
        message["run"] = run
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def decode_line(line: bytes) -> Message:
    """Decode one message.

    Raises:
        JobError: If the line is not a message, or has another version.
    """
    try:
        message = json.loads(line)
    except ValueError as error:
        raise JobError(f"a job sent an invalid message: {line[:80]!r}") from error
    if not isinstance(message, dict) or "type" not in message:
        raise JobError(f"a job sent an invalid message: {line[:80]!r}")
    if message.get("v") != VERSION:
        raise JobError(
            f"a job uses version {message.get('v')!r} of the protocol instead of {VERSION}: "
            "tokviz was updated while it ran; restart it"
        )
    return message


def describe_error(error: BaseException) -> Message:
    """Convert a child's exception to the fields of an `error` message.

    `expected` is true for errors that the job raised intentionally (`TokvizError`), after which the
    child continues. After any other error, its state is not reliable.
    """
    if isinstance(error, PatternError):
        fields = {"pattern": error.pattern, "reason": error.reason, "position": error.position}
        slow = {"place": error.place, "pre_token": error.pre_token}
        return {"error": {"name": "PatternError", **fields, **slow}, "expected": True}
    text = str(error)
    if not isinstance(error, TokvizError):
        name = type(error).__name__
        text = f"{name}: {text}" if text else name
    return {
        "error": {"name": type(error).__name__, "text": text},
        "expected": isinstance(error, TokvizError),
    }


def restore_error(job: str, message: Body) -> TokvizError:
    """Create the parent's exception from an `error` message.

    Errors that the job raised intentionally keep their text; others include the name of the job.
    """
    described = message["error"]
    if described.get("name") == "PatternError":
        fields = {key: described[key] for key in ("reason", "position", "place", "pre_token")}
        return PatternError(described["pattern"], **fields)
    if described.get("name") == "MemoryError":
        error = JobError(f"the {job} job exceeded its memory limit")
        error.over = "memory"
        return error
    text = described.get("text")
    return JobError(text if message.get("expected") else f"the {job} job failed: {text}")


def pack(data: bytes) -> str:
    """Encode bytes as base64."""
    return base64.b64encode(data).decode("ascii")


def unpack(packed: str) -> bytes:
    """Decode the output of `pack`."""
    return base64.b64decode(packed)


def pack_numbers(numbers: array[int]) -> str:
    """Encode an array as base64."""
    return pack(numbers.tobytes())


def unpack_numbers(packed: str, typecode: Literal["I", "q"] = "I") -> array[int]:
    """Decode the output of `pack_numbers` for an array of this typecode."""
    return array(typecode, unpack(packed))
