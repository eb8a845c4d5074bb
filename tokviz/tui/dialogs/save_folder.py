"""Choosing where to save a folder."""

from __future__ import annotations

import os
from pathlib import Path

from tokviz.tui.dialogs.save_file import SaveFileDialog


class SaveFolderDialog(SaveFileDialog):
    """Its result is the path of a folder that does not exist yet, in one that does."""

    dialog_title = "Save the trained tokenizer as"
    placeholder = "Name of a new folder"

    def _take(self, path: Path, is_folder: bool) -> None:
        if not is_folder and os.path.lexists(path):
            self.show_error(f"{path.name} is there already, and is no folder.")
        else:
            super()._take(path, is_folder)
