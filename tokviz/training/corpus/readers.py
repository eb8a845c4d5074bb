"""Readers of documents from files, chosen by the extension of the file's name.

| extension | content |
|---|---|
| `.jsonl`, `.ndjson` | a JSON object per line, the text in one of its fields |
| `.parquet` | a table, the text in one of its columns (needs pyarrow) |
| any other | one document, or several with delimiters between them |

All except `.parquet` may be compressed: `.gz`, `.zst` (needs zstandard). To add a kind, add an
entry to `READERS` or `OPENERS`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, BinaryIO, cast

from tokviz.errors import InputFileError, missing_package
from tokviz.storage import json_file
from tokviz.storage.files import MAX_FILE_BYTES, input_error, looks_binary
from tokviz.storage.json_file import in_words
from tokviz.text import bytetext
from tokviz.training.corpus.storage import choice_of, open_stored
from tokviz.training.corpus.text_blocks import BLOCK_BYTES, Chunk

_ZSTANDARD_STEP = 1 << 10  # a few bytes may expand to 128 KB

TABLE = ".parquet"

FIRST_READ = 1 << 16  # allocating more takes longer than reading a small file

Reader = Callable[[BinaryIO, str, str], Iterator[Chunk]]
"""`reader(file, path, field)` yields the documents of an open file."""


class BinaryFileError(InputFileError):
    """A file that looks binary is not read as text."""


def read_texts(
    path: str, field: str | None = None, *, any_content: bool = True
) -> Iterator[Iterator[bytes]]:
    """Yield the documents of a file, each in blocks; read a document before the next one.

    Args:
        path: A file.
        field: The field or column that contains the text. None for "text" in tables; a file of
            JSON lines is then a single document with the whole file.
        any_content: Whether to read files that look binary, and tables although `field` is None.

    Raises:
        BinaryFileError: If the file looks binary and `any_content` is False.
        InputFileError: If it cannot be read.
    """
    kind = kind_of(path)
    if kind not in READERS or (field is None and kind != TABLE):
        yield _read_whole(path, any_content)
        return
    if field is None and not any_content:
        raise BinaryFileError(path, "is a table: choose a column with --field")
    gathered: list[bytes] = []
    for data, is_end in read_documents(path, field or "text", lambda position: None):
        gathered.append(data)
        if is_end:
            yield iter(gathered)
            gathered = []


def _read_whole(path: str, any_content: bool) -> Iterator[bytes]:
    for data, _ in read_documents(path, None, lambda position: None):
        if not any_content and looks_binary(data):
            raise BinaryFileError(path, "looks binary")
        any_content = True
        yield data


def read_documents(
    path: str, field: str | None, on_bytes: Callable[[int], None], n_bytes: int = 0
) -> Iterator[Chunk]:
    """Read the documents of a file.

    Args:
        path: A file or a named pipe.
        field: The field or column that contains the text, if the file has fields; None to read it
            as plain text.
        on_bytes: Called with the position in the file on the disk, before every chunk.
        n_bytes: The size of the file when the corpus was listed.

    Raises:
        InputFileError: If it cannot be read to its end, or is shorter than `n_bytes`; the chunks
            before that have been yielded.
    """
    kind, opener = _kind_of(path)
    try:
        with open_stored(path) as raw:
            file = opener(raw, path)
            seekable = raw.seekable()
            reader = _read_plain if field is None else READERS.get(kind, _read_plain)
            for chunk in reader(file, path, field or ""):
                if seekable:
                    on_bytes(raw.tell())
                yield chunk
            if seekable and not raw.closed and raw.tell() < n_bytes:
                reason = f"was truncated while it was read: {raw.tell():,} of {n_bytes:,} bytes"
                raise InputFileError(path, f"{reason} are left")
    except (EOFError, zlib.error) as error:
        raise InputFileError(path, f"is damaged: {error}") from None
    except OSError as error:
        raise input_error(path, error) from None


@contextmanager
def unpacked(path: str) -> Iterator[BinaryIO]:
    """Open a file, decompressed if it is compressed.

    Raises:
        InputFileError: If the package for its compression is not installed.
        OSError: If it cannot be opened.
    """
    _, opener = _kind_of(path)
    with open_stored(path) as raw:
        yield opener(raw, path)


def read_stream(file: BinaryIO) -> Iterator[Chunk]:
    """Read plain text from an open stream."""
    return _read_plain(file, "-", "")


def encode(text: str) -> bytes:
    """Encode a text as UTF-8; lone surrogates become U+FFFD."""
    return bytetext.replace_surrogates(text)[0].encode()


def _read_plain(file: BinaryIO, path: str, field: str) -> Iterator[Chunk]:
    n_bytes = FIRST_READ
    while data := file.read(n_bytes):
        yield data, False
        n_bytes = min(2 * n_bytes, BLOCK_BYTES)
    yield b"", True


def read_json_lines(
    file: BinaryIO, path: str, field: str, first_number: int = 1
) -> Iterator[Chunk]:
    """Yield the texts of JSON lines; `first_number` is the number of the first line."""
    lines = io.BufferedReader(cast(Any, file), BLOCK_BYTES)
    next_line = partial(lines.readline, MAX_FILE_BYTES + 1)
    for number, line in enumerate(iter(next_line, b""), first_number):
        if len(line) > MAX_FILE_BYTES:
            reason = f"line {number}: a row has {MAX_FILE_BYTES:,} bytes at most"
            raise InputFileError(path, reason)
        if not line.isspace():
            yield _text_of_line(line, path, number, field), True
    lines.detach()  # otherwise the file is closed together with its buffer


def _text_of_line(line: bytes, path: str, number: int, field: str) -> bytes:
    try:
        is_valid = True
        record = json_file.loads(line)
    except UnicodeDecodeError:
        is_valid = False
        record = _loads(bytetext.from_bytes(line), path, number)
    except (ValueError, RecursionError):
        record = _loads(line, path, number)
    if not isinstance(record, dict) or field not in record:
        raise InputFileError(path, f"line {number} has no field {field!r}; {_fields_of(record)}")
    text = record[field]
    if text is None:
        return b""
    if not isinstance(text, str):
        raise InputFileError(path, f"line {number}: the field {field!r} is not text")
    if is_valid:
        return encode(text)
    return bytetext.to_bytes(bytetext.as_byte_text(text))


def _loads(line: str | bytes, path: str, number: int) -> Any:
    try:
        return json_file.loads(line)
    except (ValueError, RecursionError) as error:
        problem = " is not JSON" if isinstance(error, json.JSONDecodeError) else ""
        raise InputFileError(path, f"line {number}{problem}: {in_words(error)}") from None


def _fields_of(record: object) -> str:
    if not isinstance(record, dict):
        return "it is not an object"
    return choice_of("field", record) if record else "it is empty"


def _read_parquet(file: BinaryIO, path: str, field: str) -> Iterator[Chunk]:
    from tokviz.training.corpus.parquet import ParquetTable  # imports the job client

    with closing(ParquetTable(path)) as table:
        n_bytes, n_rows, n_read = file.seek(0, os.SEEK_END), sum(table.sizes), 0
        for chunk in table.texts(field):
            n_read += chunk[1]
            file.seek(n_bytes * n_read // max(n_rows, 1))  # the position is reported as progress
            yield chunk


def _open_plain(raw: BinaryIO, path: str) -> BinaryIO:
    return raw


def _open_gzip(raw: BinaryIO, path: str) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=raw))


def _open_zstandard(raw: BinaryIO, path: str) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        raise InputFileError(path, missing_package("zstandard")) from None
    make_decoder = zstandard.ZstdDecompressor().decompressobj
    return cast(BinaryIO, _Zstandard(raw, make_decoder, zstandard.ZstdError))


class _Zstandard(io.RawIOBase):
    """The content of a zstandard file, which may have several frames.

    zstandard's own reader does not detect a truncated file.
    """

    def __init__(
        self, raw: BinaryIO, make_decoder: Callable[[], Any], error: type[Exception]
    ) -> None:
        self._raw = raw
        self._make_decoder = make_decoder
        self._decoder: Any = None
        self._error = error
        self._compressed = b""
        self._content = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._content:
            self._compressed = self._compressed or self._raw.read(_ZSTANDARD_STEP)
            if not self._compressed:
                if self._decoder is not None:
                    raise EOFError("it is truncated")
                return 0
            self._content = memoryview(self._next_content())
        n = min(len(buffer), len(self._content))
        buffer[:n] = self._content[:n]
        self._content = self._content[n:]
        return n

    def _next_content(self) -> bytes:
        self._decoder = self._decoder or self._make_decoder()
        try:
            content: bytes = self._decoder.decompress(self._compressed)
        except self._error as error:
            raise EOFError(str(error)) from None
        self._compressed = self._decoder.unused_data if self._decoder.eof else b""
        if self._decoder.eof:
            self._decoder = None
        return content


READERS: dict[str, Reader] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    TABLE: _read_parquet,
}
"""Readers of files with fields, by extension."""

OPENERS: dict[str, Callable[[BinaryIO, str], BinaryIO]] = {
    ".gz": _open_gzip,
    ".zst": _open_zstandard,
}
"""Functions that open compressed files, by extension."""


def kind_of(path: str) -> str:
    """Return the extension of a file's name, without that of a compression."""
    return _kind_of(path)[0]


def is_packed(path: str) -> bool:
    """Return whether a file is compressed and can be read only from its start."""
    return _kind_of(path)[1] is not _open_plain


def _kind_of(path: str) -> tuple[str, Callable[[BinaryIO, str], BinaryIO]]:
    """Return a file's extension without that of a compression, and the function to open it."""
    stem, ending = os.path.splitext(path.lower())
    opener = OPENERS.get(ending)
    if opener is None:
        return ending, _open_plain
    return os.path.splitext(stem)[1], opener
