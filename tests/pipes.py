"""Named pipes with a writer."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_to(pipe: Path, data: bytes) -> Iterator[None]:
    """Create a named pipe and write data to it while it is read."""
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
