"""The user's own editor, which takes the terminal until it is closed."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tokviz.errors import TokvizError
from tokviz.storage.files import StrPath, read_file

_USUAL = ("nano", "vi", "notepad")
"""What is tried where nobody says which."""


def edit(path: StrPath, command: str = "") -> None:
    """Open a file in an editor, and wait until that ends. Only for the main thread.

    Args:
        path: The file.
        command: The editor with its arguments; by default that in $VISUAL or $EDITOR.

    Raises:
        TokvizError: If there is no editor, or it ends with an error.
    """
    # The terminal sends Ctrl+C to both, and it is meant for the editor.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    usual = (found for name in _USUAL if (found := shutil.which(name)))
    command = command or os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(usual, "")
    try:
        words = shlex.split(command)
        if not words:
            raise TokvizError('there is no editor: set $EDITOR, or the setting editor = "…"')
        code = subprocess.run([*words, os.fspath(path)]).returncode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TokvizError(f"the editor {command!r} cannot be started: {reason}") from None
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        raise TokvizError(f"the editor {command!r} ended with the exit code {code}")


def edited(data: bytes, name: str, command: str = "") -> bytes:
    """Let the user edit bytes in a file that only they can read, which is gone afterwards.

    Args:
        data: What to begin with.
        name: What the file is called: editors go by its ending.
        command: See `edit`.

    Raises:
        TokvizError: See `edit`; or the file cannot be written or read.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="tokviz-") as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            edit(path, command)
            return read_file(path)
    except OSError as error:
        raise TokvizError(f"no temporary file: {error.strerror or error}") from None
