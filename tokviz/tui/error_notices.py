"""Report unexpected errors to the user instead of ending the app."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual.app import App
from textual.worker import WorkerFailed

from tokviz.tui import clipboard
from tokviz.workspace.error_log import ErrorLog, ErrorReport


class ErrorNotices:
    """Notifications about unexpected errors."""

    def __init__(self, app: App[Any], log: ErrorLog) -> None:
        """Create the reporter.

        Args:
            app: The app.
            log: Records each error, and counts how often it occurred.
        """
        self._app = app
        self._log = log
        self.last_error: ErrorReport | None = None

    def record(self, error: Exception) -> ErrorReport:
        """Write an error to the log."""
        return self._log.note(error.error if isinstance(error, WorkerFailed) else error)

    def report(self, noted: ErrorReport) -> None:
        """Show an error to the user; exit if it occurred before."""
        if noted.times > 1:
            where = f" The whole error is in {noted.file}." if noted.file else ""
            message = f"tokviz ended because the same error occurred twice: {noted.summary}.{where}"
            self._app.exit(return_code=1, message=Text(message))
            return
        self.last_error = noted
        # Textual parses the notification as markup, in which a lone bracket must be escaped.
        summary, where = (
            text.replace("[", r"\[")
            for text in (noted.summary, f" It is also in {noted.file}." if noted.file else "")
        )
        link = "[@click=app.copy_error]Copy the full error[/]"
        text = f"{summary}. Your text is safe. {link}{where}"
        self._app.notify(text, title="ErrorReport error", severity="error", timeout=30)

    async def copy_last(self) -> None:
        """Copy the traceback of the last error."""
        if self.last_error is not None:
            result = await clipboard.copy(self._app, self.last_error.trace)
            self._app.notify(clipboard.copied(result, "the error"), markup=False)
