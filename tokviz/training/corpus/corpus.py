"""The corpus to train on: files, folders, globs, standard input, or texts from Python."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nlargest
from itertools import chain, groupby, islice
from pathlib import PurePath
from typing import TypeAlias

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
from tokviz.training.corpus.storage import Stored, file_info, is_url, urls_of
from tokviz.training.corpus.text_blocks import REST, Chunk, TextBlock, capped, text_blocks

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
        kept = excluded(listed, unwanted)
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
        return [name] if os.path.lexists(name) else matches_of(name) or [name]

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


def matches_of(name: str) -> list[str]:
    """Return the files that a glob matches, sorted; empty if the name is not a glob.

    Raises:
        InputFileError: If a glob matches no file.
    """
    if not glob.has_magic(name):
        return []
    matches = sorted(match for match in _matches(name) if not os.path.isdir(match))
    if not matches:
        raise InputFileError(name, "matches no file")
    return matches


def excluded(files: Iterable[str], unwanted: set[str]) -> list[str]:
    """Return the files without unwanted ones, given by paths, ends of paths, or globs."""
    kept = (file for file in files if file not in unwanted)
    return [file for file in kept if not any(map(PurePath(file).match, unwanted))]


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
