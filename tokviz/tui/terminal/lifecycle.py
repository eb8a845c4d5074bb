"""Run an app, and always restore the terminal and return the right exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from tokviz.text.glyphs import safe_lines
from tokviz.tui.terminal.modes import SavedTerminal, save_terminal, terminal_fd

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver

    from tokviz.tui.terminal.driver import TerminalDriver

_ENDING_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM")
    if hasattr(signal, name)
)

_GRACE_SECONDS = 3.0
"""Seconds that the app has to end after a signal, before the process is ended."""

_SHARED_SECONDS = 0.001
"""Interval at which a thread releases the GIL. A key needs it about six times, so that Python's
default of 5 ms would be noticeable while a file is read.
"""

_TASK_SECONDS = 1.0
"""Time limit for tasks that are still running after the app."""


def driver_class() -> type[Driver] | None:
    """Return the driver for this terminal, None for Textual's own choice.

    Textual chooses on Windows, and if the environment names a driver (in the browser).
    """
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from tokviz.tui.terminal.driver import TerminalDriver

    return TerminalDriver


def run_app(app: App[Any]) -> int:
    """Run an app until it ends, and restore the terminal.

    Returns:
        The exit code for the process: 0 or the app's `return_code`, 1 after an exception (the
        traceback has been printed), 128 + n after signal n.
    """
    fd = terminal_fd()
    terminal = None if fd is None else save_terminal(fd)
    loop = asyncio.new_event_loop()
    shared_before = sys.getswitchinterval()
    sys.setswitchinterval(_SHARED_SECONDS)
    with _SignalEndings(app, loop, terminal) as endings:
        try:
            _run_in(loop, app)
            code = 1 if app.return_code is None else app.return_code
        except BaseException:
            _restore(app, terminal)
            traceback.print_exc()
            code = 1
        finally:
            sys.setswitchinterval(shared_before)
        _restore(app, terminal)
    if code:
        _show_last_words(app)
    return code if endings.signal_number is None else 128 + endings.signal_number


def exit_process(code: int) -> NoReturn:
    """End the process now, without waiting for running threads as `sys.exit` does."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue
    if any(
        not thread.daemon
        for thread in threading.enumerate()
        if thread.is_alive() and thread is not threading.main_thread()
    ):
        os._exit(code)
    sys.exit(code)


def _run_in(loop: asyncio.AbstractEventLoop, app: App[Any]) -> None:
    """Run the app as `asyncio.run` does, but do not wait for threads of workers."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(app.run_async())
    finally:
        try:
            _cancel_tasks(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _cancel_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=_TASK_SECONDS))


def _restore(app: App[Any], terminal: SavedTerminal | None) -> None:
    """Restore the terminal if the app's driver could not."""
    driver = _terminal_driver(app)
    if driver is not None and driver.in_application_mode and terminal is not None:
        terminal.restore()
        driver.leave_terminal()


def _show_last_words(app: App[Any]) -> None:
    """Print the output of native code to stderr after a crash."""
    driver = _terminal_driver(app)
    if driver is not None and driver.native_stderr.last_words and sys.stderr is not None:
        print(safe_lines(driver.native_stderr.last_words), file=sys.stderr)


def _terminal_driver(app: App[Any]) -> TerminalDriver | None:
    if sys.platform == "win32":
        return None
    from tokviz.tui.terminal.driver import TerminalDriver
    from tokviz.tui.textual_private.terminal_driver import driver_of

    driver = driver_of(app)
    return driver if isinstance(driver, TerminalDriver) else None


class _SignalEndings:
    """Context in which a signal that would kill the process ends the app instead.

    Signals that were ignored before (`nohup`) stay ignored.
    """

    def __init__(
        self, app: App[Any], loop: asyncio.AbstractEventLoop, terminal: SavedTerminal | None
    ) -> None:
        self.signal_number: int | None = None
        self._app = app
        self._loop = loop
        self._terminal = terminal
        self._before: dict[int, Callable[[int, FrameType | None], Any] | int | None] = {}
        self._last_resort = threading.Timer(_GRACE_SECONDS, self._end_process)
        self._last_resort.daemon = True

    def __enter__(self) -> _SignalEndings:
        for number in _ENDING_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._last_resort.cancel()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Ask the app to end. Only the first signal counts; a hangup often arrives twice."""
        if self.signal_number is not None:
            return
        self.signal_number = number
        self._last_resort.start()
        try:
            self._loop.call_soon_threadsafe(self._end_app)
        except RuntimeError:  # the loop is closed: the app has ended already
            return

    def _end_app(self) -> None:
        assert self.signal_number is not None
        self._app.exit(return_code=128 + self.signal_number)

    def _end_process(self) -> None:
        """End the process if the app does not react."""
        assert self.signal_number is not None
        _restore(self._app, self._terminal)
        os._exit(128 + self.signal_number)
