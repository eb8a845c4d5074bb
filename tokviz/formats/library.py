"""Hugging Face's `tokenizers` in a child process, with blocking calls.

If a file makes the library abort, exhaust memory or run for minutes, this happens in the child,
which has limits, and is a `JobError` here. The next call starts a new child.
"""

from __future__ import annotations

import weakref
from array import array
from dataclasses import dataclass
from functools import partial
from typing import Any

from tokviz.errors import JobError, PatternError, TokvizError
from tokviz.formats.budget import Budget, budget, bytes_of
from tokviz.formats.conversions import fingerprint
from tokviz.formats.tokenizer_ipc import received, to_ranks
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, pack_numbers, unpack_numbers
from tokviz.process.runner import JobClient
from tokviz.storage.files import StrPath, absolute
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.packed import PackedRanks

_BYTES_A_CHAR = 128
_CHARS_A_SECOND = 200_000
"""Memory of the library's result per character, and its lowest speed."""

PATIENCE_SECONDS = 60.0
"""The longest wait for one call, enough for about 50 MB of text."""

NO_WORD = 0xFFFF_FFFF
"""The word number of a token without a pre-token."""


@dataclass(frozen=True, slots=True)
class LibraryEncoding:
    """The library's encoding of a text; every array has one number per token, typecode "I".

    Attributes:
        ids: The token ids.
        starts: The first of the text's characters that a token comes from.
        ends: One past the last character.
        words: The number of a token's pre-token; `NO_WORD` if it has none.
    """

    ids: array[int]
    starts: array[int]
    ends: array[int]
    words: array[int]


class LibraryTokenizer:
    """One `tokenizer.json` in a child process. Thread-safe; calls wait for each other."""

    def __init__(
        self, path: StrPath, *, limits: Budget | None = None, checksum: str | None = None
    ) -> None:
        """Read the file; the child starts with the first call.

        Until `trust` is called, all the child's work must fit into `limits`. The child refuses the
        file if it has another `checksum`, by default that of the file now.

        Raises:
            InputFileError: If the file cannot be read.
        """
        self._path = absolute(path)
        self.checksum = checksum or fingerprint(path)
        self.budget = limits or budget(bytes_of(path))
        # The job counts its own processor time, because loading and checking share one budget.
        memory = Limits(memory_mb=self.budget.memory_mb, cpu_seconds=None)
        self._trusted = False
        self._jobs = JobClient("huggingface_tokenizer", limits=memory, patience=PATIENCE_SECONDS)
        # Ends the child when this object is collected.
        weakref.finalize(self, self._jobs.close)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling by the path: the copy starts a child of its own."""
        made = partial(LibraryTokenizer, limits=self.budget, checksum=self.checksum)
        return made, (self._path,), {"_trusted": self._trusted}

    def trust(self) -> None:
        """Give every later call a budget of its own, by the length of its text."""
        self._trusted = True

    def facts(self) -> tuple[str, dict[str, int], PackedRanks]:
        """Load the file in the child and read its vocabulary.

        Returns:
            The version of the library; the ids of the added tokens by their texts, except white
            space that is not marked special; and the bytes of the other tokens.

        Raises:
            JobError: If the library rejects the file, or the child dies.
        """
        first, *messages = self._call({"do": "facts", **self._allowed(0)})
        data, ids = received(first["sizes"], messages)
        specials = {text: token_id for text, token_id in first["specials"] if text}
        return first["version"], specials, to_ranks(data, ids)

    def encode(self, text: str, specials: str = "all") -> LibraryEncoding:
        """Encode byte text; the library gets U+FFFD for a byte that is not UTF-8.

        Args:
            text: The text.
            specials: "all", "none" or "huggingface"; see `Tokenizer.encode`.

        Raises:
            PatternError: If a regex of the file takes too long.
            JobError: If the library fails, or the child dies.
        """
        seen = bytetext.RAW_BYTES.sub("\ufffd", text)
        body = self._ask(
            {"do": "encode", "text": seen, "specials": specials, **self._allowed(len(seen))}
        )
        return LibraryEncoding(
            *(unpack_numbers(body[key]) for key in ("ids", "starts", "ends", "words"))
        )

    def decode(self, ids: array[int]) -> str:
        """Decode ids of the vocabulary.

        Raises:
            JobError: If the library fails, or the child dies.
        """
        request = {"do": "decode", "ids": pack_numbers(ids), **self._allowed(len(ids))}
        text: str = self._ask(request)["text"]
        return text

    def stories(self, text: str, specials: str, tokens: range) -> Body:
        """Explain the encoding of the pre-tokens of some tokens of byte text.

        The first call copies the model in the child, which may use twice its budget.

        Args:
            text: The text.
            specials: See `encode`.
            tokens: The numbers of the tokens.

        Returns:
            The answer to a request "stories" of `tokviz.process.jobs.huggingface_tokenizer`.

        Raises:
            JobError: If the child exceeds its limits.
        """
        seen = bytetext.RAW_BYTES.sub("\ufffd", text)
        request = {"first": tokens.start, "stop": tokens.stop, "text": seen, "specials": specials}
        allowed = {name: limit and 2 * limit for name, limit in self._allowed(len(seen)).items()}
        answer: Body = self._ask({"do": "stories", **request, **allowed})
        return answer

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
        """Return the error with the file and, if a limit was exceeded, the limit in words."""
        allowed = {
            "memory": f"{body['memory_mb'] or self.budget.memory_mb:,} MB of memory",
            "time": f"{body['cpu_seconds'] or self.budget.seconds:,} s of processor time",
        }.get(error.over)
        takes = f"Hugging Face's library takes more than {allowed} for this text"
        reason = takes if allowed else str(error)
        described = JobError(f"{self._path}: {reason}")
        described.over = error.over
        return described

    def _call(self, body: Body) -> list[Any]:
        # No reference to `self`: the client keeps the request, and would keep this object alive.
        file = {
            "path": self._path,
            "sha256": self.checksum,
            "load_seconds": self.budget.cpu_seconds,
        }
        return self._jobs.ask([{**file, **body}])
