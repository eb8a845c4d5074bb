"""A tiny process that restores the terminal when the app dies without a chance to do it itself.

Nothing inside a process survives SIGKILL or a crash of native code. So before the heavy imports the
process forks: the child sleeps on a pipe whose other end only the app holds. The app says when the
terminal is its own (`arm`) and when it is not (`disarm`). The pipe closes when the app is gone; if
the terminal was the app's by then, the watcher resets it. It then ends, whatever happened.

The watcher is in a session of its own: no key and no hangup signals it, it takes no part in job
control, and it never reads from the terminal.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from tokviz.tui.terminal.modes import SavedTerminal, save_terminal, terminal_fd

_ARMED = b"+"
_DISARMED = b"-"
_MAX_FDS = 1 << 16

_pipe: int | None = None
"""Write end of the pipe to the watcher. One per process, as the terminal is."""


def start() -> None:
    """Start the watcher, before heavy imports and before any thread.

    Without a terminal, without `fork` or when the system refuses, there is none and nothing fails.
    """
    global _pipe
    terminal = terminal_fd()
    if _pipe is not None or terminal is None or sys.platform == "win32":
        return
    saved = save_terminal(terminal)
    try:
        reader, writer = os.pipe()
    except OSError:
        return
    # The watcher keeps all signals blocked: it hears none, not even before it is on its own.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        if os.fork() == 0:
            _run_watcher(reader, saved)
    except OSError:
        os.close(writer)
    else:
        _pipe = writer
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
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


def _run_watcher(reader: int, saved: SavedTerminal) -> NoReturn:
    """Be the watcher. Never returns into the code of the app."""
    try:
        _detach(reader, saved.fd)
        if _wait_for_the_end(0):
            _restore(SavedTerminal(1, saved.attributes))
    finally:
        os._exit(0)


def _detach(reader: int, terminal: int) -> None:
    """Keep the pipe (as 0) and the terminal (as 1), and nothing else of the app's."""
    os.setsid()
    kept_terminal, kept_reader = os.dup(terminal), os.dup(reader)
    os.dup2(kept_reader, 0)
    os.dup2(kept_terminal, 1)
    os.closerange(2, min(os.sysconf("SC_OPEN_MAX"), _MAX_FDS))
    os.chdir("/")


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
