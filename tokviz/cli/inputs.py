"""Inputs of the commands, read block by block."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from io import BytesIO
from threading import Timer
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar

from tokviz.cli.output import ERROR, report
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import MAX_FILE_BYTES, file_identity, input_error, is_pipe
from tokviz.text.sentences import pluralize
from tokviz.training.corpus.corpus import excluded, matches_of
from tokviz.training.corpus.readers import (
    TABLE,
    BinaryFileError,
    is_packed,
    kind_of,
    read_json_lines,
    read_texts,
    unpacked,
)
from tokviz.training.corpus.storage import is_url, urls_of

if TYPE_CHECKING:
    from tokviz.chat.dataset import Dataset

BLOCK_BYTES = 1 << 20
STDIN = "-"
TEXT_COMMANDS = ("encode", "count", "compare", "show")
"""The commands that take `--text`."""
WAITED_SECONDS = 1.0
"""Time without a byte from a named pipe after which a message is printed."""
WAITING = "{} is a pipe: waiting for a program to write to it. Press Ctrl+C to cancel."
_LONGEST_TEXT = 60


class InlineInput(NamedTuple):
    """An input given on the command line instead of in a file.

    Attributes:
        name: Its name in messages.
        data: Its bytes.
    """

    name: str
    data: bytes


InputSource = str | InlineInput
"""A file name, `-` for standard input, or an inline input."""
_Source = TypeVar("_Source", bound=InputSource)


def open_dataset(name: str) -> Dataset:
    """Open a dataset of conversations: a file, or the whole content of a pipe."""
    from tokviz.chat.dataset import Dataset  # imports NumPy

    if name != STDIN and not is_pipe(name):
        return Dataset.open(name)
    return Dataset.from_bytes(name, read_whole(read_blocks(name), "; write it to a file first"))


def for_each_input(sources: Iterable[_Source], process: Callable[[_Source], None]) -> int:
    """Process each input. If one fails, report the error and continue with the next.

    Returns:
        The exit code: 0, or `ERROR` if any input failed.
    """
    exit_code = 0
    for source in sources:
        try:
            process(source)
        except TokvizError as error:
            sys.stdout.flush()
            named = isinstance(error, InputFileError)
            report(error if named else f"{display_name(source)}: {error}")
            exit_code = ERROR
    return exit_code


def read_blocks(source: InputSource, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of an input in blocks of about `size` bytes.

    Raises:
        InputFileError: If it cannot be opened or read.
    """
    try:
        with _note_waiting(source) as stop_timer, _open(source) as file:
            while block := file.read(size):
                stop_timer()
                yield block
    except FileNotFoundError:
        raise _missing(display_name(source)) from None
    except (EOFError, zlib.error) as error:
        raise InputFileError(display_name(source), f"is damaged: {error}") from None
    except (OSError, ValueError) as error:
        raise input_error(display_name(source), error) from None


def _missing(name: str) -> InputFileError:
    return InputFileError(name, f"there is no such file{_no_file_hint(name)}")


def _no_file_hint(name: str) -> str:
    """Explain how to pass text or ids on the command line, if the name looks like them."""
    if len(name.split()) < 2 and (os.sep in name or "." in name):
        return ""
    if sys.argv[1:2] == ["replay"]:
        return "; without @ it is the text itself; pipe text that starts with @ to --text @-"
    text = shlex.quote(name) if len(name) < _LONGEST_TEXT else "'TEXT'"
    command = next((word for word in sys.argv[1:2] if word in TEXT_COMMANDS), TEXT_COMMANDS[0])
    may_be_ids = name.isdecimal() or sys.argv[1:2] == ["decode"]
    ids = "; ids: tokviz decode 15339 1917" if may_be_ids else ""
    return f"; to pass text: tokviz {command} --text {text}{ids}"


def read_whole(blocks: Iterable[bytes], advice: str) -> bytes:
    """Join all blocks of an input.

    Raises:
        TokvizError: If they are too large; the message ends with `advice`.
    """
    gathered = bytearray()
    for block in blocks:
        gathered += block
        if len(gathered) > MAX_FILE_BYTES:
            raise TokvizError(f"more than {MAX_FILE_BYTES:,} bytes{advice}")
    return bytes(gathered)


@contextmanager
def _note_waiting(source: InputSource) -> Iterator[Callable[[], None]]:
    """Print a message if a named pipe delivers nothing for a while.

    Yields:
        A function to call when data arrives.
    """
    timer = Timer(WAITED_SECONDS, report, (WAITING.format(display_name(source)),))
    timer.daemon = True
    if isinstance(source, str) and is_pipe(source):
        timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


class Inputs:
    """The inputs of a command, given by paths.

    Attributes:
        groups: By argument, its name and the inputs that it consists of: a folder has many.
        found: The inputs found in folders and globs.
        has_failed: Whether a path could not be read.
    """

    def __init__(self, arguments: argparse.Namespace, *, reads_stdin: bool = True) -> None:
        """Find the inputs, and report folders that cannot be read.

        Args:
            arguments: The arguments that `options.add_paths` adds.
            reads_stdin: Whether standard input is read if there is no other input.
        """
        self._everything: bool = arguments.all
        self._field: str | None = arguments.field
        self.found = set[InputSource]()
        self.has_failed = False
        self._n_skipped = Counter[str]()
        text: str | None = getattr(arguments, "text", None)
        inline = [] if text is None else [InlineInput("--text", os.fsencode(text))]
        self.groups: list[tuple[str, list[InputSource]]] = [(one.name, [one]) for one in inline]
        names = [*arguments.files]
        if arguments.files_from is not None:
            names += _listed(arguments.files_from, b"\0" if arguments.null else b"\n")
        elif reads_stdin and not names and not inline:
            names = [STDIN]
        for name in names:
            try:
                found = self._expand(name)
            except InputFileError as error:
                self.fail(error)
            else:
                kept = excluded(found, {*arguments.exclude}) if arguments.exclude else found
                self.groups.append((name, [*kept]))

    @property
    def sources(self) -> list[InputSource]:
        """All inputs."""
        return [source for _, sources in self.groups for source in sources]

    @property
    def is_single(self) -> bool:
        """Whether there is one input, which is not in a folder."""
        return len(self.groups) == 1 and self.found.isdisjoint(self.sources)

    def fail(self, error: object) -> None:
        """Report an error."""
        sys.stdout.flush()
        report(error)
        self.has_failed = True

    def skip(self, path: str, reason: str) -> None:
        """Count a skipped file or folder."""
        self._n_skipped[reason] += 1

    def read(self, source: InputSource) -> Iterator[Iterator[bytes]]:
        """Yield the documents of an input in blocks.

        Raises:
            BinaryFileError: If it was found in a folder and looks binary.
            InputFileError: If it cannot be read.
        """
        if source == STDIN and self._field is not None:
            with _open(source) as file:
                for data, _ in read_json_lines(file, display_name(source), self._field):
                    yield iter([data])
        elif not isinstance(source, str) or source == STDIN or is_pipe(source):
            yield read_blocks(source)
        elif source not in self.found and not (is_url(source) or os.path.lexists(source)):
            raise _missing(source)
        else:
            any_content = self._everything or source not in self.found
            yield from read_texts(source, self._field, any_content=any_content)

    def in_parts(self, arguments: argparse.Namespace) -> list[InputSource]:
        """Return the files of which workers, if any are requested, can read parts as text."""
        has_workers = arguments.workers is not None or arguments.scheduler is not None
        return [*filter(self._is_plain, self.sources)] if has_workers and not self._field else []

    def _is_plain(self, source: InputSource) -> bool:
        if not isinstance(source, str) or source == STDIN or is_packed(source) or is_pipe(source):
            return False
        with suppress(TokvizError):
            next(next(self.read(source)), b"")
            return kind_of(source) != TABLE
        return False

    def each(self, process: Callable[[InputSource], None], sources: Iterable[InputSource]) -> None:
        """Process inputs; if one fails, note the error and continue with the next input."""

        def process_text(source: InputSource) -> None:
            try:
                process(source)
            except BinaryFileError as error:
                self.skip(error.path, "binary file")

        self.has_failed |= for_each_input(sources, process_text) != 0

    def end(self) -> int:
        """Report the skipped files, and return the exit code."""
        parts = [
            pluralize(number, unit) if unit.endswith(_COUNTED) else f"{number:,} {unit}"
            for unit, number in sorted(self._n_skipped.items())
        ]
        if parts:
            more = "" if self._everything else " (--all reads all but links and special files)"
            report(f"{', '.join(parts)} skipped{more}")
        return ERROR if self.has_failed else 0

    def _expand(self, name: str) -> list[str]:
        if is_url(name):
            return urls_of(name)
        if name == STDIN or not name:
            return [name]
        found: Iterable[str]
        if os.path.isdir(name):
            # Other inputs do not need pathspec.
            from tokviz.storage.project_files import project_files

            everything = self._everything
            found = project_files(name, self.skip, self.fail, everything=everything)
            found = [*map(os.path.normpath, found)]  # without a "./" that the user did not write
        elif os.path.lexists(name) or (" " in name and "?" in name):
            return [name]  # a missing file, if it is a question
        else:
            # A loop of links has many names for a file.
            longest_first = sorted(matches_of(name), key=len, reverse=True)
            found = sorted({file_identity(file): file for file in longest_first}.values())
        self.found.update(found)
        return [*found] if os.path.isdir(name) or found else [name]


_COUNTED = ("file", "link")
"""Last words of the reasons that have a plural."""


def _listed(file: str, end: bytes) -> list[str]:
    """Read the paths of `--files-from`."""
    data = read_whole(read_blocks(file), " of file names are too many")
    return [os.fsdecode(name) for name in data.split(end) if name]


def _open(source: InputSource) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, InlineInput):
        return BytesIO(source.data)
    if source != STDIN:
        return unpacked(source)
    if sys.stdin is None:
        raise InputFileError(display_name(source), "it is closed")
    return nullcontext(sys.stdin.buffer)


def display_name(source: InputSource) -> str:
    """Return the name of an input for messages."""
    if isinstance(source, InlineInput):
        return source.name
    return "standard input" if source == STDIN else source


def file_name(source: InputSource) -> str | None:
    """Return the name of an input for JSON; None if it is not a file."""
    return source if isinstance(source, str) else None
