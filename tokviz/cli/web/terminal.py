"""An app on a pseudo-terminal, which ends with it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Self

from tokviz.errors import TokvizError

READ_BYTES = 1 << 16
END_SECONDS = 4.0
"""How long an app may take to end once its terminal is gone."""


class Size(NamedTuple):
    """The size of a terminal in cells."""

    columns: int
    rows: int

    @classmethod
    def of(cls, columns: object, rows: object) -> Self:
        """Take what a browser says.

        Raises:
            TokvizError: If no terminal has that size.
        """
        if type(columns) is not int or type(rows) is not int:
            raise TokvizError("a size is two whole numbers")
        if not (1 <= columns <= 500 and 1 <= rows <= 200):
            raise TokvizError("a terminal has 1 to 500 columns and 1 to 200 rows")
        return cls(columns, rows)


class AppTerminal:
    """A running app and our end of its terminal."""

    def __init__(self, process: Process, size: Size, master: FileIO) -> None:
        """Take what `start` made."""
        self._process = process
        self._master = master
        self._reader = asyncio.StreamReader(limit=READ_BYTES)
        self.resize(size)

    @classmethod
    async def start(
        cls, program: Sequence[str], size: Size, environment: Mapping[str, str], folder: Path
    ) -> Self:
        """Start a program in a folder."""
        descriptor, slave = pty.openpty()
        master = FileIO(descriptor, "r+b")
        try:
            process = await asyncio.create_subprocess_exec(
                *program,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
            self = cls(process, size, master)
            await self._connect()
        except BaseException:
            master.close()
            raise
        finally:
            os.close(slave)
        return self

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), self._master
        )
        output, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, FileIO(os.dup(self._master.fileno()), "wb")
        )
        self._writer = asyncio.StreamWriter(output, protocol, None, loop)

    def resize(self, size: Size) -> None:
        """Tell the app how large its terminal is."""
        cells = struct.pack("HHHH", size.rows, size.columns, 0, 0)
        with suppress(OSError, ValueError):  # it may be gone
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, cells)

    async def read(self) -> bytes:
        """Wait for what the app draws; nothing once it has ended."""
        try:
            return await self._reader.read(READ_BYTES)
        except OSError:  # how a terminal says that nobody is there any more
            return b""

    async def write(self, data: bytes) -> None:
        """Type something, as fast as the app reads it."""
        self._writer.write(data)
        with suppress(OSError):
            await self._writer.drain()

    async def end(self) -> None:
        """Take the terminal away, and wait until the app has ended; kill it if it does not."""
        self._input.close()
        self._writer.transport.abort()
        try:
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
