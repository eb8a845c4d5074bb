"""Copying: to the desktop's clipboard, else through the terminal, else into a file; saying which.

None of the ways can be relied on. A desktop's clipboard needs a desktop, on this machine. A
terminal may take a copy (OSC 52) but cuts long ones and never answers, and tmux passes none on
unless it is told to. So what goes to the terminal is kept in a file besides, and what is too long
for it goes into a file alone. So do bytes that are not UTF-8, which no clipboard holds.
Every copy has a file of its own.
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
"""Seconds that the desktop's clipboard gets. Its helper programs may hang."""

TERMINAL_BYTES = 3_072
"""Longest text for OSC 52: 4 KB in base64. Some terminals cut longer ones without a word."""

BROWSER_BYTES = 5_000_000
"""Longest text that goes through a terminal in a browser, which takes 10 MB in base64."""

FILES_KEPT = 20
"""Copies that are kept in files; the oldest goes when another comes."""

_TURNS: WeakKeyDictionary[App[Any], asyncio.Lock] = WeakKeyDictionary()
"""Of each app: copies come one after another, so that the last one stays."""

_NUMBERING = threading.Lock()

_FILE = re.compile(r"copied-(\d+)\.txt")

_REMOTE = ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")
_DESKTOPS = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")


_Way = Literal["clipboard", "browser", "terminal", "tmux", "file"]


class CopyResult(NamedTuple):
    """Where a copy went."""

    method: _Way
    """The way that was taken. Whether a terminal or tmux took it is not known."""
    file: str = ""
    """The path of the file that holds the exact text, empty for none."""
    lost: str = ""
    """What the clipboard could not hold, or why there is no file; empty if all is well."""


async def copy(app: App[Any], text: str) -> CopyResult:
    """Copy byte text. Pasting inside the app gives it back exactly, wherever else it went.

    Raises:
        OutputFileError: If only a file was left, and that failed too.
    """
    set_app_clipboard(app, text)
    async with _TURNS.setdefault(app, asyncio.Lock()):
        return await _copy(app, text)


async def _copy(app: App[Any], text: str) -> CopyResult:
    # A long text takes a while, and so may the disk: neither is to hold up the keys.
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
    """Send a text to the terminal; pasting inside the app gives what was copied last."""
    last = app.clipboard
    app.copy_to_clipboard(clean)
    set_app_clipboard(app, last)


def _without_surrogates(text: str) -> str:
    """Make text that a clipboard can hold: raw bytes and lone surrogates become U+FFFD."""
    return replace_surrogates(RAW_BYTES.sub("\ufffd", text))[0]


def _kept(method: _Way, text: str, lost: str) -> CopyResult:
    """Keep the exact text in a file besides; not to be able to is said, and no error."""
    try:
        return CopyResult(method, str(_write(text)), lost)
    except OutputFileError as error:
        return CopyResult(method, "", f"{lost} The exact text could not be kept: {error}".lstrip())


def _lost_bytes(text: str) -> str:
    """Say how many bytes the clipboard could not hold."""
    n_raw = n_raw_bytes(text)
    if not n_raw:
        return ""
    return f"{n_raw:,} {'byte' if n_raw == 1 else 'bytes'} became U+FFFD: not UTF-8."


def _write(text: str) -> Path:
    """Write a file of the next number, and take away those that are too old."""
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
    except UnicodeEncodeError:  # a surrogate that stands for no byte has none
        return _without_surrogates(text).encode()


def _has_desktop(app: App[Any]) -> bool:
    """Tell whether the clipboard of this machine is the user's: not over SSH or in a browser."""
    if app.is_web or any(os.environ.get(name) for name in _REMOTE):
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in _DESKTOPS)


async def _copy_to_desktop(text: str) -> bool:
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
            import pyperclip

            pyperclip.copy(text)
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


def copied(result: CopyResult, what: str) -> str:
    """Say where a copy went, and what is known of whether it arrived."""
    file = home_label(Path(result.file)) if result.file else ""
    kept = {
        "clipboard": f"The exact text is in {file}",
        "file": f"It is in {file}",
    }.get(result.method, f"If you cannot paste it, it is in {file}")
    places = {
        "clipboard": "",
        "browser": "The browser was asked to put the copy on the clipboard.",
        "terminal": f"{_ASKED.format('The terminal')} It does not say whether it did.",
        "tmux": f"{_ASKED.format('tmux')} It does so only if its option set-clipboard is on.",
        "file": "The copy is too long for the terminal to take.",
    }
    said = (f"Copied {what}.", places[result.method], result.lost, kept if file else "")
    return " ".join(filter(None, said))


_ASKED = "{} was asked to put the copy on the clipboard (by the control sequence OSC 52)."
