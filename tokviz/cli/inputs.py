"""Reading the inputs of a command block by block."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Timer
from typing import BinaryIO

from tokviz.cli.output import report
from tokviz.errors import InputFileError, TokvizError
from tokviz.files import MAX_FILE_BYTES, input_error, is_pipe

BLOCK_BYTES = 1 << 20
STDIN = "-"
WAITED_SECONDS = 1.0
"""After so long without a byte from a pipe, somebody may wonder."""
WAITING = "{} is a pipe: waiting until a program writes to it. Ctrl+C ends this."
_LONGEST_TEXT = 60


def for_each_input(names: Iterable[str], work: Callable[[str], None]) -> int:
    """Do the work for each input; one that fails is reported and the others still get theirs.

    Returns:
        The exit code: 0, or 1 if any input failed.
    """
    exit_code = 0
    for name in names:
        try:
            work(name)
        except TokvizError as error:
            sys.stdout.flush()
            named = isinstance(error, InputFileError)
            report(error if named else f"{display_name(name)}: {error}")
            exit_code = 1
    return exit_code


def read_blocks(name: str, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of a file, or of standard input for `-`, in blocks of about `size`.

    Raises:
        InputFileError: If it cannot be opened or read.
    """
    try:
        with _waiting_said(name) as begun, _opened(name) as file:
            while block := file.read(size):
                begun()
                yield block
    except FileNotFoundError as error:
        missing = input_error(name, error)
        raise InputFileError(name, missing.reason + _pipe_hint(name)) from None
    except (OSError, ValueError) as error:
        raise input_error(display_name(name), error) from None


def _pipe_hint(name: str) -> str:
    """Say how to give a text where the name of a file looks like one."""
    if len(name.split()) < 2 and (os.sep in name or "." in name):
        return ""
    text = shlex.quote(name) if len(name) < _LONGEST_TEXT else "'TEXT'"
    command = " ".join(["tokviz", *sys.argv[1:2]])
    return f"; to give a text itself, use a pipe: printf %s {text} | {command}"


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
def _waiting_said(name: str) -> Iterator[Callable[[], None]]:
    """Say what is waited for if a named pipe gives nothing for a while.

    Yields:
        To be called when something has come.
    """
    timer = Timer(WAITED_SECONDS, report, (WAITING.format(name),))
    timer.daemon = True
    if is_pipe(name):
        timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


def _opened(name: str) -> AbstractContextManager[BinaryIO]:
    if name != STDIN:
        return open(name, "rb")
    if sys.stdin is None:
        raise InputFileError(display_name(name), "it is closed")
    return nullcontext(sys.stdin.buffer)


def display_name(name: str) -> str:
    """How messages call an input."""
    return "standard input" if name == STDIN else name
