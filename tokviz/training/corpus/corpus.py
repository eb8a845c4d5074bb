"""The corpus to train on: files, folders, globs, standard input, or texts from Python.

The extension of a file's name chooses the reader of its documents.

| extension | content |
|---|---|
| `.jsonl`, `.ndjson` | a JSON object per line, the text in one of its fields |
| `.parquet` | a table, the text in one of its columns (needs pyarrow) |
| any other | one document, or several with delimiters between them |

All except `.parquet` may be compressed: `.gz`, `.zst` (needs zstandard). To add a kind, add an
entry to `READERS` or `OPENERS`.
"""

from __future__ import annotations

import glob
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from heapq import nlargest
from itertools import chain, groupby, islice
from pathlib import PurePath
from typing import Any, BinaryIO, TypeAlias, cast

from tokviz.errors import InputFileError, SpecialTokenError, missing_package
from tokviz.storage import json_file
from tokviz.storage.files import (
    MAX_FILE_BYTES,
    file_identity,
    input_error,
    is_pipe,
    looks_binary,
    reading,
)
from tokviz.storage.json_file import in_words
from tokviz.text import bytetext
from tokviz.training.corpus.storage import (
    Stored,
    choice_of,
    file_info,
    is_url,
    open_stored,
    urls_of,
)
from tokviz.training.corpus.text_blocks import (
    BLOCK_BYTES,
    REST,
    Chunk,
    TextBlock,
    capped,
    text_blocks,
)

_ZSTANDARD_STEP = 1 << 10  # a few bytes may expand to 128 KB

FIRST_READ = 1 << 16  # allocating more takes longer than reading a small file

Reader = Callable[[BinaryIO, str, str], Iterator[Chunk]]
"""`reader(file, path, field)` yields the documents of an open file."""


def read_documents(
    path: str, field: str, on_bytes: Callable[[int], None], n_bytes: int = 0
) -> Iterator[Chunk]:
    """Read the documents of a file.

    Args:
        path: A file or a named pipe.
        field: The field or column that contains the text, if the file has fields.
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
            for chunk in READERS.get(kind, _read_plain)(file, path, field):
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
    ".parquet": _read_parquet,
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


Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | Iterable[Path]

STANDARD_INPUT = "-"

DELIMITER = "<|endoftext|>"

MOST_TRACKED_FILES = 31
"""Number of largest files whose pre-tokens are counted separately, for attribution."""

_HEAD_BYTES = 8192


class Corpus:
    """Documents to train on, read once, a block at a time.

    Attributes:
        files: The files in the order in which they are read, each once even if it is named twice;
            "-" is standard input. Empty for texts from Python.
        left_out: The files of folders that are not read: binary files, pipes and dangling links.
        unreadable: Files that were not found, with the reasons, if these are skipped.
        stored: Size and change stamp of each file.
        delimiter: Text between documents; empty for none.
        field: The field or column that contains the text.
        tracked_files: Indexes of the files that are counted separately; empty for a single file.
        n_bytes_total: Size of all files on the disk; None if unknown.
        n_bytes_read: Bytes read so far, on the disk or in texts from Python.
        unmeasured: The current file if its amount of text is unknown, otherwise empty.
    """

    def __init__(
        self,
        source: Source,
        *,
        delimiter: str | None = DELIMITER,
        field: str = "text",
        max_chars: int | None = None,
        max_doc_chars: int | None = None,
        exclude: Iterable[str] = (),
        skip_unreadable: bool = False,
    ) -> None:
        """Find the files of a source, without reading them.

        Args:
            source: A path, several paths, or an iterable of str. A path may be a file, a folder
                (all text files in it that are not hidden, by name), a glob like `data/**/*.txt`,
                "-", or a URL of one of these, like `s3://bucket/data/*.jsonl`, which fsspec opens.
                A list of str is a list of paths if one of its first hundred items is a file or a
                glob that matches files, if all items are folders, or if all end like file names;
                pass `Path` objects, or an iterator for texts, to avoid ambiguity.
            delimiter: Text between documents; it is cut out. None or "" for none.
            field: The field of JSON lines and the column of tables that contains the text.
            max_chars: Limit of characters in total: the document that exceeds it is the last one.
            max_doc_chars: Limit of characters per document; the rest of it is left out.
            exclude: Files to leave out: paths, ends of paths, or globs like `*.min.js`.
            skip_unreadable: Leave out files that are not found, and record them in `unreadable`.

        Raises:
            InputFileError: If a file does not exist, or a folder or glob contains none.
        """
        paths, self._texts = _paths_or_texts(source)
        self.left_out: list[str] = []
        self.unreadable: list[tuple[str, str]] = []
        self._skips_unreadable = skip_unreadable
        unwanted = {*exclude}
        listed: list[str] = []
        for path in paths:
            with self._skipping_unreadable():
                listed += self._files_of(path)
        kept = [file for file in listed if file not in unwanted]
        kept = [file for file in kept if not any(map(PurePath(file).match, unwanted))]
        once = dict[object, str]()
        for file in kept:
            once.setdefault(file_identity(file), file)
        if listed and not once:
            raise InputFileError(listed[0], "is excluded, as all other files are")
        readable: dict[str, Stored] = {}
        for file in once.values():
            with self._skipping_unreadable():
                readable[file] = _info_of(file)
        if self.unreadable and not readable:
            raise InputFileError(*self.unreadable[0])
        self.files, self.stored = tuple(readable), [*readable.values()]
        for cap in (max_chars, max_doc_chars):
            if cap is not None and cap < 1:
                raise ValueError(f"a cap of {cap} characters leaves nothing to read")
        indexes = range(len(self.files) if len(self.files) > 1 else 0)
        # A file of unknown size may be the largest.
        sizes = [stored.n_bytes for stored in self.stored]
        weights = [float("inf") if size is None else size for size in sizes]
        self.tracked_files = frozenset(nlargest(MOST_TRACKED_FILES, indexes, weights.__getitem__))
        known = [size for size in sizes if size is not None]
        self.n_bytes_total = sum(known) if known and len(known) == len(self.files) else None
        self.n_bytes_read = 0
        self.unmeasured = ""
        self.delimiter = delimiter or ""
        self.field = field
        self._max_chars = max_chars
        self.max_doc_chars = max_doc_chars

    def why_sequential(self) -> str:
        """Return the reason why a single process must read the corpus; empty if workers can."""
        if self._max_chars is not None:
            return "a limit of all characters"
        if STANDARD_INPUT in self.files:
            return "standard input"
        return ""

    def text_blocks(self, special_tokens: Iterable[str] = ()) -> Iterator[TextBlock]:
        """Read all texts between special tokens and delimiters. The corpus can be read once.

        Raises:
            InputFileError: If a file cannot be read.
            SpecialTokenError: If a special token is empty.
        """
        specials = [encode(token) for token in special_tokens]
        if b"" in specials:
            raise SpecialTokenError("a special token is empty")
        blocks = self._blocks(specials, encode(self.delimiter))
        return capped(blocks, self._max_chars, self.max_doc_chars)

    def texts(self) -> Iterator[bytes]:
        """Iterate over the texts from Python, once."""
        for text in self._texts:
            if not isinstance(text, str):
                raise TypeError(f"a text is a str, not {type(text).__name__}")
            yield encode(text)

    @contextmanager
    def _skipping_unreadable(self) -> Iterator[None]:
        """Record an unreadable file instead of raising the error if these are skipped."""
        try:
            yield
        except InputFileError as error:
            if not self._skips_unreadable:
                raise
            self.unreadable.append((error.path, error.reason))

    def _blocks(self, specials: list[bytes], delimiter: bytes) -> Iterator[TextBlock]:
        """Read texts, then files; a block never mixes a tracked file with other files.

        A document ends with its file, so this does not change the texts.
        """
        yield from text_blocks(self._chunks_of_texts(), specials, delimiter)
        indexes = range(len(self.files))
        for file, group in groupby(indexes, lambda i: i if i in self.tracked_files else REST):
            chunks = chain.from_iterable(map(self._chunks_of_file, group))
            for block in text_blocks(chunks, specials, delimiter):
                block.file = file
                yield block

    def _files_of(self, path: Path) -> list[str]:
        name = os.fspath(path)
        if name == STANDARD_INPUT:
            return [name]
        if is_url(name):
            return urls_of(name)
        if os.path.isdir(name):
            return _files_in(name, self.left_out.append)
        if glob.has_magic(name) and not os.path.lexists(name):
            matches = sorted(match for match in _matches(name) if not os.path.isdir(match))
            if not matches:
                raise InputFileError(name, "matches no file")
            return matches
        return [name]

    def _chunks_of_texts(self) -> Iterator[Chunk]:
        for data in self.texts():
            self.n_bytes_read += len(data)
            yield data, True

    def _chunks_of_file(self, index: int) -> Iterator[Chunk]:
        file, size = self.files[index], self.stored[index].n_bytes
        before = self.n_bytes_read
        if file == STANDARD_INPUT:
            yield from self._standard_input()
            return
        self.unmeasured = file if size is None or is_packed(file) else ""

        def advance(position: int) -> None:
            self.n_bytes_read = before + position

        yield from read_documents(file, self.field, advance, size or 0)
        if size is not None:
            self.n_bytes_read = before + size

    def _standard_input(self) -> Iterator[Chunk]:
        self.unmeasured = "standard input"
        if sys.stdin is None:
            raise InputFileError(self.unmeasured, "it is closed")
        with reading(self.unmeasured):
            for data, ends_document in read_stream(sys.stdin.buffer):
                self.n_bytes_read += len(data)
                yield data, ends_document


def _paths_or_texts(source: Source) -> tuple[list[Path], Iterable[str]]:
    if isinstance(source, (str, os.PathLike)):
        return [source], ()
    if isinstance(source, (list, tuple, set, frozenset)):
        listed = list(source)
        return (listed, ()) if _are_paths(listed) else ([], listed)
    # The first item decides; str from an iterator are texts.
    items = iter(source)
    head = list(islice(items, 1))
    if head and isinstance(head[0], os.PathLike):
        return [*head, *items], ()
    return [], (os.fspath(item) for item in chain(head, items))


def _are_paths(items: Sequence[Path]) -> bool:
    if any(isinstance(item, os.PathLike) for item in items):
        return True
    sample = [item for item in items[:100] if isinstance(item, str)]
    if any(map(_names_a_file, sample)):
        return True
    return bool(items) and (all(map(os.path.isdir, items)) or all(map(_looks_like_a_path, sample)))


def _looks_like_a_path(text: str) -> bool:
    """Return whether a text that names no existing file looks like a file name."""
    is_path = is_url(text) or text.endswith((".txt", *READERS, *OPENERS))
    return is_path and len(text.split()) == 1


def _names_a_file(text: str) -> bool:
    if text == STANDARD_INPUT or os.path.isfile(text):
        return True
    return len(text) < 1000 and glob.has_magic(text) and any(map(os.path.isfile, _matches(text)))


def _matches(pattern: str) -> Iterator[str]:
    return glob.iglob(pattern, recursive=True)


def _files_in(folder: str, left_out: Callable[[str], object]) -> list[str]:
    try:
        files = list(files_of_text(folder, left_out))
    except OSError as error:
        raise input_error(error.filename or folder, error) from None
    if not files:
        raise InputFileError(folder, "holds no text file")
    return files


def files_of_text(folder: str, left_out: Callable[[str], object]) -> Iterator[str]:
    """Find the files in a folder that training reads: text files that are not hidden.

    Args:
        folder: The folder.
        left_out: Called with every file that looks binary, or is a pipe or a dangling link.

    Raises:
        OSError: If a folder cannot be listed.
    """

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if name[0] != "."):
            file = os.path.join(parent, name)
            if _is_text(file):
                yield file
            else:
                left_out(file)


def _is_text(file: str) -> bool:
    """Return whether a file in a folder is read; binaries, pipes and dangling links are not."""
    if is_pipe(file) or not os.path.exists(file):
        return False
    if not os.path.isfile(file) or file.lower().endswith((*READERS, *OPENERS)):
        return True
    try:
        with open(file, "rb") as opened:
            return not looks_binary(opened.read(_HEAD_BYTES))
    except OSError:
        return True  # reading it reports the error


def _info_of(file: str) -> Stored:
    if file == STANDARD_INPUT:
        return Stored(None, False, "")
    info = file_info(file)
    if info.is_folder:
        raise InputFileError(file, "is a folder, not a file")
    return info
