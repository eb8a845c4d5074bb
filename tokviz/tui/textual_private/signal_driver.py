"""Give a POSIX driver another output, and hooks for SIGTSTP and SIGCONT.

Upstream problem: `LinuxDriver` writes to stderr only, even if that is not a terminal. Its signal
handlers write from inside the handler, where the writer's queue may be locked, and they do not
restore the terminal after SIGSTOP. None of this has a public setting.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from typing import TYPE_CHECKING, Any

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from textual.app import App


class SignalDriver(LinuxDriver):
    """`LinuxDriver` with public names for its output, its state and its signal handlers."""

    def set_output(self, output: object) -> None:
        """Write to an object with the methods of a text file that Textual's writer uses."""
        self._file = output  # type: ignore[assignment]  # Textual only writes, flushes and closes it

    @property
    def app(self) -> App[Any]:
        """The app of the driver."""
        return self._app

    @property
    def event_loop(self) -> AbstractEventLoop:
        """The event loop of the app."""
        return self._loop

    @property
    def is_debug(self) -> bool:
        """Whether the driver logs its input."""
        return self._debug

    @property
    def is_reading(self) -> bool:
        """Whether the thread that reads keys is running."""
        return self._key_thread is not None and self._key_thread.is_alive()

    @property
    def resumes(self) -> bool:
        """Whether the driver takes the terminal over again when the process continues."""
        return self._auto_restart

    def on_stop_signal(self) -> None:
        """Handle SIGTSTP; by default stop the process."""
        super()._sigtstp_application()

    def on_continue_signal(self) -> None:
        """Handle SIGCONT; by default take the terminal over again."""
        super()._sigcont_application()

    def retake_terminal(self) -> None:
        """Give the terminal back, take it over again and report that the app resumed."""
        self._must_signal_resume = True
        self.suspend_application_mode()
        self.resume_application_mode()

    def _sigtstp_application(self, *arguments: Any) -> None:
        self.on_stop_signal()

    def _sigcont_application(self, *arguments: Any) -> None:
        self.on_continue_signal()
