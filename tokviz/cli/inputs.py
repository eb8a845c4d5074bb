"""Inputs of the commands, read block by block."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import BytesIO
from threading import Timer
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar

from tokviz.cli.output import ERROR, report
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import MAX_FILE_BYTES, input_error, is_pipe
from tokviz.training.corpus.storage import open_stored

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
    except FileNotFoundError as error:
        name = display_name(source)
        missing = input_error(name, error)
        raise InputFileError(name, missing.reason + _no_file_hint(name)) from None
    except (OSError, ValueError) as error:
        raise input_error(display_name(source), error) from None


def _no_file_hint(name: str) -> str:
    """Explain how to pass text or ids on the command line, if the name looks like them."""
    if len(name.split()) < 2 and (os.sep in name or "." in name):
        return ""
    if sys.argv[1:2] == ["replay"]:
        return "; without @ it is the text itself; pipe text that starts with @ to --text @-"
    text = shlex.quote(name) if len(name) < _LONGEST_TEXT else "'TEXT'"
    command = next((word for word in sys.argv[1:2] if word in TEXT_COMMANDS), TEXT_COMMANDS[0])
    return f"; to pass text: tokviz {command} --text {text}; ids: tokviz decode 15339 1917"


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


def _open(source: InputSource) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, InlineInput):
        return BytesIO(source.data)
    if source != STDIN:
        return open_stored(source)
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
