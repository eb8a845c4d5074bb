"""Writing the list of tokens, and the tokenizer itself, to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from tokviz.errors import TokvizError
from tokviz.files import write_file
from tokviz.tui.screens.vocabulary.base import VocabularyWork
from tokviz.vocabulary.export import EXPORT_KINDS, ExportKind, export

if TYPE_CHECKING:
    from tokviz.vocabulary.index import VocabularyIndex
    from tokviz.vocabulary.search import Selection


class VocabularyFiles(VocabularyWork):
    """Export of the list, and saving of the tokenizer."""

    def action_export_list(self) -> None:
        """Ask where to write the tokens that are listed."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        if self.index is None or self.selection is None:
            self.say("The vocabulary is still being read.")
            return
        folder = Path(self.settings.folder) if self.settings.folder else None
        n_tokens = len(self.selection.rows)
        dialog = SaveFileDialog(
            folder,
            "tokens.csv",
            title=f"Export {n_tokens:,} token{'s' * (n_tokens != 1)} as CSV, JSONL or TXT",
            verb="export",
            kinds=EXPORT_KINDS,
        )
        index, selection = self.index, self.selection

        def chosen(path: Path | None) -> None:
            if path is not None:
                self._export(path, index, selection)

        self.app.push_screen(dialog, chosen)

    @work(thread=True, group="save", description="export", exit_on_error=False)
    def _export(self, path: Path, index: VocabularyIndex, selection: Selection) -> None:
        try:
            data = export(index, selection.rows.tolist(), export_kind(path))
            write_file(path, data)
        except TokvizError as error:
            self.call_here(self.say, f"Not exported. {error}", "error")
            return
        n = len(selection.rows)
        self.call_here(self.say, f"Exported {n:,} token{'s' * (n != 1)} to {path}.")

    def action_save_tokenizer(self) -> None:
        """Ask for a format and a place, and write the tokenizer."""
        from tokviz.tui.dialogs.save_tokenizer import SaveTokenizerDialog

        tokenizer = self._wanted
        if tokenizer is None:
            return
        folder = Path(self.settings.folder) if self.settings.folder else None
        dialog = SaveTokenizerDialog(tokenizer, folder)

        def saved(path: Path | None) -> None:
            if path is not None:
                self.say(f"Saved to {path}.")

        self.app.push_screen(dialog, saved)


def export_kind(path: Path) -> ExportKind:
    """Give the kind of file that a name asks for; CSV if it says nothing."""
    ending = path.suffix.lower().removeprefix(".")
    return next((kind for kind in EXPORT_KINDS if kind == ending), "csv")
