"""A tiny process that restores the terminal when the app dies without a chance to do it itself.

Nothing inside a process survives SIGKILL or a crash of native code. So the app starts a second one,
which sleeps on a pipe whose other end only the app holds. The app says when the terminal is its own
(`arm`) and when it is not (`disarm`). The pipe closes when the app is gone; if the terminal was the
app's by then, the watcher resets it. It then ends, whatever happened.

The watcher is in a session of its own: no key and no hangup signals it, it takes no part in job
control, and it never reads from the terminal. It is an interpreter of its own and no fork of the
app: after a fork the app would have to copy every page of memory that it writes to next, which
takes a twentieth of the time until the first frame.
"""

from __future__ import annotations

import marshal
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from tokviz.tui.terminal.modes import SavedTerminal, save_terminal, terminal_fd

_ARMED = b"+"
_DISARMED = b"-"
_MAX_FDS = 1 << 16

_PROGRAM = """\
import sys
sys.path.append(sys.argv[1])
from tokviz.tui.terminal.watcher import watch
watch(sys.argv[2])
"""
_PACKAGES = Path(__file__).resolve().parents[3]

_pipe: int | None = None
"""Write end of the pipe to the watcher. One per process, as the terminal is."""


def start() -> None:
    """Start the watcher, before the app changes the terminal.

    Without a terminal, without an interpreter to run or when the system refuses, there is none and
    nothing fails.
    """
    global _pipe
    terminal = terminal_fd()
    if _pipe is not None or terminal is None or sys.platform == "win32" or not sys.executable:
        return
    packed = marshal.dumps(save_terminal(terminal).attributes).hex()
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_PACKAGES), packed]
    try:
        reader, writer = os.pipe()
    except OSError:
        return
    try:
        # With all signals blocked it hears none, not even before it is on its own.
        os.posix_spawn(
            command[0],
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reader, 0),
                (os.POSIX_SPAWN_DUP2, terminal, 1),
            ],
            setsigmask=signal.valid_signals(),
        )
    except OSError:
        os.close(writer)
    else:
        _pipe = writer
    finally:
        os.close(reader)


def arm() -> None:
    """Say that the terminal is the app's from now on."""
    _send(_ARMED)


def disarm() -> None:
    """Say that the terminal has been given back."""
    _send(_DISARMED)


def _send(word: bytes) -> None:
    global _pipe
    if _pipe is None:
        return
    try:
        os.write(_pipe, word)
    except OSError:  # somebody killed the watcher
        os.close(_pipe)
        _pipe = None


def watch(packed_attributes: str) -> NoReturn:
    """Be the watcher, with the pipe as 0 and the terminal as 1.

    Args:
        packed_attributes: The attributes that the terminal had before the app.
    """
    try:
        os.setsid()
        os.closerange(2, min(os.sysconf("SC_OPEN_MAX"), _MAX_FDS))
        os.chdir("/")
        if _wait_for_the_end(0):
            _restore(SavedTerminal(1, marshal.loads(bytes.fromhex(packed_attributes))))
    finally:
        os._exit(0)


def _wait_for_the_end(reader: int) -> bool:
    """Sleep until the app is gone.

    Returns:
        Whether the terminal was its own by then.
    """
    armed = False
    while words := os.read(reader, 64):
        armed = words.endswith(_ARMED)
    return armed


def _restore(saved: SavedTerminal) -> None:
    """Reset the terminal. If a shell has already set its own attributes, those stay."""
    if saved.is_raw():
        saved.restore()
    else:
        SavedTerminal(saved.fd, None).restore()
