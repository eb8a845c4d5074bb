"""Named pipes that a program writes to."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_to(pipe: Path, data: bytes) -> Iterator[None]:
    """Make a named pipe to which data is written as long as somebody reads it."""
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError):
            pipe.write_bytes(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        writer.join()
