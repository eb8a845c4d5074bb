"""Textual's driver for POSIX terminals, hardened: no input kills it, no ending leaves a mess."""

from __future__ import annotations

import os
import select
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

from tokviz.tui.terminal import watcher
from tokviz.tui.terminal.input import TerminalParser
from tokviz.tui.terminal.native_stderr import NativeStderr
from tokviz.tui.terminal.output import open_output

if TYPE_CHECKING:
    from textual.app import App

READ_BYTES = 1 << 16
"""Bytes asked for in one read. A pseudo-terminal hands out up to 4,095 of them."""

HANGUP_CODE = 129
"""Exit code when the terminal has gone, as a shell says it for SIGHUP."""


class TerminalDriver(LinuxDriver):
    """Reads keys and pastes robustly, and knows whether the terminal is the app's."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Initialize as Textual does, but write to a terminal even where stderr is none."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file = open_output()  # type: ignore[assignment]  # all that its writer needs
        self._wake_reader, self._wake_writer = os.pipe()
        self._stopped = False
        self.native_stderr = NativeStderr()
        self.in_application_mode = False

    def start_application_mode(self) -> None:
        """Take the terminal over. In the background, where that is not allowed, do nothing."""
        watcher.arm()
        self.native_stderr.hold()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.in_application_mode = self._key_thread is not None and self._key_thread.is_alive()
        if not self.in_application_mode:
            self.leave_terminal()

    def stop_application_mode(self) -> None:
        """Give the terminal back. The bytes are on their way until `close` returns."""
        super().stop_application_mode()
        self.write("\x1b[?1016l")  # mouse reports in pixels, which Textual forgets

    def disable_input(self) -> None:
        """Stop reading at once instead of after the next timeout."""
        os.write(self._wake_writer, b"\0")
        super().disable_input()
        os.read(self._wake_reader, 1)

    def close(self) -> None:
        """Wait until everything is written."""
        super().close()
        self.leave_terminal()

    def leave_terminal(self) -> None:
        """Note that the terminal has been given back."""
        self.in_application_mode = False
        self.native_stderr.release()
        watcher.disarm()

    def run_input_thread(self) -> None:
        """Read the terminal and post messages until the input is disabled or the terminal goes."""
        parser = TerminalParser(self._debug)
        try:
            while not self.exit_event.is_set():
                if not self._process_input(parser):
                    break
        finally:
            parser.close()

    def _process_input(self, parser: TerminalParser) -> bool:
        """Process one read, or the lack of one.

        Returns:
            Whether there is more to expect.
        """
        waiting_since = monotonic()
        patience = parser.patience
        if self._is_readable(patience):
            data = self._read()
            if data is None:
                self._app.call_later(partial(self._app.exit, return_code=HANGUP_CODE))
                return False
            for message in parser.feed(data):
                self.process_message(message)
        # Other threads may have had the interpreter for long: look again before giving up waiting.
        elif not self._is_readable(0.0):
            for message in parser.wait(monotonic() - waiting_since):
                self.process_message(message)
        return True

    def _is_readable(self, seconds: float | None) -> bool:
        """Wait for input. Being woken up counts as none."""
        readable, _, _ = select.select((self.fileno, self._wake_reader), (), (), seconds)
        return self.fileno in readable and self._wake_reader not in readable

    def _read(self) -> bytes | None:
        """Read what is there, None if the terminal has gone."""
        try:
            return os.read(self.fileno, READ_BYTES) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def _sigtstp_application(self, *arguments: Any) -> None:
        """Stop the process, from the event loop: here the writer's queue may be locked."""
        self._loop.call_soon_threadsafe(self._stop_process)

    def _stop_process(self) -> None:
        self._stopped = self._auto_restart
        super()._sigtstp_application()

    def _sigcont_application(self, *arguments: Any) -> None:
        """Come back after a stop.

        After SIGSTOP, which nobody can prepare for, the terminal is still the app's, but whoever
        used it since may have changed it.
        """
        if self.in_application_mode:
            self._loop.call_soon_threadsafe(self._retake_terminal)
        elif self._stopped:
            super()._sigcont_application()
            self._stopped = not self.in_application_mode

    def _retake_terminal(self) -> None:
        """Give the terminal back and take it over anew."""
        # The kernel sends SIGCONT with a hangup too: then the app is ending.
        if self.in_application_mode and self._auto_restart and not self._app._exit:
            self._must_signal_resume = True
            self.suspend_application_mode()
            self.resume_application_mode()
