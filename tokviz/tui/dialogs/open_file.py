"""Choosing a file to open."""

from __future__ import annotations

import os
from pathlib import Path

from textual import on, work
from textual.message import Message

from tokviz.errors import InputFileError
from tokviz.tui.dialogs.file_dialog import FileDialog
from tokviz.tui.dialogs.folder import check_readable, typed_path


class OpenFileDialog(FileDialog):
    """Its result is the path of a file that could be read a moment ago."""

    dialog_title = "Open a file"
    placeholder = "Type or paste a path, or part of a name"
    verb = "open"

    class Checked(Message):
        """A file has been looked at."""

        def __init__(self, path: Path, is_text: bool, error: str) -> None:
            """Take the path, whether it looks like text, and what went wrong if anything did."""
            super().__init__()
            self.path = path
            self.is_text = is_text
            self.error = error

    def __init__(self, folder: Path | None = None) -> None:
        """Take the folder to begin in, the last one used if not given."""
        super().__init__(folder)
        self._binary: Path | None = None
        """A file that the user has been told is binary."""

    def action_choose(self) -> None:
        """Go into the folder, or open the file, that is typed or highlighted."""
        text = self.field.value
        if text and not self._moved:
            path = typed_path(text, self.folder)
            if os.path.lexists(path):
                self._take(path, os.path.isdir(path))
                return
        if self._reading:
            self._choose_when_listed = True
            return
        chosen = self.chosen_path()
        if chosen is not None:
            self._take(*chosen)
        elif text:
            self.show_error(f"{text}: there is no such file")

    def _take(self, path: Path, is_folder: bool) -> None:
        if is_folder:
            self._came_from = self._listed.name if self._listed is not None else ""
            self.enter_folder(path)
        else:
            self._check(path)

    @work(thread=True, exclusive=True, exit_on_error=False, group="check")
    def _check(self, path: Path) -> None:
        try:
            self.post_message(self.Checked(path, check_readable(path), ""))
        except InputFileError as error:
            self.post_message(self.Checked(path, False, str(error)))

    @on(Checked)
    def _checked(self, event: Checked) -> None:
        """Open the file, or say why not. A binary one is opened when asked a second time."""
        if event.error:
            self.show_error(event.error)
        elif event.is_text or event.path == self._binary:
            self.finish(event.path)
        else:
            self._binary = event.path
            self.show_error(
                f"{event.path.name} does not look like text. Press Enter again to see its bytes."
            )
