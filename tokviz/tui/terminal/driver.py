"""Driver for POSIX terminals that survives any input and always restores the terminal."""

from __future__ import annotations

import os
import select
import sys
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from tokviz.tui.terminal import watcher
from tokviz.tui.terminal.input import TerminalParser
from tokviz.tui.terminal.modes import terminal_fd
from tokviz.tui.textual_private.signal_driver import SignalDriver

if TYPE_CHECKING:
    from textual.app import App

READ_BYTES = 1 << 16
"""Maximum bytes per read. A pseudo-terminal returns up to 4,095."""

HANGUP_CODE = 129
"""Exit code if the terminal was closed, as a shell reports SIGHUP."""


_LAST_BYTES = 8_000


class NativeStderr:
    """Redirects file descriptor 2 to a temporary file while the app has the terminal."""

    def __init__(self) -> None:
        """Start without redirecting."""
        self._real: int | None = None
        self.last_words = ""
        """End of the redirected output. It may contain control characters."""

    def hold(self) -> None:
        """Redirect stderr, unless it is not a terminal or no file can be opened."""
        if self._real is not None or not os.isatty(2):
            return
        try:
            file, real = _nameless_file(), os.dup(2)
        except OSError:
            return
        self._real = real
        os.dup2(file, 2)
        os.close(file)

    def release(self) -> None:
        """Restore stderr."""
        if self._real is None:
            return
        size = os.lseek(2, 0, os.SEEK_END)
        os.lseek(2, max(0, size - _LAST_BYTES), os.SEEK_SET)
        words = os.read(2, _LAST_BYTES).decode("utf-8", "replace")
        self.last_words = words or self.last_words
        os.dup2(self._real, 2)
        os.close(self._real)
        self._real = None


def _nameless_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create("stderr")
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        return os.dup(file.fileno())


_BLOCK_CHARACTERS = 1 << 16


class TerminalOutput:
    """A text file that writes to a terminal, and drops the output once the terminal is closed.

    An error would end Textual's writer thread and block the code that waits for it.
    """

    def __init__(self, fd: int) -> None:
        """Create the file for the file descriptor of a terminal."""
        self._fd = fd
        self._parts: list[str] = []
        self._n_waiting = 0
        self._gone = False

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._fd

    def isatty(self) -> bool:
        """Return whether the file is a terminal."""
        return os.isatty(self._fd)

    def write(self, text: str) -> int:
        """Buffer text until the next flush, or until there is much of it."""
        self._parts.append(text)
        self._n_waiting += len(text)
        if self._n_waiting >= _BLOCK_CHARACTERS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write the buffered text. Lone surrogates, which UTF-8 cannot encode, become `?`."""
        data = memoryview("".join(self._parts).encode("utf-8", "replace"))
        self._parts.clear()
        self._n_waiting = 0
        while data and not self._gone:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:  # another program left the terminal in non-blocking mode
                select.select((), (self._fd,), ())
            except OSError:
                self._gone = True


def open_output() -> TerminalOutput:
    """Open the terminal for writing: stdout, else stderr (Textual's choice), else `/dev/tty`."""
    fd = terminal_fd()
    if fd is not None:
        return TerminalOutput(fd)
    try:
        return TerminalOutput(os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY))
    except OSError:
        return TerminalOutput(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)


class TerminalDriver(SignalDriver):
    """Reads keys and pastes, and knows whether the app has the terminal."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Create Textual's driver, but write to a terminal even if stderr is not one."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.set_output(open_output())
        self._wake_reader, self._wake_writer = os.pipe()
        self._stopped = False
        self.native_stderr = NativeStderr()
        self.in_application_mode = False

    def start_application_mode(self) -> None:
        """Take the terminal over, unless the process is in the background."""
        watcher.arm()
        self.native_stderr.hold()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.in_application_mode = self.is_reading
        if not self.in_application_mode:
            self.leave_terminal()

    def stop_application_mode(self) -> None:
        """Give the terminal back. All bytes are written when `close` returns."""
        super().stop_application_mode()
        self.write("\x1b[?1016l")  # mouse reports in pixels, which Textual does not reset

    def disable_input(self) -> None:
        """Stop reading at once instead of after the next timeout."""
        os.write(self._wake_writer, b"\0")
        super().disable_input()
        os.read(self._wake_reader, 1)

    def close(self) -> None:
        """Wait until all output is written."""
        super().close()
        self.leave_terminal()

    def leave_terminal(self) -> None:
        """Note that the terminal has been given back."""
        self.in_application_mode = False
        self.native_stderr.release()
        watcher.disarm()

    def run_input_thread(self) -> None:
        """Read the terminal and post messages until input is disabled or the terminal is closed."""
        parser = TerminalParser(self.is_debug)
        try:
            while not self.exit_event.is_set():
                if not self._process_input(parser):
                    break
        finally:
            parser.close()

    def _process_input(self, parser: TerminalParser) -> bool:
        """Process one read, or a pause in the input.

        Returns:
            False if the terminal was closed.
        """
        waiting_since = monotonic()
        patience = parser.patience
        if self._is_readable(patience):
            data = self._read()
            if data is None:
                self.app.call_later(partial(self.app.exit, return_code=HANGUP_CODE))
                return False
            for message in parser.feed(data):
                self.process_message(message)
        # Other threads may have held the GIL for long: check again before assuming a pause.
        elif not self._is_readable(0.0):
            for message in parser.wait(monotonic() - waiting_since):
                self.process_message(message)
        return True

    def _is_readable(self, seconds: float | None) -> bool:
        """Wait for input; return False if woken up."""
        readable, _, _ = select.select((self.fileno, self._wake_reader), (), (), seconds)
        return self.fileno in readable and self._wake_reader not in readable

    def _read(self) -> bytes | None:
        """Read available bytes; return None if the terminal was closed."""
        try:
            return os.read(self.fileno, READ_BYTES) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def on_stop_signal(self) -> None:
        """Stop the process from the event loop, because the writer's queue may be locked here."""
        self.event_loop.call_soon_threadsafe(self._stop_process)

    def _stop_process(self) -> None:
        self._stopped = self.resumes
        super().on_stop_signal()

    def on_continue_signal(self) -> None:
        """Resume after a stop.

        After SIGSTOP, which a process cannot prepare for, the terminal is still the app's, but
        another program may have changed its modes.
        """
        if self.in_application_mode:
            self.event_loop.call_soon_threadsafe(self._retake_terminal)
        elif self._stopped:
            super().on_continue_signal()
            self._stopped = not self.in_application_mode

    def _retake_terminal(self) -> None:
        # The kernel sends SIGCONT with a hangup too: then the app is ending.
        if self.in_application_mode and self.resumes and self.app.return_code is None:
            self.retake_terminal()
