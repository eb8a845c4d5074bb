"""Writing the list of tokens, and the tokenizer itself, to files."""

from __future__ import annotations

from tokviz.explain.vocabulary.export import EXPORT_KINDS, export
from tokviz.storage.listing import home_label
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import action
from tokviz.tui.dialogs.save_tokenizer import SaveTokenizerDialog
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.exporting import export_as
from tokviz.tui.screens.vocabulary.searching import Searching


class Files(Controller):
    """Export of the list, and saving of the tokenizer."""

    def __init__(self, screen: TokvizScreen, searching: Searching) -> None:
        """Create the controller with the search results."""
        super().__init__(screen)
        self._searching = searching

    @action("Save the tokenizer as…", "f12", section="Tokenizer", words="export convert")
    def save_tokenizer(self) -> None:
        """Write it as a file of Hugging Face, tiktoken, GPT-2 or minbpe."""
        dialog = SaveTokenizerDialog(self.session.tokenizer, self.session.folder)
        self.ask(dialog, lambda path: self.say(f"Saved to {home_label(path)}."))

    @action("Export the list…", "ctrl+s", section="List", footer="export")
    def export_list(self) -> None:
        """Write the tokens found to a CSV, JSON lines or text file, their bytes exact."""
        index, selection = self._searching.index, self._searching.selection
        if index is None or selection is None:
            self.say("The vocabulary is still being read.")
            return
        tokens = pluralize(len(selection.rows), "token")
        export_as(
            self,
            "tokens",
            f"Export {tokens} as CSV, JSONL or TXT",
            {kind: kind for kind in EXPORT_KINDS},
            lambda kind: export(index, selection.rows.tolist(), kind),
            tokens,
        )
