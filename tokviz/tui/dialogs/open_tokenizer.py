"""Choosing a tokenizer's file or folder."""

from __future__ import annotations

from tokviz.tui.dialogs.add_corpus import AddCorpusDialog


class OpenTokenizerDialog(AddCorpusDialog):
    """Its result is a file of any kind, or a folder; whoever loads it says what is wrong."""

    dialog_title = "Open a tokenizer"
    verb = "load or enter"

    def _hints(self) -> list[tuple[str, str, str]]:
        hints = list(super()._hints())
        return [
            ("Ctrl+O", "load this folder", "add_folder") if hint[2] == "add_folder" else hint
            for hint in hints
        ]
