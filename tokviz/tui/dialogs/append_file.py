"""Choosing a file to add something to the end of."""

from __future__ import annotations

from pathlib import Path

from tokviz.tui.dialogs.save_file import SaveFileDialog


class AppendFileDialog(SaveFileDialog):
    """Its result is a file that exists, or a path in a folder that does."""

    dialog_title = "Append the conversation to"
    placeholder = "Name of a .jsonl file, old or new"
    verb = "append"

    def _ask_to_replace(self, path: Path) -> None:
        """Take the file: nothing in it is replaced."""
        self.finish(path)
