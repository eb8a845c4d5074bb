"""Save and open session files, and write changed settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.timer import Timer

from tokviz.storage.files import write_file
from tokviz.storage.listing import home_label
from tokviz.text.sentences import failure_message
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import TokvizScreen, ask
from tokviz.tui.screens.choosing import cancel_pending_loads
from tokviz.tui.tasks import Task, in_thread
from tokviz.workspace.session import SESSION_ENDING, Session

if TYPE_CHECKING:
    from tokviz.workspace.session_file import LoadedSession

SETTINGS_SECONDS = 0.3
"""Delay before changed settings are written, because several often change at once."""


class SessionFiles:
    """The session file that was saved or opened last. Its actions are actions of the app."""

    def __init__(
        self, app: App[Any], session: Session, screens: Mapping[str, TokvizScreen]
    ) -> None:
        """Create the actions.

        Args:
            app: The app.
            session: The session.
            screens: The screens created so far, by id.
        """
        self._app, self._session, self._screens = app, session, screens
        self._file: Path | None = None

    @action("Save the session…", f"{LEADER} k", section="App",
            words="share workspace project tokviz.json keep")  # fmt: skip
    def save_session(self) -> None:
        """Save the text, the tokenizers, the conversation and the current screen to a file.

        Opening the file restores them. It stores tokenizer names, not the tokenizers.
        """
        from tokviz.tui.dialogs.file_dialog import SaveFileDialog
        from tokviz.workspace.session_file import capture_session, to_bytes

        app = self._app
        session, text_path = self._session, self._session.path
        ready = [screen for screen in self._screens.values() if screen.is_ready]
        fields = {key: value for screen in ready for key, value in screen.saved().items()}
        save = capture_session(session, app.current_mode, fields)

        def save_to(path: Path) -> None:
            def report(_: None) -> None:
                self._file = path
                app.notify(f"Saved the session to {home_label(path)}.", markup=False)

            def write(task: Task) -> None:
                write_file(path, to_bytes(save()))

            in_thread(app, "save", write, report, exclusive=False)

        name = f"{text_path.stem if text_path else 'session'}{SESSION_ENDING}"
        dialog = SaveFileDialog(
            self._file.parent if self._file else session.folder,
            self._file.name if self._file else name,
            title="Save the session",
            kinds=(SESSION_ENDING[1:],),
        )
        ask(app, dialog, save_to)

    @action("Open a session…", f"{LEADER} o", section="App",
            words="load workspace project tokviz.json resume")  # fmt: skip
    def open_session(self) -> None:
        """Open a session file. Undo brings your text and conversation back."""
        from tokviz.tui.dialogs.file_dialog import OpenFileDialog

        folder = self._session.folder
        ask(
            self._app,
            OpenFileDialog(folder, title="Open a session", takes_any=True),
            self.open_file,
        )

    def open_file(self, path: Path) -> None:
        """Open a session file in a thread."""
        from tokviz.workspace.session_file import load_session, read_session, restore

        app = self._app

        def show(found: LoadedSession) -> None:
            self._file = path
            cancel_pending_loads(app)
            restore(self._session, found)
            for warning in found.missing:
                app.notify(warning, severity="warning", markup=False)

        in_thread(
            app,
            "session",
            lambda task: load_session(read_session(path), self._session.settings),
            show,
            failed=lambda error: app.notify(
                failure_message("Not opened", error), severity="error", markup=False
            ),
        )


class SettingsWriter:
    """Writes changed settings after a short delay."""

    def __init__(self, app: App[Any], session: Session) -> None:
        """Start without a change."""
        self._app, self._session = app, session
        self._timer: Timer | None = None
        self._last_complaint: str | None = None

    def schedule(self) -> None:
        """Write the settings soon."""
        if self._timer is None:
            self._timer = self._app.set_timer(SETTINGS_SECONDS, self.write)

    def write(self) -> None:
        """Write the settings in a thread, and report a failure unless it is the previous one."""
        self._timer = None
        app = self._app

        def report(complaint: str | None) -> None:
            if complaint is not None and complaint != self._last_complaint:
                app.notify(complaint, severity="warning", markup=False)
            self._last_complaint = complaint

        def write(task: Task) -> str | None:
            return self._session.write_settings()

        in_thread(app, "save", write, report, exclusive=False)
