"""Hugging Face's `tokenizers` in a child process, as ordinary calls that wait for its answers.

Whatever a file makes the library do (abort, eat memory, run for minutes) happens to the child,
which has limits; here it is a `JobError`. The next call starts a new child.
"""

from __future__ import annotations

import hashlib
import weakref
from array import array
from dataclasses import dataclass
from typing import Any

from tokviz.errors import JobError, PatternError, TokvizError
from tokviz.formats.budget import Budget, budget
from tokviz.formats.tokenizer_ipc import received, to_ranks
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, pack_numbers, unpack_numbers
from tokviz.process.runner import JobClient
from tokviz.storage.files import StrPath, absolute, read_file
from tokviz.storage.json_file import MAX_JSON_BYTES
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.packed import PackedRanks

_BYTES_A_CHAR = 128
_CHARS_A_SECOND = 200_000
"""What the library's result takes for a text, and how fast it is at the least."""

PATIENCE_SECONDS = 60.0
"""How long the library may take for one call: some 50 MB of text."""

NO_WORD = 0xFFFF_FFFF
"""The word of a token that is in none."""


@dataclass(frozen=True, slots=True)
class LibraryEncoding:
    """What the library makes of a text; every array has one number a token, typecode "I".

    Attributes:
        ids: The token ids.
        starts: The first of the text's characters that a token comes from.
        ends: The character behind the last one.
        words: The number of a token's pre-token; `NO_WORD` if it has none.
    """

    ids: array[int]
    starts: array[int]
    ends: array[int]
    words: array[int]


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What the library says of a tokenizer.

    Attributes:
        version: Of the library.
        specials: Text and id of the added tokens; without white space that is not called special.
        ordinary: The bytes of the other tokens.
    """

    version: str
    specials: list[tuple[str, int]]
    ordinary: PackedRanks


class LibraryTokenizer:
    """One `tokenizer.json` in a child. Safe in any thread; calls wait for each other."""

    def __init__(self, path: StrPath, *, limits: Budget | None = None) -> None:
        """Take the file; the child starts with the first call.

        What the child does until `trust` is called has to do with what `limits` allow.

        Raises:
            InputFileError: If the file cannot be read.
        """
        self._path = absolute(path)
        data = read_file(path, limit=MAX_JSON_BYTES)
        self._checksum = hashlib.sha256(data).hexdigest()
        self.budget = limits or budget(len(data))
        # The job counts its processor time itself: loading and checking have one budget.
        memory = Limits(memory_mb=self.budget.memory_mb, cpu_seconds=None)
        self._trusted = False
        self._jobs = JobClient("huggingface_tokenizer", limits=memory, patience=PATIENCE_SECONDS)
        # The child ends with the last one who could ask it.
        weakref.finalize(self, self._jobs.close)

    def trust(self) -> None:
        """Let every later call take as much as its text needs."""
        self._trusted = True

    def facts(self) -> LibraryFacts:
        """Load the file in the child and read its vocabulary.

        Raises:
            JobError: If the library does not take the file, or the child dies of it.
        """
        first, *messages = self._call({"do": "facts", **self._allowed(0)})
        data, ids = received(first["sizes"], messages)
        specials = [(text, token_id) for text, token_id in first["specials"]]
        return LibraryFacts(first["version"], specials, to_ranks(data, ids))

    def encode(self, text: str, specials: str = "all") -> LibraryEncoding:
        """Encode byte text; a byte that is not UTF-8 is U+FFFD for the library.

        Args:
            text: The text.
            specials: "all", "none" or "huggingface"; see `Tokenizer.encode`.

        Raises:
            PatternError: If a regex of the file takes too long.
            JobError: If the library fails, or the child dies of it.
        """
        seen = bytetext.RAW_BYTES.sub("\ufffd", text)
        body = self._ask(
            {"do": "encode", "text": seen, "specials": specials, **self._allowed(len(seen))}
        )
        return LibraryEncoding(
            *(unpack_numbers(body[key]) for key in ("ids", "starts", "ends", "words"))
        )

    def decode(self, ids: array[int]) -> str:
        """Decode ids that exist.

        Raises:
            JobError: If the library fails, or the child dies of it.
        """
        request = {"do": "decode", "ids": pack_numbers(ids), **self._allowed(len(ids))}
        text: str = self._ask(request)["text"]
        return text

    def close(self) -> None:
        """End the child; later calls fail. Safe to call twice."""
        self._jobs.close()

    def _allowed(self, n_chars: int) -> Body:
        if not self._trusted:
            return {"cpu_seconds": None, "memory_mb": None}
        return {
            "cpu_seconds": self.budget.cpu_seconds + n_chars // _CHARS_A_SECOND,
            "memory_mb": self.budget.memory_mb + (n_chars * _BYTES_A_CHAR >> 20),
        }

    def _ask(self, body: Body) -> Any:
        try:
            return self._call(body)[-1]
        except JobError as error:
            raise self._in_words(error, body) from None
        except PatternError:
            raise
        except TokvizError as error:
            raise JobError(f"{self._path}: {error}") from None

    def _in_words(self, error: JobError, body: Body) -> JobError:
        """Say of a text for which the library needs too much what that is, in the user's words."""
        allowed = {
            "memory": f"{body['memory_mb'] or self.budget.memory_mb:,} MB of memory",
            "time": f"{body['cpu_seconds'] or self.budget.seconds:,} s of processor time",
        }.get(error.over)
        takes = f"Hugging Face's library takes more than {allowed} for this text"
        said = takes if allowed else str(error)
        told = JobError(f"{self._path}: {said}")
        told.over = error.over
        return told

    def _call(self, body: Body) -> list[Any]:
        # No reference to this object: what the client keeps of a run must not keep it alive.
        file = {
            "path": self._path,
            "sha256": self._checksum,
            "load_seconds": self.budget.cpu_seconds,
        }
        return self._jobs.ask([{**file, **body}])
