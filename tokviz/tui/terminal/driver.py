"""Textual's driver for POSIX terminals, hardened: no input kills it, no ending leaves a mess."""

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
"""Bytes asked for in one read. A pseudo-terminal hands out up to 4,095 of them."""

HANGUP_CODE = 129
"""Exit code when the terminal has gone, as a shell says it for SIGHUP."""


_LAST_BYTES = 8_000


class NativeStderr:
    """File descriptor 2 leads into a temporary file while it is held."""

    def __init__(self) -> None:
        """Change nothing yet."""
        self._real: int | None = None
        self.last_words = ""
        """The end of what was written while it was held. Not safe for a terminal."""

    def hold(self) -> None:
        """Lead it away from the terminal. Where it is none, or nothing can be opened, leave it."""
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
        """Lead it to the terminal again."""
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
    """A text file that writes to a terminal and outlives it.

    Textual's writer thread writes to this. When the terminal has gone, what is written is dropped:
    an error would end that thread, and everybody who waits for it.
    """

    def __init__(self, fd: int) -> None:
        """Take the file descriptor of the terminal."""
        self._fd = fd
        self._parts: list[str] = []
        self._n_waiting = 0
        self._gone = False

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._fd

    def isatty(self) -> bool:
        """Tell whether it is a terminal."""
        return os.isatty(self._fd)

    def write(self, text: str) -> int:
        """Keep text for the next flush, or write it if there is much of it."""
        self._parts.append(text)
        self._n_waiting += len(text)
        if self._n_waiting >= _BLOCK_CHARACTERS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write what is waiting. A lone surrogate, which nobody can encode, becomes `?`."""
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
        self.set_output(open_output())
        self._wake_reader, self._wake_writer = os.pipe()
        self._stopped = False
        self.native_stderr = NativeStderr()
        self.in_application_mode = False

    def start_application_mode(self) -> None:
        """Take the terminal over. In the background, where that is not allowed, do nothing."""
        watcher.arm()
        self.native_stderr.hold()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.in_application_mode = self.is_reading
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
        parser = TerminalParser(self.is_debug)
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
                self.app.call_later(partial(self.app.exit, return_code=HANGUP_CODE))
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
