"""Choosing where to save."""

from __future__ import annotations

import os
from pathlib import Path

from tokviz.glyphs import safe
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.file_dialog import FileDialog
from tokviz.tui.dialogs.folder import typed_path


class SaveFileDialog(FileDialog):
    """Its result is a path in a folder that exists; an existing file was confirmed."""

    dialog_title = "Save the text as"
    placeholder = "Name of the file"
    verb = "save"
    seeks = False

    def __init__(self, folder: Path | None = None, name: str = "") -> None:
        """Take the folder to begin in, the last one used if not given, and the name to offer."""
        super().__init__(folder, name if safe(name) == name else "")

    def action_choose(self) -> None:
        """Go into the folder that is typed or highlighted, or save under the name."""
        chosen = self.chosen_path() if self._moved else None
        if chosen is not None:
            self._take(*chosen)
        elif self.field.value:
            path = typed_path(self.field.value, self.folder)
            self._take(path, os.path.isdir(path))
        else:
            self.show_error("Type a name for the file.")

    def _take(self, path: Path, is_folder: bool) -> None:
        if is_folder:
            self.enter_folder(path, os.path.basename(self.field.value) if self._moved else "")
        elif os.path.lexists(path):
            self._ask_to_replace(path)
        elif not os.path.isdir(path.parent):
            self.show_error(f"{path.parent.name}: there is no such folder")
        elif not os.access(path.parent, os.W_OK):
            self.show_error(f"{path.parent}: no permission to write there")
        else:
            self.finish(path)

    def _ask_to_replace(self, path: Path) -> None:
        def answered(replace: bool | None) -> None:
            if replace:
                self.finish(path)

        question = f"Replace {path.name}? It exists already in {path.parent}."
        self.app.push_screen(ConfirmDialog("Save", question, "replace", danger=True), answered)
