"""The job `read_parquet`: read an untrusted table within the limits of this process.

A few bytes of a Parquet file may expand to any number of values, regardless of its metadata. An
Arrow file, with or without a footer, is read like a Parquet file whose row groups are its record
batches. Every request contains the `path` of the file:

- `{"do": "open"}`: open the file, and answer with `{"names": columns, "texts": columns that contain
  text, "bytes": columns that may contain any bytes, "sizes": rows of each row group}`. Other
  requests open the file only if none is open.
- `{"do": "rows", "columns", "group", "row"}`: answer with `{"rows": [JSON text…]}`, this row of the
  group and some of the following ones; null for a row that is too large.
- `{"do": "texts", "column", "groups"}`: answer with the first texts of a column in these row
  groups, and `{"do": "more"}` with the following ones: `{"chunks": [[packed, whether its text
  ends]…]}`, or no answer at the end.
- `{"do": "replace", "row", "values"}`: answer in the same way with the content of the file in which
  a row has other values in some columns.

The answer to any request may be `{"refused": reason}`.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
from pyarrow import types

from tokviz.process import limits
from tokviz.process.memory import mapped_bytes
from tokviz.process.protocol import Body, pack
from tokviz.training.corpus.parquet import DATA_MB, MOST_ROW_BYTES
from tokviz.training.corpus.storage import is_url, open_stored

_PART_BYTES = 1 << 20
_MOST_ROWS = 1 << 14


def answer(request: Body, state: dict[str, Any]) -> Iterator[Body]:
    """Answer one request of this job."""
    if "table" not in state:
        # The limit excludes the libraries. Their own allocator maps more memory than it uses.
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())
        mapped = os.path.getsize(request["path"]) if _is_arrow(request["path"]) else 0
        limits.allow_memory((mapped_bytes() + mapped >> 20) + DATA_MB)
    try:
        if request["do"] == "open" or "table" not in state:
            path = request["path"]
            state.pop("table", None)
            if _is_arrow(path):
                state["table"] = _Table(_ArrowFile(path))
            else:
                file = open_stored(path) if is_url(path) else path
                state["table"] = _Table(pyarrow.parquet.ParquetFile(file, pre_buffer=False))
        yield from state["table"].answer(request)
    except _NoPlaceError as error:
        yield {"refused": str(error)}
    except MemoryError:  # pyarrow's is called otherwise
        raise MemoryError from None
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        kind = "Arrow" if _is_arrow(request["path"]) else "Parquet"
        yield {"refused": f"is not a readable {kind} file: {error}"}


def _is_arrow(path: str) -> bool:
    return path.lower().endswith((".arrow", ".feather", ".ipc")) and not is_url(path)


class _ArrowFile:
    """An Arrow file or stream, mapped into memory, with the used methods of a `ParquetFile`."""

    def __init__(self, path: str) -> None:
        file = pyarrow.memory_map(path)
        is_stream = file.read(6) != b"ARROW1"
        file.seek(0)
        if is_stream:
            reader = pyarrow.ipc.open_stream(file)
            self._batches = list(reader)
        else:
            reader = pyarrow.ipc.open_file(file)
            self._batches = [reader.get_batch(n) for n in range(reader.num_record_batches)]
        self.schema_arrow = reader.schema
        groups = [SimpleNamespace(num_rows=len(it), total_byte_size=it.nbytes)
                  for it in self._batches]  # fmt: skip
        self.metadata = SimpleNamespace(
            num_row_groups=len(groups), row_group=lambda number: groups[number]
        )

    def iter_batches(
        self, size: int, groups: Iterable[int], columns: list[str], use_threads: bool
    ) -> Iterator[Any]:
        for number in groups:
            batch = self._batches[number].select(columns)
            yield from (batch.slice(at, size) for at in range(0, len(batch), size))


class _Table:
    """An open file, the current batch of rows, and the position in its texts."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._group = -1
        self._first = 0
        self._batch: Any = None
        self._batches: Iterator[Any] = iter(())
        self._texts: Iterator[Body] = iter(())

    def answer(self, request: Body) -> Iterator[Body]:
        """Answer a request."""
        match request["do"]:
            case "open":
                about = self._file.metadata
                sizes = [about.row_group(n).num_rows for n in range(about.num_row_groups)]
                schema = self._file.schema_arrow
                texts = [field for field in schema if _is_text(field.type)]
                yield {
                    "names": schema.names,
                    "texts": [field.name for field in texts],
                    "bytes": [field.name for field in texts if "binary" in str(field.type)],
                    "sizes": sizes,
                }
            case "rows":
                self._seek(request["columns"], request["group"], request["row"])
                yield {"rows": list(self._rows(request["row"] - self._first))}
            case "texts" | "replace" | "more":
                if request["do"] == "texts":
                    self._texts = self._texts_of(request["column"], request["groups"])
                elif request["do"] == "replace":
                    self._texts = self._with_row(request["row"], request["values"])
                for chunks in self._texts:
                    yield chunks
                    return

    def _read(self, columns: list[str], groups: Iterable[int]) -> Iterator[Any]:
        """Read batches of rows of about `_PART_BYTES`, if the file's metadata is correct."""
        for group in groups:
            claim = self._file.metadata.row_group(group)
            size = claim.num_rows * _PART_BYTES // max(claim.total_byte_size, 1)
            yield from self._file.iter_batches(
                max(1, min(_MOST_ROWS, size)), [group], columns, use_threads=False
            )

    def _seek(self, columns: list[str], group: int, row: int) -> None:
        """Read up to a row; rows are usually requested in order."""
        if group != self._group or row < self._first:
            self._group, self._first, self._batch = group, 0, None
            self._batches = self._read(columns, [group])
        while self._batch is None or row >= self._first + len(self._batch):
            self._first += 0 if self._batch is None else len(self._batch)
            self._batch = None  # free its memory before the next one is read
            self._batch = next(self._batches, None)
            if self._batch is None:
                self._group = -1
                raise ValueError("it has fewer rows than its metadata states")

    def _rows(self, index: int) -> Iterator[str | None]:
        left = _PART_BYTES
        for at in range(index, len(self._batch)):
            row = self._batch.slice(at, 1)
            text = None if row.nbytes > MOST_ROW_BYTES else _json(row)
            yield text if text is None or len(text) <= MOST_ROW_BYTES else None
            left -= len(text or "") + 1
            if left < 0:
                return

    def _with_row(self, row: int, values: dict[str, Any]) -> Iterator[Body]:
        if isinstance(self._file, _ArrowFile):
            raise _NoPlaceError("rows of an Arrow file cannot be replaced")
        sink, about = _Sink(), self._file.metadata
        groups = range(about.num_row_groups)
        codec = about.row_group(0).column(0).compression if groups and about.num_columns else "NONE"
        codec = "NONE" if codec == "UNCOMPRESSED" else codec
        schema = self._file.schema_arrow
        with pyarrow.parquet.ParquetWriter(sink, schema, compression=codec) as file:
            for group in groups:
                table = self._file.read_row_group(group, use_threads=False)
                if 0 <= row < len(table):
                    parts = table.slice(0, row), table.slice(row, 1), table.slice(row + 1)
                    table = pyarrow.concat_tables([parts[0], _changed(parts[1], values), parts[2]])
                row -= len(table)
                file.write_table(table, row_group_size=max(1, len(table)))
                yield sink.chunks()
        yield sink.chunks()

    def _texts_of(self, column: str, groups: list[int]) -> Iterator[Body]:
        chunks: list[tuple[str, bool]] = []
        n_bytes = 0
        for batch in self._read([column], groups):
            for text in batch.column(0).cast(pyarrow.large_binary()):
                view = memoryview(text.as_buffer() or b"")
                for start in range(0, len(view) or 1, _PART_BYTES):
                    part = view[start : start + _PART_BYTES]
                    chunks.append((pack(bytes(part)), start + _PART_BYTES >= len(view)))
                    n_bytes += len(part) + 1
                    if n_bytes > _PART_BYTES:
                        yield {"chunks": chunks}
                        chunks, n_bytes = [], 0
        if chunks:
            yield {"chunks": chunks}


class _NoPlaceError(Exception):
    """A column cannot hold a new value."""


class _Sink(io.RawIOBase):
    """A file whose written bytes are taken away in chunks."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        self._chunks.append(bytes(data))
        self._size += len(data)
        return len(data)

    def chunks(self) -> Body:
        """Return the bytes written since the last call as an answer."""
        data, self._chunks = b"".join(self._chunks), []
        starts = range(0, len(data) or 1, _PART_BYTES)
        return {"chunks": [(pack(data[start : start + _PART_BYTES]), True) for start in starts]}


def _changed(row: Any, values: dict[str, Any]) -> Any:
    """Return a table of one row with other values in some columns."""
    for name, value in values.items():
        index = row.schema.get_field_index(name)
        field = row.schema.field(index)
        is_json = _is_text(field.type) and isinstance(value, (list, dict))
        written = json.dumps(value, ensure_ascii=False) if is_json else value
        try:
            array = pyarrow.array([written], field.type)
        except (pyarrow.ArrowException, TypeError) as error:
            raise _NoPlaceError(f"its column {name!r} cannot hold {written!r}: {error}") from None
        lost = _lost(written, array.to_pylist()[0])
        if lost is not None:
            raise _NoPlaceError(f"its column {name!r} has no place for {lost!r}")
        row = row.set_column(index, field, array)
    return row


def _lost(value: Any, stored: Any) -> Any:
    """Return a key or value that a column did not store, or None."""
    if isinstance(value, dict) and isinstance(stored, dict):
        keys = (key for key in value if key not in stored and value[key] is not None)
        inner = (_lost(value[key], stored[key]) for key in value if key in stored)
        return next(chain(keys, (lost for lost in inner if lost is not None)), None)
    if isinstance(value, list) and isinstance(stored, list):
        inner = (_lost(*pair) for pair in zip(value, stored, strict=True))
        return next((lost for lost in inner if lost is not None), None)
    return None if value == stored else value


@cache
def _is_text(kind: Any) -> bool:
    try:
        pyarrow.array([], kind).cast(pyarrow.large_binary())
    except pyarrow.ArrowException:
        return False
    return True


def _json(row: Any) -> str:
    try:
        [value] = row.to_pylist()
    except (ValueError, OverflowError):
        fields = [field.with_type(_without_times(field.type)) for field in row.schema]
        [value] = pyarrow.Table.from_batches([row]).cast(pyarrow.schema(fields)).to_pylist()
    return json.dumps(value, default=str)


def _without_times(kind: Any) -> Any:
    """Replace times by numbers, because Python's lack nanoseconds and have a smaller range."""
    if types.is_temporal(kind):
        return pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_without_times(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind):
        return pyarrow.list_(_without_times(kind.value_type))
    return kind
