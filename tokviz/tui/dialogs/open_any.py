"""Choosing a file of any size and kind; whoever asked reads it and says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from tokviz.tui.dialogs.open_file import OpenFileDialog


class OpenAnyDialog(OpenFileDialog):
    """Its result is the path of a file."""

    placeholder = "Type or paste a path, or part of a name"

    def __init__(self, title: str, folder: Path | None = None) -> None:
        """Take what stands in the frame, and the folder to begin in."""
        super().__init__(folder)
        self.dialog_title = title

    def _check(self, path: Path) -> None:  # type: ignore[override]
        """Take any file."""
        self.finish(path)
