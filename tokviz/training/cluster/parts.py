"""Parts of a corpus that can be counted independently, with the same result as the whole.

A large file is cut where a pre-token ends regardless of the surrounding text, outside of special
tokens. The surrounding bytes determine such a place, so the workers that count the parts on both
sides find the same one.
"""

from __future__ import annotations

import io
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple, cast

from tokviz.errors import InputFileError
from tokviz.storage.files import is_pipe, reading
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.scan import scanner_of
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.corpus.parquet import ParquetTable
from tokviz.training.corpus.readers import (
    READERS,
    is_packed,
    kind_of,
    read_documents,
    read_json_lines,
)
from tokviz.training.corpus.storage import open_stored
from tokviz.training.corpus.text_blocks import REST, Chunk

_WINDOW = 1 << 16
_BLANK = re.compile(rb"(?<=[A-Za-z])(?= )")
_LINE = re.compile(rb"(?<=\n)")


class Rules(NamedTuple):
    """Rules for reading and cutting a corpus.

    Attributes:
        pattern: The split pattern.
        specials: Special tokens, which are cut out of the texts.
        delimiter: Text between documents, which is cut out too; empty for none.
        field: The field or column that contains the text.
        skip_unreadable: Leave out the unreadable rest of a file, and record the file.
        max_doc_chars: Limit of characters per document; None for no limit. With a limit, a text is
            cut only between documents.
    """

    pattern: SplitPattern
    specials: tuple[bytes, ...]
    delimiter: bytes
    field: str
    skip_unreadable: bool = False
    max_doc_chars: int | None = None

    def cut_texts(self) -> list[bytes]:
        """Return all texts that are cut out."""
        return [text for text in {*self.specials, self.delimiter} if text]

    def cut_at_blanks(self) -> bool:
        """Return whether a plain text may be cut at spaces."""
        scanner = scanner_of(self.pattern)
        return self.max_doc_chars is None and scanner is not None and scanner.cuts_at_blanks


class Span(NamedTuple):
    """A file, or a range of it.

    Attributes:
        path: The file.
        start: The approximate start: bytes, or row groups of a table.
        end: The approximate end; None for the end of the file.
    """

    path: str
    start: int = 0
    end: int | None = None


class Part(NamedTuple):
    """The part of a corpus that one task counts.

    Attributes:
        number: The number of the part.
        spans: The files to read, or a single range of a file.
        texts: Texts from Python, in place of files.
        n_bytes: Approximate size on the disk.
        file: The index of the file in the corpus if it is a tracked file, otherwise `REST`.
    """

    number: int
    spans: tuple[Span, ...]
    texts: tuple[bytes, ...]
    n_bytes: int
    file: int = REST


def parts_of(corpus: Corpus, rules: Rules, most_bytes: int) -> Iterator[Part]:
    """Divide a corpus into parts of about `most_bytes` bytes."""
    number = 0
    texts: list[bytes] = []
    spans: list[Span] = []
    size = 0

    def part(file: int = REST) -> Part:
        nonlocal number, size
        made = Part(number, tuple(spans), tuple(texts), size, file)
        number, size = number + 1, 0
        spans.clear()
        texts.clear()
        return made

    for text in corpus.texts():
        texts.append(text)
        size += len(text)
        if size >= most_bytes:
            yield part()
    for place, (path, stored) in enumerate(zip(corpus.files, corpus.stored, strict=True)):
        n_bytes = stored.n_bytes or 0
        file = place if place in corpus.tracked_files else REST
        if texts or (size and size + n_bytes > most_bytes) or (spans and file != REST):
            yield part()
        for span, n in _spans_of(path, n_bytes, rules, most_bytes):
            is_whole = span == Span(path)
            if size and not is_whole:
                yield part()
            spans.append(span)
            size += n
            if not is_whole or file != REST:
                yield part(file)
    if spans or texts:
        yield part()


def _spans_of(path: str, n_bytes: int, rules: Rules, most_bytes: int) -> Iterator[tuple[Span, int]]:
    n = -(-n_bytes // most_bytes)
    kind = kind_of(path)
    if n < 2 or is_packed(path) or (kind not in READERS and not cuts(rules)):
        yield Span(path), n_bytes
        return
    borders = [n_bytes * index // n for index in range(n + 1)]
    if kind == ".parquet":
        try:
            table = ParquetTable(path)
        except InputFileError:
            yield Span(path), n_bytes  # the task that reads it reports the error
            return
        n_groups = len(table.sizes)
        table.close()
        borders = [n_groups * index // n for index in range(n + 1)]
    for start, end in pairwise(borders):
        if start < end:
            yield Span(path, start, end), n_bytes // n


def cuts(rules: Rules) -> bool:
    """Return whether a plain text may be cut anywhere."""
    return bool(rules.delimiter) or rules.cut_at_blanks()


def first_cut(file: BinaryIO, position: int, n_bytes: int, rules: Rules, kind: str) -> int:
    """Return the first place after `position` where a file may be cut, or its end.

    Args:
        file: The open file.
        position: The start of the search.
        n_bytes: The size of the file.
        rules: The rules for cutting.
        kind: The extension of the file's name.
    """
    if position <= 0 or position >= n_bytes:
        return max(0, min(position, n_bytes))
    texts = rules.cut_texts()
    if kind in READERS:
        pattern, texts = _LINE, []
    elif rules.cut_at_blanks():
        pattern = _BLANK
    else:
        pattern = re.compile(b"(?<=" + re.escape(rules.delimiter) + b")")
    # A delimiter at the cut must not be a part of a special token.
    taken = b"" if pattern in (_BLANK, _LINE) else rules.delimiter
    margin = max(map(len, [b" ", *texts])) + len(taken) + 1
    first, window = max(0, position - margin), _WINDOW
    file.seek(first)
    data = _read(file, position - first + window)
    at = position - first
    while True:
        is_all = first + len(data) >= n_bytes
        limit = len(data) if is_all else len(data) - margin
        while found := pattern.search(data, at, limit):
            at = found.start()
            if not _crosses(data, at, texts, taken):
                return first + at
            at += 1
        if is_all:
            return n_bytes
        at = max(at, limit)
        keep = max(0, at - margin)
        data, first, at = data[keep:], first + keep, at - keep
        window = min(2 * window, 1 << 22)
        data += _read(file, window)


def _crosses(data: bytes, at: int, texts: Sequence[bytes], taken: bytes) -> bool:
    """Return whether a text that is cut out may cross a place, or overlap the delimiter there."""
    start_of_delimiter = at - len(taken)
    for text in texts:
        start = data.find(text, max(0, start_of_delimiter - len(text) + 1))
        while 0 <= start < at:
            end = start + len(text)
            if (start, end) != (start_of_delimiter, at) and (
                end > at or (taken and end > start_of_delimiter)
            ):
                return True
            start = data.find(text, start + 1)
    return False


def _read(file: BinaryIO, n_bytes: int) -> bytes:
    """Read `n_bytes` bytes, or fewer at the end of the file."""
    parts = []
    while n_bytes > 0 and (data := file.read(n_bytes)):
        parts.append(data)
        n_bytes -= len(data)
    return b"".join(parts)


def open_range(file: BinaryIO, start: int, end: int, rules: Rules, kind: str = "") -> FileRange:
    """Open a range of a file, from the first cut after `start` to that after `end`."""
    size = file.seek(0, os.SEEK_END)
    return FileRange(file, *(first_cut(file, at, size, rules, kind) for at in (start, end)))


class PartReader:
    """Reader of a part.

    Attributes:
        starts_inside: True if the part may start inside a document.
        ends_inside: True if the part may end inside a document.
        unreadable: The files that could not be read to their end, with the reasons.
        unmeasured: The current file if its amount of text is unknown, otherwise empty.
    """

    def __init__(self, part: Part, rules: Rules) -> None:
        """Create a reader."""
        self._part = part
        self._rules = rules
        self.starts_inside = False
        self.ends_inside = False
        self.unreadable: list[tuple[str, str]] = []
        self.unmeasured = ""

    def chunks(self) -> Iterator[Chunk]:
        """Read the documents of the part.

        Raises:
            InputFileError: If a file cannot be read, unless unreadable files are skipped.
        """
        for text in self._part.texts:
            yield text, True
        for span in self._part.spans:
            try:
                yield from self._chunks_of(span)
            except InputFileError as error:
                if not self._rules.skip_unreadable:
                    raise
                self.unreadable.append((error.path, error.reason))
                yield b"", True

    def _chunks_of(self, span: Span) -> Iterator[Chunk]:
        field = self._rules.field
        kind = kind_of(span.path)
        self.unmeasured = span.path if is_packed(span.path) or is_pipe(span.path) else ""
        if span == Span(span.path):
            yield from read_documents(span.path, field, lambda position: None)
        elif kind == ".parquet":
            with closing(ParquetTable(span.path)) as table:
                yield from table.texts(field, range(span.start, span.end or len(table.sizes)))
        else:
            with reading(span.path), open_stored(span.path) as file:
                yield from self._range_of(file, span, kind)

    def _range_of(self, file: BinaryIO, span: Span, kind: str) -> Iterator[Chunk]:
        size = file.seek(0, os.SEEK_END)
        end = size if span.end is None else span.end
        first, last = (first_cut(file, at, size, self._rules, kind) for at in (span.start, end))
        if kind in READERS:
            try:
                yield from self._lines(span.path, file, first, last, 1)
            except InputFileError:
                before = FileRange(file, 0, first)
                number = 1 + sum(
                    data.count(b"\n") for data in iter(partial(before.read, _WINDOW), b"")
                )
                # Lines are numbered within the file only for the error message.
                deque(self._lines(span.path, file, first, last, number), maxlen=0)
                raise
            return
        self.starts_inside, self.ends_inside = first > 0, last < size
        part = FileRange(file, first, last)
        while data := part.read(1 << 18):
            yield data, False
        yield b"", True

    def _lines(
        self, path: str, file: BinaryIO, first: int, last: int, number: int
    ) -> Iterator[Chunk]:
        part = cast(BinaryIO, FileRange(file, first, last))
        return read_json_lines(part, path, self._rules.field, number)


class FileRange(io.RawIOBase):
    """A range of bytes of an open file, as a file."""

    def __init__(self, file: BinaryIO, first: int, last: int) -> None:
        """Open the bytes `first` to `last`."""
        file.seek(first)
        self._file = file
        self._left = last - first

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        data = self._file.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)
