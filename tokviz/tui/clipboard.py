"""Copy to the desktop's clipboard, otherwise through the terminal, otherwise into a file.

No way is reliable. The desktop's clipboard needs a desktop on this machine. A terminal may accept a
copy (OSC 52) but cuts long texts and never answers, and tmux only forwards copies if configured to.
Therefore a copy for the terminal is also written to a file, and a text that is too long for it only
to a file. Bytes that are not UTF-8 are written to a file, too, because no clipboard stores them.
Every copy has a separate file.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from tokviz.errors import OutputFileError
from tokviz.process.confinement import confinement
from tokviz.storage.files import write_file
from tokviz.storage.folders import state_folder
from tokviz.storage.listing import home_label
from tokviz.text.bytetext import RAW_BYTES, n_raw_bytes, replace_surrogates, to_bytes
from tokviz.tui.textual_private.app_clipboard import set_app_clipboard
from tokviz.tui.textual_private.terminal_driver import driver_of

if TYPE_CHECKING:
    from textual.app import App

DESKTOP_SECONDS = 2.0
"""Time limit for the desktop's clipboard, whose helper programs may hang."""

TERMINAL_BYTES = 3_072
"""Longest text for OSC 52: 4 KB in base64. Some terminals silently cut longer texts."""

BROWSER_BYTES = 5_000_000
"""Longest text for a terminal in a browser, which accepts 10 MB in base64."""

FILES_KEPT = 20
"""Number of copies kept in files; the oldest is deleted first."""

_TURNS: WeakKeyDictionary[App[Any], asyncio.Lock] = WeakKeyDictionary()
"""Lock of each app: copies run one after another, so that the last one wins."""

_NUMBERING = threading.Lock()

_FILE = re.compile(r"copied-(\d+)\.txt")

_REMOTE = ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")
_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")


_Way = Literal["clipboard", "browser", "terminal", "tmux", "file"]


class CopyResult(NamedTuple):
    """Result of a copy."""

    method: _Way
    """The target. A terminal or tmux does not report whether it accepted the copy."""
    file: str = ""
    """Path of the file with the exact text, empty for none."""
    lost: str = ""
    """Description of lost bytes, or of a failure to write the file; empty for success."""


async def copy(app: App[Any], text: str) -> CopyResult:
    """Copy byte text. Pasting inside the app always inserts it exactly.

    Raises:
        OutputFileError: If no other way was possible and the file could not be written.
    """
    set_app_clipboard(app, text)
    async with _TURNS.setdefault(app, asyncio.Lock()):
        return await _copy(app, text)


async def _copy(app: App[Any], text: str) -> CopyResult:
    # In a thread, because a long text or a slow disk would block keys.
    clean, lost = await asyncio.to_thread(lambda: (_without_surrogates(text), _lost_bytes(text)))
    if confinement() is not None and len(clean.encode()) <= BROWSER_BYTES:
        _send(app, clean)
        return CopyResult("browser", "", lost)
    if _has_desktop(app) and await _copy_to_desktop(clean):
        if not lost:
            return CopyResult("clipboard")
        return await asyncio.to_thread(_kept, "clipboard", text, lost)
    is_short = len(clean) <= TERMINAL_BYTES and len(clean.encode()) <= TERMINAL_BYTES
    if is_short and driver_of(app) is not None:
        _send(app, clean)
        method: _Way = "tmux" if os.environ.get("TMUX") else "terminal"
        return await asyncio.to_thread(_kept, method, text, lost)
    return CopyResult("file", str(await asyncio.to_thread(_write, text)))


def _send(app: App[Any], clean: str) -> None:
    """Send a text to the terminal, and keep the app's own clipboard."""
    last = app.clipboard
    app.copy_to_clipboard(clean)
    set_app_clipboard(app, last)


def _without_surrogates(text: str) -> str:
    """Replace raw bytes and lone surrogates by U+FFFD."""
    return replace_surrogates(RAW_BYTES.sub("\ufffd", text))[0]


def _kept(method: _Way, text: str, lost: str) -> CopyResult:
    """Write the exact text to a file, too; report a failure in the result."""
    try:
        return CopyResult(method, str(_write(text)), lost)
    except OutputFileError as error:
        return CopyResult(method, "", f"{lost} The exact text could not be saved: {error}".lstrip())


def _lost_bytes(text: str) -> str:
    """Describe the number of bytes that were replaced; empty for none."""
    n_raw = n_raw_bytes(text)
    if not n_raw:
        return ""
    return f"{n_raw:,} {'byte' if n_raw == 1 else 'bytes'} became U+FFFD: not UTF-8."


def _write(text: str) -> Path:
    """Write a file with the next number, and delete the oldest ones."""
    folder = state_folder()
    with _NUMBERING:
        found = [_FILE.fullmatch(path.name) for path in folder.glob("copied-*.txt")]
        numbers = sorted(int(name[1]) for name in found if name)
        path = folder / f"copied-{numbers[-1] + 1 if numbers else 1}.txt"
        write_file(path, _exact_bytes(text), private=True)
        for number in numbers[: 1 - FILES_KEPT]:
            with suppress(OSError):
                (folder / f"copied-{number}.txt").unlink()
        return path


def _exact_bytes(text: str) -> bytes:
    try:
        return to_bytes(text)
    except UnicodeEncodeError:  # a surrogate that represents no byte
        return _without_surrogates(text).encode()


def _has_desktop(app: App[Any]) -> bool:
    """Return whether this machine's clipboard is the user's: not over SSH or in a browser."""
    if app.is_web or any(os.environ.get(name) for name in _REMOTE):
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in _DESKTOPS)


async def _copy_to_desktop(text: str) -> bool:
    """Copy in a separate thread, which is abandoned if it hangs.

    Returns:
        True if it succeeded in time.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def finish(worked: bool) -> None:
        if not done.done():
            done.set_result(worked)

    def work() -> None:
        try:
            import pyperclip

            pyperclip.copy(text)
            worked = True
        except Exception:  # helper programs make pyperclip raise any exception
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


def copied(result: CopyResult, what: str) -> str:
    """Return a message about the target of a copy."""
    file = home_label(Path(result.file)) if result.file else ""
    kept = {
        "clipboard": f"The exact text is in {file}",
        "file": f"It is in {file}",
    }.get(result.method, f"If you cannot paste it, it is in {file}")
    places = {
        "clipboard": "",
        "browser": "The browser was asked to copy the text to the clipboard.",
        "terminal": f"{_ASKED.format('The terminal')} It does not say whether it did.",
        "tmux": f"{_ASKED.format('tmux')} It does so only if its option set-clipboard is on.",
        "file": "The copy is too long for the terminal.",
    }
    sentences = (f"Copied {what}.", places[result.method], result.lost, kept if file else "")
    return " ".join(filter(None, sentences))


_ASKED = "{} was asked to copy the text to the clipboard (with the control sequence OSC 52)."
