"""Commands that change the corpus."""

from __future__ import annotations

from tokviz.text import bytetext
from tokviz.training.corpus.entries import save_text
from tokviz.tui.actions import action
from tokviz.tui.dialogs.ask_text import AskDialog
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.train.form import TrainForm
from tokviz.tui.screens.train.state import TrainState, during


class Corpus(Controller):
    """Add files, folders and typed text to the corpus, or clear it."""

    state: TrainState
    _form: TrainForm

    @action(
        "Add files to the corpus",
        "ctrl+o",
        section="Corpus",
        footer="add files",
        when=during("form"),
    )
    def add_corpus(self) -> None:
        """Choose a file or a folder to train on."""
        dialog = OpenFileDialog(
            self.session.folder,
            title="Add to the corpus",
            verb="add",
            takes_any=True,
            folder_verb="add this folder",
        )
        self.ask(dialog, lambda path: self._form.add_sources([str(path)]))

    @action("Type a text to train on", section="Corpus", when=during("form"))
    def type_corpus(self) -> None:
        """Type a text to train on. A line of words is enough to see how BPE learns."""
        note = "It is saved as a file and added to the corpus."
        dialog = AskDialog("Text to train on", note, str, placeholder="low low lower", verb="add")
        self.ask(dialog, self._keep)

    def _keep(self, text: str) -> None:
        if not text:
            return
        name = f"{'-'.join(text.split())[:24].replace('/', '-')}.txt"
        self.in_thread(
            "typed",
            lambda task: save_text(bytetext.to_bytes(bytetext.as_byte_text(text)), name),
            lambda path: self._form.add_sources([path]),
        )

    @action("Clear the corpus", section="Corpus", when=during("form"))
    def clear_corpus(self) -> None:
        """Remove every file and folder from the list. The files themselves stay."""
        self._form.clear_corpus()
