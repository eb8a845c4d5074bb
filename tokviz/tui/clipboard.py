"""Copying: to the desktop's clipboard, else through the terminal, else into a file; saying which.

None of the ways can be relied on. A desktop's clipboard needs a desktop, on this machine. A
terminal may take a copy (OSC 52) but cuts long ones and never answers. So a text that is too long
for the terminal goes into a file, and so do bytes that are not UTF-8, which no clipboard holds.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tokviz.bytetext import RAW_BYTES, n_raw_bytes, replace_surrogates, to_bytes
from tokviz.errors import OutputFileError
from tokviz.files import write_file
from tokviz.folders import state_folder

if TYPE_CHECKING:
    from textual.app import App

DESKTOP_SECONDS = 2.0
"""Seconds that the desktop's clipboard gets. Its helper programs may hang."""

TERMINAL_BYTES = 3_072
"""Longest text for OSC 52: 4 KB in base64. Some terminals cut longer ones without a word."""

FILE_NAME = "copied.txt"

_REMOTE = ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")
_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")


class CopyResult(NamedTuple):
    """Where a copy went."""

    method: Literal["clipboard", "terminal", "file"]
    """The way that was taken."""
    detail: str = ""
    """The file's path, or a sentence about what the clipboard could not hold."""


async def copy(
    app: App[Any],
    text: str,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
    desktop_copy: Callable[[str], None] | None = None,
) -> CopyResult:
    """Copy byte text. Pasting inside the app gives it back exactly, wherever else it went.

    Args:
        app: The running app.
        text: The byte text.
        folder: Where a file goes, the user's state folder if not given.
        environment: The environment variables.
        desktop_copy: Puts text on the desktop's clipboard, pyperclip's `copy` if not given.

    Raises:
        OutputFileError: If only a file was left, and that failed too.
    """
    clean = _without_surrogates(text)
    app._clipboard = text
    if _has_desktop(app, environment) and await _copy_to_desktop(
        clean, desktop_copy or _pyperclip_copy
    ):
        return CopyResult("clipboard", _lost_bytes(text, folder))
    if len(clean.encode()) <= TERMINAL_BYTES and app._driver is not None:
        app.copy_to_clipboard(clean)
        app._clipboard = text
        return CopyResult("terminal", _lost_bytes(text, folder))
    return CopyResult("file", str(_write(text, folder)))


def _without_surrogates(text: str) -> str:
    """Make text that a clipboard can hold: raw bytes and lone surrogates become U+FFFD."""
    return replace_surrogates(RAW_BYTES.sub("\ufffd", text))[0]


def _lost_bytes(text: str, folder: Path | None) -> str:
    """Say how many bytes the clipboard could not hold, and keep the exact ones in a file."""
    n_raw = n_raw_bytes(text)
    if not n_raw:
        return ""
    lost = f"{n_raw:,} {'byte' if n_raw == 1 else 'bytes'} became U+FFFD: no UTF-8"
    try:
        return f"{lost}. The exact text is in {_write(text, folder)}"
    except OutputFileError as error:
        return f"{lost}. The exact text could not be kept: {error}"


def _write(text: str, folder: Path | None) -> Path:
    path = (state_folder() if folder is None else folder) / FILE_NAME
    write_file(path, _exact_bytes(text), private=True)
    return path


def _exact_bytes(text: str) -> bytes:
    try:
        return to_bytes(text)
    except UnicodeEncodeError:  # a surrogate that stands for no byte has none
        return _without_surrogates(text).encode()


def _has_desktop(app: App[Any], environment: Mapping[str, str]) -> bool:
    """Tell whether the clipboard of this machine is the user's: not over SSH or in a browser."""
    if app.is_web or any(environment.get(name) for name in _REMOTE):
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return any(environment.get(name) for name in _DESKTOPS)


def _pyperclip_copy(text: str) -> None:
    import pyperclip

    pyperclip.copy(text)


async def _copy_to_desktop(text: str, desktop_copy: Callable[[str], None]) -> bool:
    """Copy in a thread of its own, which is left alone if it hangs.

    Returns:
        Whether it worked in time.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def finish(worked: bool) -> None:
        if not done.done():
            done.set_result(worked)

    def work() -> None:
        try:
            desktop_copy(text)
            worked = True
        except Exception:  # pyperclip raises what its helper programs make it raise
            worked = False
        try:
            loop.call_soon_threadsafe(finish, worked)
        except RuntimeError:  # the app has ended meanwhile
            return

    threading.Thread(target=work, daemon=True, name="clipboard").start()
    try:
        return await asyncio.wait_for(done, DESKTOP_SECONDS)
    except TimeoutError:
        return False
