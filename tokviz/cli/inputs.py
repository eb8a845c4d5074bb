"""Reading the inputs of a command block by block."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import BytesIO
from threading import Timer
from typing import BinaryIO, NamedTuple, TypeVar

from tokviz.cli.output import report
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import MAX_FILE_BYTES, input_error, is_pipe
from tokviz.training.corpus.storage import open_stored

BLOCK_BYTES = 1 << 20
STDIN = "-"
TEXT_COMMANDS = ("encode", "count", "compare", "show")
"""The commands that take `--text`."""
WAITED_SECONDS = 1.0
"""After so long without a byte from a pipe, somebody may wonder."""
WAITING = "{} is a pipe: waiting until a program writes to it. Ctrl+C ends this."
_LONGEST_TEXT = 60


class Given(NamedTuple):
    """What stands on the command line itself, in the place of a file.

    Attributes:
        name: What messages call it.
        data: The bytes that a file would hold.
    """

    name: str
    data: bytes


Source = str | Given
"""An input: a file by its name, `-` for standard input, or what was given itself."""
_S = TypeVar("_S", bound=Source)


def for_each_input(sources: Iterable[_S], work: Callable[[_S], None]) -> int:
    """Do the work for each input; one that fails is reported and the others still get theirs.

    Returns:
        The exit code: 0, or 1 if any input failed.
    """
    exit_code = 0
    for source in sources:
        try:
            work(source)
        except TokvizError as error:
            sys.stdout.flush()
            named = isinstance(error, InputFileError)
            report(error if named else f"{display_name(source)}: {error}")
            exit_code = 1
    return exit_code


def read_blocks(source: Source, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of an input in blocks of about `size`.

    Raises:
        InputFileError: If it cannot be opened or read.
    """
    try:
        with _waiting_said(source) as begun, _opened(source) as file:
            while block := file.read(size):
                begun()
                yield block
    except FileNotFoundError as error:
        name = display_name(source)
        missing = input_error(name, error)
        raise InputFileError(name, missing.reason + _no_file_hint(name)) from None
    except (OSError, ValueError) as error:
        raise input_error(display_name(source), error) from None


def _no_file_hint(name: str) -> str:
    """Say how to give a text or ids themselves where the name of a file looks like one."""
    if len(name.split()) < 2 and (os.sep in name or "." in name):
        return ""
    if sys.argv[1:2] == ["replay"]:
        return "; without @ it is the text itself; one that begins with @ can be piped to --text @-"
    text = shlex.quote(name) if len(name) < _LONGEST_TEXT else "'TEXT'"
    command = next((word for word in sys.argv[1:2] if word in TEXT_COMMANDS), TEXT_COMMANDS[0])
    return f"; a text itself: tokviz {command} --text {text}; ids: tokviz decode 15339 1917"


def read_whole(blocks: Iterable[bytes], what: str) -> bytes:
    """Join blocks to what must be in memory whole.

    Raises:
        TokvizError: If they are too large; `what` follows the number of bytes.
    """
    gathered = bytearray()
    for block in blocks:
        gathered += block
        if len(gathered) > MAX_FILE_BYTES:
            raise TokvizError(f"more than {MAX_FILE_BYTES:,} bytes{what}")
    return bytes(gathered)


@contextmanager
def _waiting_said(source: Source) -> Iterator[Callable[[], None]]:
    """Say what is waited for if a named pipe gives nothing for a while.

    Yields:
        To be called when something has come.
    """
    timer = Timer(WAITED_SECONDS, report, (WAITING.format(display_name(source)),))
    timer.daemon = True
    if isinstance(source, str) and is_pipe(source):
        timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    if isinstance(source, Given):
        return BytesIO(source.data)
    if source != STDIN:
        return open_stored(source)
    if sys.stdin is None:
        raise InputFileError(display_name(source), "it is closed")
    return nullcontext(sys.stdin.buffer)


def display_name(source: Source) -> str:
    """How messages call an input."""
    if isinstance(source, Given):
        return source.name
    return "standard input" if source == STDIN else source


def file_name(source: Source) -> str | None:
    """How JSON calls an input: none where it is no file."""
    return source if isinstance(source, str) else None
