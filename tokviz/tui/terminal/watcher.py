"""A small process that restores the terminal if the app is killed.

No process can handle SIGKILL or a crash of native code. Therefore the app starts a second process,
which waits on a pipe whose other end only the app has open. The app reports when it takes the
terminal over (`arm`) and when it gives it back (`disarm`). The pipe closes when the app ends; if
the app had the terminal then, the watcher resets it. Then the watcher ends.

The watcher runs in a separate session, so that keys, hangups and job control do not affect it, and
it never reads from the terminal. It is a new interpreter rather than a fork, because after a fork
the app would copy every page of memory that it writes to, which takes 5 % of the time until the
first frame.
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
"""Write end of the pipe to the watcher, one per process."""


def start() -> None:
    """Start the watcher, before the app changes the terminal.

    Do nothing without a terminal or an interpreter, or if the system refuses.
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
        # All signals are blocked, so that none arrives before it has its own session.
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
    """Report that the app has taken the terminal over."""
    _send(_ARMED)


def disarm() -> None:
    """Report that the app has given the terminal back."""
    _send(_DISARMED)


def _send(word: bytes) -> None:
    global _pipe
    if _pipe is None:
        return
    try:
        os.write(_pipe, word)
    except OSError:  # the watcher was killed
        os.close(_pipe)
        _pipe = None


def watch(packed_attributes: str) -> NoReturn:
    """Run the watcher, with the pipe as file descriptor 0 and the terminal as 1.

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
    """Wait until the app ends.

    Returns:
        Whether the app had the terminal then.
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
