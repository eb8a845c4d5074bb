"""Choosing where to write a list of tokens; the end of the name chooses the kind of file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.save_file import SaveFileDialog
from tokviz.vocabulary.export import EXPORT_KINDS


class ExportListDialog(SaveFileDialog):
    """Its result is a path that ends in .csv, .jsonl or .txt."""

    placeholder = "Name of the file"
    verb = "export"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+k", "next_kind", show=False, priority=True)
    ]

    def __init__(self, folder: Path | None, n_tokens: int) -> None:
        """Take the folder to begin in, and how many tokens are to be written."""
        super().__init__(folder, "tokens.csv")
        self.dialog_title = f"Export {n_tokens:,} token{'s' * (n_tokens != 1)} as CSV, JSONL or TXT"

    def _hints(self) -> Sequence[Hint]:
        enter, escape, *others = super()._hints()
        return [enter, escape, ("Ctrl+K", "csv, jsonl, txt", "next_kind"), *others]

    def action_next_kind(self) -> None:
        """Change the end of the name."""
        path = Path(self.field.value or "tokens")
        ending = path.suffix.lower().removeprefix(".")
        kinds: list[str] = list(EXPORT_KINDS)
        place = kinds.index(ending) + 1 if ending in kinds else 0
        value = str(path.with_suffix("." + kinds[place % len(kinds)]))
        self.field.value = value
        self.field.cursor_position = len(value)

    def _take(self, path: Path, is_folder: bool) -> None:
        if not is_folder and path.suffix.lower().removeprefix(".") not in EXPORT_KINDS:
            self.show_error("End the name in .csv, .jsonl or .txt: that is the kind of file.")
        else:
            super()._take(path, is_folder)
