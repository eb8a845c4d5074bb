"""Tables in `.parquet` files, read in a child process because a few bytes may expand enormously."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
"""Memory limit of the child for a table, in addition to its libraries."""

MOST_ROW_BYTES = 16 << 20
"""Limit of the size of a row; a larger one is reported as None."""

# The memory limit includes mapped libraries, so the child sets it after loading them.
_LIMITS = Limits(memory_mb=None, cpu_seconds=30)
_PATIENCE = 60.0


class Columns(NamedTuple):
    """The columns of a table.

    Attributes:
        names: All columns.
        texts: The columns that contain text.
        binary: The columns whose text looks binary, if that was checked.
        trouble: The reason why the table cannot be read, empty if it can.
    """

    names: Sequence[str] = ()
    texts: Sequence[str] = ()
    binary: Sequence[str] = ()
    trouble: str = ""

    def why_not(self, column: str) -> str:
        """Return the reason why training cannot use a column, empty if it can."""
        if self.trouble or column in self.texts:
            return self.trouble
        if column in self.names:
            return f"its column {column!r} is not text"
        return f"has no column {column!r}; {choice_of('column', self.names)}"


def columns_of(paths: Iterable[str]) -> Iterator[Columns]:
    """Read the columns of several tables in one child."""
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
    """A `.parquet` file. Thread-safe.

    Attributes:
        columns: Its columns.
        sizes: The rows of each row group.
    """

    def __init__(self, path: str, jobs: JobClient | None = None) -> None:
        """Open the file.

        Args:
            path: The file.
            jobs: The client of the child, by default a new one.

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
        """Read a row of a group and some after it, as JSON values; None if a row is too large.

        Raises:
            InputFileError: If it cannot be read.
        """
        rows = self._ask({"do": "rows", "group": group, "row": row, "columns": columns})["rows"]
        return [None if text is None else json.loads(text) for text in rows]

    def with_row(self, row: int, values: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the content of the file with other values in a row.

        Args:
            row: The row, counted from 0.
            values: The new value of each column that changes.

        Raises:
            InputFileError: If the file cannot be read, or a column cannot hold its new value.
        """
        request: Body = {"do": "replace", "row": row, "values": values}
        while answer := self._ask(request):
            for packed, _ in answer["chunks"]:
                yield unpack(packed)
            request = {"do": "more"}

    def texts(
        self, column: str, groups: Iterable[int] | None = None
    ) -> Iterator[tuple[bytes, bool]]:
        """Yield the texts of a column in chunks, each with whether it ends its text.

        Args:
            column: The column.
            groups: Only these row groups.

        Raises:
            InputFileError: If it cannot be read; the chunks before that have been yielded.
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
        """Yield the columns whose first text looks binary.

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
            # The request must not refer to this object, because the client keeps requests.
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
