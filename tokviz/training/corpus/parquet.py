"""Tables in `.parquet` files, read by a child: a few bytes of one may stand for many values."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import Any, NamedTuple

from tokviz.errors import InputFileError, JobError, missing_package
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, unpack
from tokviz.process.runner import JobClient
from tokviz.storage.files import input_error, looks_binary
from tokviz.training.corpus.storage import choice_of, open_stored

DATA_MB = 400
"""What the child may hold of a table, besides its libraries."""

MOST_ROW_BYTES = 16 << 20
"""A larger row is not given out."""

# The child's own limit of memory counts what the libraries map, so it sets it when they are there.
_LIMITS = Limits(memory_mb=None, cpu_seconds=30)
_PATIENCE = 60.0


class Columns(NamedTuple):
    """What a table can be learned from.

    Attributes:
        names: Its columns.
        texts: Those of them that hold text.
        binary: Those of them whose text looks binary, where that was looked at.
        trouble: Why it cannot be read, empty if it can.
    """

    names: Sequence[str] = ()
    texts: Sequence[str] = ()
    binary: Sequence[str] = ()
    trouble: str = ""

    def why_not(self, column: str) -> str:
        """Say why a column cannot be learned from, nothing if it can."""
        if self.trouble or column in self.texts:
            return self.trouble
        if column in self.names:
            return f"its column {column!r} is not text"
        return f"has no column {column!r}; {choice_of('column', self.names)}"


def columns_of(paths: Iterable[str]) -> Iterator[Columns]:
    """Look into tables, by one child for all."""
    with closing(_client()) as jobs:
        for path in paths:
            try:
                table = ParquetTable(path, jobs)
                yield table.columns._replace(binary=[*table.binary_columns()])
            except InputFileError as error:
                yield Columns(trouble=error.reason)


def _client() -> JobClient:
    return JobClient("read_parquet", limits=_LIMITS, patience=_PATIENCE)


class ParquetTable:
    """A `.parquet` file. Safe in any thread.

    Attributes:
        columns: Its columns.
        sizes: The rows of each row group.
    """

    def __init__(self, path: str, jobs: JobClient | None = None) -> None:
        """Open the file.

        Args:
            path: The file.
            jobs: Asks the child, by default one of its own.

        Raises:
            InputFileError: If it cannot be read, or pyarrow is missing.
        """
        try:
            with open_stored(path):
                found = find_spec("pyarrow")
        except OSError as error:
            raise input_error(path, error) from None
        except ValueError:
            found = None
        if found is None:
            raise InputFileError(path, missing_package("pyarrow"))
        self._path = path
        self._jobs = jobs or _client()
        # The child ends with the last one who could ask it.
        self._end = (lambda: None) if jobs else weakref.finalize(self, self._jobs.close)
        about = self._ask({"do": "open"})
        self.columns = Columns(about["names"], about["texts"])
        self.sizes: list[int] = about["sizes"]
        self._bytes: list[str] = about["bytes"]

    def rows(self, group: int, row: int, columns: list[str]) -> list[Any]:
        """Read a row of a group and some behind it, as JSON values; None for one that is too large.

        Raises:
            InputFileError: If it cannot be read.
        """
        rows = self._ask({"do": "rows", "group": group, "row": row, "columns": columns})["rows"]
        return [None if text is None else json.loads(text) for text in rows]

    def texts(
        self, column: str, groups: Iterable[int] | None = None
    ) -> Iterator[tuple[bytes, bool]]:
        """Give the texts of a column in chunks, each with whether its text ends there.

        Args:
            column: The column.
            groups: Only these row groups.

        Raises:
            InputFileError: If it cannot be read; what came before has been given.
        """
        if reason := self.columns.why_not(column):
            raise InputFileError(self._path, reason)
        groups = range(len(self.sizes)) if groups is None else groups
        request: Body = {"do": "texts", "column": column, "groups": [*groups]}
        while answer := self._ask(request):
            for packed, ends in answer["chunks"]:
                yield unpack(packed), ends
            request = {"do": "more"}

    def binary_columns(self) -> Iterator[str]:
        """Name the columns whose text begins as if it were binary.

        Raises:
            InputFileError: If they cannot be read.
        """
        for name in self._bytes:
            if looks_binary(next(self.texts(name), (b"", True))[0]):
                yield name

    def close(self) -> None:
        """End the child. Safe to call twice."""
        self._end()

    def _ask(self, request: Body) -> Any:
        try:
            # No reference to this object: what the client keeps of a run must not keep it alive.
            answers = self._jobs.ask([{"path": self._path, **request}])
        except JobError as error:
            reason = f"is not a readable Parquet file: {error}"
            if error.over == "memory":
                reason = f"takes more than {DATA_MB} MB of memory: write smaller row groups"
            elif error.over == "time":
                reason = f"takes too long to read: {error}"
            raise InputFileError(self._path, reason) from None
        answer = answers[0] if answers else None
        if answer and "refused" in answer:
            raise InputFileError(self._path, answer["refused"])
        return answer
