"""The external editor of the user, which runs in the terminal."""

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

_FALLBACKS = ("nano", "vi", "notepad")
"""Editors to try if none is configured."""


def edit(path: StrPath, command: str = "") -> None:
    """Open a file in an editor and wait until the editor exits. Main thread only.

    Args:
        path: The file.
        command: The editor with its arguments; by default $VISUAL or $EDITOR.

    Raises:
        TokvizError: If there is no editor, or it fails.
    """
    # The terminal sends Ctrl+C to both processes, but it is meant for the editor.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    fallbacks = filter(None, map(shutil.which, _FALLBACKS))
    command = command or os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(fallbacks, "")
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
        raise TokvizError(f"the editor {command!r} failed with exit code {code}")


def edited(data: bytes, name: str, command: str = "") -> bytes:
    """Let the user edit bytes in a temporary file that only they can read.

    Args:
        data: The initial content.
        name: The name of the file, because editors use its extension.
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
        raise TokvizError(f"cannot create a temporary file: {error.strerror or error}") from None
