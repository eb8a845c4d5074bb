"""What to learn from: files, folders, patterns of names, standard input, or texts from Python."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import chain, groupby, islice
from pathlib import PurePath
from typing import TypeAlias, TypeVar

from tokviz.errors import InputFileError, SpecialTokenError
from tokviz.storage.files import file_identity, input_error, is_pipe, looks_binary, reading
from tokviz.training.corpus.readers import (
    OPENERS,
    READERS,
    encode,
    is_packed,
    read_documents,
    read_stream,
)
from tokviz.training.corpus.storage import Stored, is_url, look_up, urls_of
from tokviz.training.corpus.text_blocks import REST, Chunk, TextBlock, capped, text_blocks

P = TypeVar("P")
T = TypeVar("T")

Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | Iterable[Path]

STANDARD_INPUT = "-"

DELIMITER = "<|endoftext|>"

MOST_APART = 31
"""So many files are told apart when pre-tokens are counted, the largest ones; the others
together.
"""

_HEAD_BYTES = 8192


class Corpus:
    """Documents to train on, read once, a block at a time.

    Attributes:
        files: The files in the order in which they are read, each once even if it is named twice;
            "-" is standard input. Empty for texts from Python.
        left_out: The files of folders that are not read: binary files, pipes and dangling links.
        unreadable: What was not found, and why, where that was to be left out.
        stored: What their storage tells of each.
        delimiter: What stands between documents; empty for nothing.
        field: The field or column that holds the text.
        apart: The files that are told apart, by their places; none if there is only one file.
        n_bytes_total: The size of all files on the disk; None if it cannot be known.
        n_bytes_read: How much of that has been read, or the bytes of texts taken so far.
        unmeasured: The file that is being read, if nobody knows how much it will give.
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
        """Find the files of a source; nothing is read yet.

        Args:
            source: A path, several paths, or an iterable of str. A path may be a file, a folder
                (all files of text in it that are not hidden, by name), a pattern like
                `data/**/*.txt`, "-", or a URL of one of these, like `s3://bucket/data/*.jsonl`,
                which fsspec opens. A list of str is taken for paths if one of its first
                hundred items is a file or pattern of files, if all of them are folders, or if all
                of them end as files do; give `Path` objects, or an iterator for texts, to be sure.
            delimiter: Text between documents; it is cut out. None or "" for none.
            field: The field of JSON lines and the column of tables that holds the text.
            max_chars: Enough characters in total: the document that exceeds it is the last one.
            max_doc_chars: What a document may give; the rest of it is left out.
            exclude: Files to leave out: paths, ends of paths, or patterns like `*.min.js`.
            skip_unreadable: Leave out what cannot be found, and note it in `unreadable`.

        Raises:
            InputFileError: If there is no such file, or a folder or pattern without any.
        """
        paths, self._texts = _paths_or_texts(source)
        self.left_out: list[str] = []
        self.unreadable: list[tuple[str, str]] = []
        self._skips_unreadable = skip_unreadable
        unwanted = {*exclude}
        listed = [file for path in paths for file in self._unless_unreadable(self._files_of, path)]
        kept = [file for file in listed if file not in unwanted]
        kept = [file for file in kept if not any(map(PurePath(file).match, unwanted))]
        once = dict[object, str]()
        for file in kept:
            once.setdefault(file_identity(file), file)
        kept = [*once.values()]
        if listed and not kept:
            raise InputFileError(listed[0], "is excluded, as all other files are")
        found = [(file, it) for file in kept for it in self._unless_unreadable(_look_up, file)]
        if self.unreadable and not found:
            raise InputFileError(*self.unreadable[0])
        self.files = tuple(file for file, _ in found)
        self.stored = [stored for _, stored in found]
        for cap in (max_chars, max_doc_chars):
            if cap is not None and cap < 1:
                raise ValueError(f"a cap of {cap} characters leaves nothing to read")
        places = range(len(found) if len(found) > 1 else 0)
        # Of what has no size nobody knows how much will come.
        sizes = [stored.n_bytes for stored in self.stored]
        weights = [float("inf") if size is None else size for size in sizes]
        self.apart = frozenset(nlargest(MOST_APART, places, weights.__getitem__))
        known = [size for size in sizes if size is not None]
        self.n_bytes_total = sum(known) if known and len(known) == len(self.files) else None
        self.n_bytes_read = 0
        self.unmeasured = ""
        self.delimiter = delimiter or ""
        self.field = field
        self._max_chars = max_chars
        self.max_doc_chars = max_doc_chars

    def must_be_whole(self) -> str:
        """Say why one has to read it from the beginning; nothing if several can share it."""
        if self._max_chars is not None:
            return "a limit of all characters"
        if STANDARD_INPUT in self.files:
            return "standard input"
        return ""

    def text_blocks(self, special_tokens: Iterable[str] = ()) -> Iterator[TextBlock]:
        """Read all texts between special tokens and delimiters; only once.

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
        """Give the texts from Python, only once."""
        for text in self._texts:
            if not isinstance(text, str):
                raise TypeError(f"a text is a str, not {type(text).__name__}")
            yield encode(text)

    def _unless_unreadable(self, ask: Callable[[P], list[T]], path: P) -> list[T]:
        """Ask something of a file; note that it cannot be read where that is allowed."""
        try:
            return ask(path)
        except InputFileError as error:
            if not self._skips_unreadable:
                raise
            self.unreadable.append((error.path, error.reason))
            return []

    def _blocks(self, specials: list[bytes], delimiter: bytes) -> Iterator[TextBlock]:
        """Read texts, then files: no block has texts of a file that is told apart and of another.

        A document ends where a file does, so the texts are the same as if all were one.
        """
        yield from text_blocks(self._chunks_of_texts(), specials, delimiter)
        places = range(len(self.files))
        for file, group in groupby(places, lambda place: place if place in self.apart else REST):
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

    def _chunks_of_file(self, place: int) -> Iterator[Chunk]:
        file, size = self.files[place], self.stored[place].n_bytes
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
    # The first item tells: an iterator's str are texts.
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
    """Tell whether a text that names no file was meant to."""
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
    """Find the files below a folder that are read for training: none hidden, all of text.

    Args:
        folder: The folder.
        left_out: Called with every file that looks binary, is a pipe or a dangling link.

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
    """Tell whether a file found in a folder is read; binaries, pipes, dangling links are not."""
    if is_pipe(file) or not os.path.exists(file):
        return False
    if not os.path.isfile(file) or file.lower().endswith((*READERS, *OPENERS)):
        return True
    try:
        with open(file, "rb") as opened:
            return not looks_binary(opened.read(_HEAD_BYTES))
    except OSError:
        return True  # whoever reads it says what is wrong


def _look_up(file: str) -> list[Stored]:
    """Ask what a file is; standard input is not stored anywhere."""
    if file == STANDARD_INPUT:
        return [Stored(None, False, "")]
    found = look_up(file)
    if found.is_folder:
        raise InputFileError(file, "is a folder, not a file")
    return [found]
