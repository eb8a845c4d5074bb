r"""Files of conversations of any size, with random access to rows, which are read lazily.

>>> rows = Dataset.from_bytes("rows.jsonl", b'[{"role": "user", "content": "Hi"}]\n{"mess\n')
>>> rows.n_rows
2
>>> rows.row(0).messages[0].text
'Hi'
>>> rows.preview(1)
'line 2, column 2: this is not JSON: the string that starts here has no closing quote'
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
import threading
import zlib
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, islice
from typing import Any, BinaryIO, ClassVar, cast

import numpy as np
import numpy.typing as npt

from tokviz.chat.conversation import CONVERSATION_EXTRA_FIELDS, SOURCE_KEYS, Conversation
from tokviz.chat.dataset_rows import edited_row, edited_value, values_in
from tokviz.chat.dataset_shapes import SHAPES, shape_of
from tokviz.chat.json_text import loads
from tokviz.chat.messages import MEDIA_KEYS, ConversationError, is_message
from tokviz.chat.rendering import DEFAULT_MAX_TOKENS
from tokviz.errors import InputFileError
from tokviz.process.runner import raise_if_stopped
from tokviz.storage.files import MAX_FILE_BYTES, input_error, read_file, reading
from tokviz.text import bytetext
from tokviz.training.corpus.parquet import MOST_ROW_BYTES, ParquetTable
from tokviz.training.corpus.readers import OPENERS

_OTHER_NAMES = {"conversation": "conversations"}
"""Alternative names of columns, and the name of each here."""

_BESIDE = frozenset({*CONVERSATION_EXTRA_FIELDS, "input", *SOURCE_KEYS}.difference(MEDIA_KEYS))
"""Columns of a table to keep in any shape; excludes images, video and audio."""

TOKEN_MASKS = ("assistant_masks", "completion_mask", "loss_mask")
"""Columns of tokenized rows that are 1 where a token is in the loss."""

_TOKEN_COLUMNS = ("input_ids", "attention_mask", "labels", "position_ids", *TOKEN_MASKS)

_LOOKED_AT = 1 << 20
"""Bytes to search for rows at a time."""

_VISIBLE = ~np.isin(np.arange(256), np.frombuffer(b" \t\n\r\v\f", np.uint8))

_MOST_TIMES = 200
"""The largest ratio of decompressed to compressed size; for texts it is about 10."""

_PREVIEW_CHARS = 200


class Dataset(ABC):
    """Rows of a file, each a conversation or an error. Safe in any thread.

    Attributes:
        path: The file, as the user gave it.
        n_rows: Rows known so far.
        complete: Whether all rows are known; always true for a file that is read as a whole.
        is_single: Whether the file is one JSON value, which is a conversation.
        notes: Guesses about the file, in sentences.
    """

    path = ""
    n_rows = 0
    complete = True
    is_single = False
    notes: tuple[str, ...] = ()

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Dataset:
        """Open JSONL, JSON or parquet; `.gz` and `.zst` of the first two.

        Lines of JSONL are found lazily: `index_more` finds some, `index_all` all.

        Raises:
            InputFileError: If the file cannot be read.
            ConversationError: If it is invalid JSON other than JSONL; it names line and column.
        """
        rows = _opened(os.fspath(path))
        rows.path = os.fspath(path)
        return rows

    @staticmethod
    def from_bytes(name: str, data: bytes) -> Dataset:
        """Make a dataset of the bytes of a file; see `open`."""
        rows = _rows_in(data, os.path.splitext(name)[1])
        rows.path = name
        rows.index_all()
        return rows

    @abstractmethod
    def value(self, row: int) -> tuple[Any, bool]:
        """Return a row's JSON, and whether its texts are byte text; raise `ConversationError`."""

    def _find_more(self) -> None:  # noqa: B027  a file that is read as a whole knows all rows
        """Find some more rows."""

    def index_more(self) -> bool:
        """Find some more rows, in a few milliseconds; False if all are known."""
        self._find_more()
        return not self.complete

    def index_all(self) -> None:
        """Find all rows."""
        while self.index_more():
            pass

    def has_row(self, row: int) -> bool:
        """Return whether a row exists; finds rows up to it."""
        while row >= self.n_rows and self.index_more():
            pass
        return 0 <= row < self.n_rows

    def row(self, row: int) -> Conversation:
        """Read a row, counted from 0.

        Raises:
            ConversationError: If it is not a conversation; it names the line, the message, the key.
            IndexError: If there is no such row.
        """
        if not self.has_row(row):
            raise IndexError(f"row {row + 1:,} of {self.n_rows:,}")
        with self.located(row):
            value, byte_text = self.value(row)
            return Conversation.from_json(value, byte_text=byte_text)

    @contextmanager
    def located(self, row: int) -> Iterator[None]:
        """Add the place of a row, counted from 0, to a `ConversationError` without it."""
        try:
            yield
        except ConversationError as error:
            place = self.place(row)
            raise error if str(error).startswith(place) else error.at(place) from None

    def place(self, row: int) -> str:
        """Return a row's place in the file, such as "line 12", counted from 1."""
        return f"row {row + 1:,}"

    def n_bytes(self, row: int) -> int:
        """Return the size of a row's JSON in bytes; 0 if it is unknown."""
        return 0

    def raw(self, row: int) -> bytes:
        """Return a row as in a text file, or as JSON."""
        value = json.dumps(self.value(row)[0], ensure_ascii=False, default=str)
        return value.encode("utf-8", "surrogatepass")

    def digest(self, row: int) -> str:
        """Return a digest of a row, to recognize the row in a file that may have changed."""
        return blake2b(self.raw(row), digest_size=12).hexdigest()

    def with_row(self, row: int, conversation: Conversation) -> Iterator[bytes]:
        """Yield the content of the file with a row replaced; all other rows keep their bytes.

        The row keeps its shape, its other keys and its formatting.

        Raises:
            ConversationError: If the file cannot hold the conversation.
        """
        raise ConversationError(f"a row of {self.path} cannot be replaced")

    def preview(self, row: int) -> str:
        """Return the start of a row's first text, or its error, as one line of byte text."""
        try:
            conversation = self.row(row)
        except ConversationError as error:
            return str(error)
        spoken = (m for m in conversation.messages if m.role not in ("system", "developer"))
        first = next((m.text for m in spoken if m.text.strip()), "(nothing is said)")
        return " ".join(first[: 2 * _PREVIEW_CHARS].split())[:_PREVIEW_CHARS]


class JsonLines(Dataset):
    """Rows of JSON Lines: one JSON value per line; blank lines are not rows."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        """Create a dataset of the bytes of a file."""
        self._data = data
        self._starts = array("Q")
        self._lines = array("Q")
        self._at = 0
        self._line = 0
        self._lock = threading.Lock()
        self.complete = not len(data)

    def _find_more(self) -> None:
        with self._lock:
            at, data = self._at, self._data
            if self.complete:
                return
            end = data.rfind(b"\n", at, at + _LOOKED_AT) + 1 or data.find(b"\n", at) + 1
            end = end or len(data)
            if end - at <= _LOOKED_AT:
                self._find_rows(np.frombuffer(data[at:end], np.uint8))
            else:  # one long line
                self._line += 1
                if data[at : at + _LOOKED_AT].strip() or data[at:end].strip():
                    self._starts.append(at)
                    self._lines.append(self._line)
            self._at = end
            self.n_rows = len(self._starts)
            self.complete = end >= len(data)

    def _find_rows(self, lines: npt.NDArray[np.uint8]) -> None:
        """Find those of the next lines that are not blank."""
        starts = np.concatenate(([0], np.flatnonzero(lines[:-1] == ord("\n")) + 1))
        rows = np.flatnonzero(np.logical_or.reduceat(_VISIBLE[lines], starts))
        self._starts.frombytes((self._at + starts[rows]).astype(np.uint64).tobytes())
        self._lines.frombytes((self._line + 1 + rows).astype(np.uint64).tobytes())
        self._line += len(starts)

    def value(self, row: int) -> tuple[Any, bool]:
        """Parse a line."""
        with memoryview(self._data)[self._starts[row] : self._end(row)] as line:
            return loads(line, self._lines[row])

    def place(self, row: int) -> str:
        """Name the line, counted from 1."""
        return f"line {self._lines[row]:,}"

    def n_bytes(self, row: int) -> int:
        """Return the length of the line."""
        return self._end(row) - self._starts[row]

    def raw(self, row: int) -> bytes:
        """Return the line without its line break."""
        return self._data[self._starts[row] : self._end(row)]

    def with_row(self, row: int, conversation: Conversation) -> Iterator[bytes]:
        """Yield the lines before, the new line, and the lines after."""
        new = edited_row(self.raw(row), conversation)
        yield from self._blocks(0, self._starts[row])
        yield new
        yield from self._blocks(self._end(row), len(self._data))

    def _blocks(self, start: int, end: int) -> Iterator[bytes]:
        for at in range(start, end, _LOOKED_AT):
            raise_if_stopped()
            yield self._data[at : min(end, at + _LOOKED_AT)]

    def _end(self, row: int) -> int:
        end = self._data.find(b"\n", self._starts[row])
        return len(self._data) if end < 0 else end


class JsonValues(Dataset):
    """Values of one JSON text, parsed at once."""

    def __init__(
        self, values: list[Any], byte_text: bool, whole: Any = None, data: bytes = b""
    ) -> None:
        """Create a dataset of values.

        Args:
            values: The rows.
            byte_text: Whether their texts are byte text.
            whole: The value that contains the rows.
            data: Its JSON; without it, rows cannot be replaced.
        """
        self._values = values
        self._byte_text = byte_text
        self._whole, self._data = whole, data
        self.n_rows = len(values)
        self.is_single = self.n_rows == 1 and self._values[0] is self._whole

    def value(self, row: int) -> tuple[Any, bool]:
        """Return a value."""
        return self._values[row], self._byte_text

    def with_row(self, row: int, conversation: Conversation) -> Iterator[bytes]:
        """Yield the text before the value, the new value, and the text after."""
        if not self._data:
            yield from super().with_row(row, conversation)
        text = bytetext.from_bytes(self._data)
        start, end = 0, len(text)
        if not self.is_single:
            top = text.index("[" if self._values is self._whole else "{")
            if self._values is not self._whole:
                key = next(n for n, it in enumerate(self._whole.values()) if it is self._values)
                top = next(islice(values_in(text, top), key, None))[0]
            start, end = next(islice(values_in(text, top), row, None))
        line = text.rfind("\n", 0, start) + 1
        indent = text[line:start] if text[line:start].isspace() else ""
        before, old, after = map(bytetext.to_bytes, (text[:start], text[start:end], text[end:]))
        yield from (before, edited_row(old, conversation, indent), after)


class ParquetRows(Dataset):
    """Rows of a parquet or Arrow file, read by row groups."""

    def __init__(self, path: str) -> None:
        """Open the file.

        Raises:
            InputFileError: If it cannot be read or has no column of messages.
        """
        self._table = ParquetTable(path)
        names = self._table.columns.names
        wanted = {name for shape in SHAPES.values() for name in shape.columns} | {*_BESIDE}
        self._columns = [name for name in names if _OTHER_NAMES.get(name, name) in wanted]
        given = {_OTHER_NAMES.get(name, name) for name in self._columns}
        is_known = any(shape.columns and given >= {*shape.columns} for shape in SHAPES.values())
        if not is_known and "input_ids" in names:
            self._columns = [name for name in names if name in _TOKEN_COLUMNS]
        elif not is_known:
            found = ", ".join(map(repr, names[:8]))
            raise InputFileError(path, f"has no column 'messages'; its columns are {found}")
        self._ends = list(accumulate(self._table.sizes))
        self.n_rows = sum(self._table.sizes)
        self._lock = threading.Lock()
        self._first = 0
        self._rows: list[Any] = []

    def value(self, row: int) -> tuple[Any, bool]:
        """Read a row."""
        return _from_table(self._record(row)), False

    def with_row(self, row: int, conversation: Conversation) -> Iterator[bytes]:
        """Yield a new file; only the columns of the conversation change."""
        old = self.value(row)[0]
        new = edited_value(old, conversation)
        columns = {_OTHER_NAMES.get(column, column): column for column in self._columns}
        for key in new:
            if key not in columns:
                raise ConversationError("the table has no such column", key=key)
        values = {
            columns[key]: new.get(key)
            for key in dict.fromkeys([*old, *new])
            if repr(new.get(key)) != repr(old.get(key))
        }
        yield from self._table.with_row(row, values)

    def _record(self, row: int) -> Mapping[str, Any]:
        with self._lock:
            if not self._first <= row < self._first + len(self._rows):
                group = bisect_right(self._ends, row)
                start = self._ends[group - 1] if group else 0
                try:
                    self._rows = self._table.rows(group, row - start, self._columns)
                except InputFileError as error:
                    raise ConversationError(f"row {row + 1:,} cannot be read: {error}") from None
                self._first = row
            record = self._rows[row - self._first]
        if record is None:
            raise ConversationError(f"row {row + 1:,} has more than {MOST_ROW_BYTES:,} bytes")
        return cast(Mapping[str, Any], record)


def _from_table(record: Mapping[str, Any]) -> Any:
    """Return a conversation from a table's row: drop empty columns, and parse columns of JSON."""
    lists = {shape.list_key for shape in SHAPES.values()}
    value = {}
    for column, item in record.items():
        if item is None:
            continue
        name = _OTHER_NAMES.get(column, column)
        if isinstance(item, str) and (name in lists or name == "tools"):
            try:
                item = loads(item.encode("utf-8", "surrogatepass"))[0]
            except ConversationError:
                if name != "tools":
                    raise
        has_messages = name in lists or (isinstance(item, list) and name not in _BESIDE)
        value[name] = _without_nulls(item) if has_messages else item
    return value


def _without_nulls(item: Any) -> Any:
    """Remove the null values that a table adds to every message."""
    if isinstance(item, list):
        return [_without_nulls(each) for each in item]
    if isinstance(item, Mapping):
        return {key: _without_nulls(each) for key, each in item.items() if each is not None}
    return item


# -- opening


SOURCES: dict[str, Callable[[str], Dataset]] = {
    ".parquet": ParquetRows,
    ".arrow": ParquetRows,
    ".feather": ParquetRows,
    ".ipc": ParquetRows,
}
"""File types other than JSON, by file name extension. To add one, add an entry."""


def is_plain_text(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is JSON or JSON Lines without compression, to be written in place."""
    ending = os.path.splitext(os.fspath(path).lower())[1]
    return ending not in SOURCES and ending not in OPENERS


def _opened(path: str) -> Dataset:
    """Open a file by its extension and its first bytes."""
    stem, ending = os.path.splitext(path.lower())
    if ending in SOURCES:
        return SOURCES[ending](path)
    if ending in OPENERS:
        return _rows_in(_decompressed(path, ending), os.path.splitext(stem)[1])
    return _rows_in(_mapped(path), ending)


def _rows_in(data: bytes | mmap.mmap, ending: str) -> Dataset:
    """Find the rows of JSON or JSON Lines, regardless of the file's name."""
    line = data.find(b"\n")
    if (len(data) if line < 0 else line) > MAX_FILE_BYTES:
        raise ConversationError(f"line 1: a row has {MAX_FILE_BYTES:,} bytes at most")
    if _is_lines(data, ending):
        return JsonLines(data)
    if len(data) > MAX_FILE_BYTES:
        raise ConversationError(
            f"more than {MAX_FILE_BYTES:,} bytes of JSON in one piece; write a line for each row"
        )
    text = data[:]
    value, byte_text = loads(text)
    return JsonValues(_rows_of(value), byte_text, value, text)


def _is_lines(data: bytes | mmap.mmap, ending: str) -> bool:
    """Return whether data is JSON Lines: its first line is JSON, and more lines follow."""
    start = _first_not_blank(data, 0)
    end = data.find(b"\n", start)
    only_line = end < 0 or _first_not_blank(data, end) == len(data)
    is_lines = ending in (".jsonl", ".ndjson")
    if only_line:
        return is_lines
    try:
        loads(data[start:end])
    except ConversationError:
        # One JSON text over many lines has one of these in its first line.
        return is_lines and data[start:end].strip() not in (b"{", b"[")
    return True


def _first_not_blank(data: bytes | mmap.mmap, start: int) -> int:
    while start < len(data):
        block = data[start : start + 4096]
        rest = block.lstrip()
        if rest:
            return start + len(block) - len(rest)
        start += len(block)
    return len(data)


def _rows_of(value: Any) -> list[Any]:
    """Find the conversations in a parsed JSON text."""
    if isinstance(value, list):
        is_one = value and is_message(value[0]) and shape_of(value[0]) is None
        return [value] if is_one else value
    if isinstance(value, Mapping) and shape_of(value) is None:
        for item in value.values():
            if isinstance(item, list) and item and isinstance(item[0], (list, Mapping)):
                return item
    return [value]


def _mapped(path: str) -> bytes | mmap.mmap:
    with reading(path), open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return read_file(path)  # the file is empty, or an endless device
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _decompressed(path: str, ending: str) -> bytes | mmap.mmap:
    """Decompress into an unnamed temporary file, for random access to rows."""
    try:
        with open(path, "rb", buffering=0) as raw, tempfile.TemporaryFile() as plain:
            most = MAX_FILE_BYTES + _MOST_TIMES * os.fstat(raw.fileno()).st_size
            unpacked = OPENERS[ending](cast(BinaryIO, raw), path)
            while block := unpacked.read(1 << 20):
                raise_if_stopped()
                plain.write(block)
                if plain.tell() > most:
                    reason = f"unpacks to more than {_MOST_TIMES} times its size: not to rows"
                    raise InputFileError(path, reason)
            plain.flush()
            if plain.tell() == 0:
                return b""
            return mmap.mmap(plain.fileno(), 0, access=mmap.ACCESS_READ)
    except (EOFError, zlib.error) as error:
        raise InputFileError(path, f"is damaged: {error}") from None
    except (OSError, ValueError) as error:
        raise input_error(path, error) from None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A file of conversations and how to render it.

    Attributes:
        path: The file.
        template: The name of a template, or the path of a file with a Jinja template; "" for the
            tokenizer's own.
        max_tokens: The number of tokens to keep of a rendering.
        variables: Values for variables of a Jinja template.
        specials: The policy for special tokens; None for that of the template.
    """

    screen: ClassVar[str] = "chat"

    path: str
    template: str = ""
    max_tokens: int = DEFAULT_MAX_TOKENS
    variables: Mapping[str, Any] | None = None
    specials: str | None = None
