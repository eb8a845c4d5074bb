"""Choosing a file or a folder to train on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.file_dialog import FileDialog
from tokviz.tui.dialogs.open_file import OpenFileDialog


class AddCorpusDialog(OpenFileDialog):
    """Its result is a file of any size, or a folder."""

    dialog_title = "Add to the corpus"
    placeholder = "Type or paste a path, or part of a name"
    verb = "add or enter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "add_folder", show=False, priority=True)
    ]

    def _hints(self) -> Sequence[Hint]:
        enter, escape, *others = super()._hints()
        return [enter, escape, ("Ctrl+O", "add this folder", "add_folder"), *others]

    def action_add_folder(self) -> None:
        """End with the folder that is highlighted on purpose, else with the one that is shown."""
        chosen = self.chosen_path() if self._moved else None
        if chosen is not None and chosen[1]:
            self._end_with_folder(chosen[0])
        elif self._listed is not None:
            self._end_with_folder(self._listed)

    def _end_with_folder(self, folder: Path) -> None:
        FileDialog.last_folder = folder
        self.dismiss(folder)

    def _check(self, path: Path) -> None:  # type: ignore[override]
        """Take any file: what cannot be read is said beside it in the list."""
        self.finish(path)
