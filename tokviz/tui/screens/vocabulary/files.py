"""Writing the list of tokens, and the tokenizer itself, to files."""

from __future__ import annotations

from pathlib import Path

from tokviz.errors import TokvizError
from tokviz.files import write_file
from tokviz.listing import home_label
from tokviz.sentences import counted, why
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.vocabulary.searching import Searching
from tokviz.tui.tasks import Task
from tokviz.vocabulary.export import EXPORT_KINDS, ExportKind, export


class Files(Controller):
    """Export of the list, and saving of the tokenizer."""

    def __init__(self, screen: TokvizScreen, searching: Searching) -> None:
        """Take what was found."""
        super().__init__(screen)
        self._searching = searching

    @action("Save the tokenizer as…", "f12", section="Tokenizer", words="export convert")
    def save_tokenizer(self) -> None:
        """Write it as a file of Hugging Face, tiktoken, GPT-2 or minbpe."""
        from tokviz.tui.dialogs.save_tokenizer import SaveTokenizerDialog

        dialog = SaveTokenizerDialog(self.session.tokenizer, self.session.folder)
        self.ask(dialog, lambda path: self.say(f"Saved to {home_label(path)}."))

    @action("Export the list…", "ctrl+s", section="List", footer="export")
    def export_list(self) -> None:
        """Write the tokens found to a CSV, JSON lines or text file, their bytes exact."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        index, selection = self._searching.index, self._searching.selection
        if index is None or selection is None:
            self.say("The vocabulary is still being read.")
            return
        tokens = counted(len(selection.rows), "token")

        def export_to(path: Path) -> None:
            def write(task: Task) -> None:
                write_file(path, export(index, selection.rows.tolist(), export_kind(path)))

            def failed(error: TokvizError) -> None:
                self.say(why("Not exported", error), "error")

            def done(_: None) -> None:
                self.say(f"Exported {tokens} to {home_label(path)}.")

            self.in_thread("save", write, done, failed=failed, exclusive=False)

        dialog = SaveFileDialog(
            self.session.folder,
            "tokens.csv",
            title=f"Export {tokens} as CSV, JSONL or TXT",
            verb="export",
            kinds=EXPORT_KINDS,
        )
        self.ask(dialog, export_to)


def export_kind(path: Path) -> ExportKind:
    """Give the kind of file that a name asks for; CSV if it says nothing."""
    ending = path.suffix.lower().removeprefix(".")
    return next((kind for kind in EXPORT_KINDS if kind == ending), "csv")
