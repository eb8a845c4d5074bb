"""What to train on: adding files and folders, and taking all of them off."""

from __future__ import annotations

from tokviz.text import bytetext
from tokviz.training.corpus.entries import save_text
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.train.form import TrainForm
from tokviz.tui.screens.train.state import TrainState, during


class Corpus(Controller):
    """Changes the corpus of the form."""

    def __init__(self, screen: TokvizScreen, state: TrainState, form: TrainForm) -> None:
        """Take the form."""
        super().__init__(screen)
        self.state, self._form = state, form

    @action(
        "Add files to the corpus",
        "ctrl+o",
        section="Corpus",
        footer="add files",
        when=during("form"),
    )
    def add_corpus(self) -> None:
        """Choose a file or a folder to train on."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        dialog = OpenFileDialog(
            self.session.folder,
            title="Add to the corpus",
            verb="add",
            takes_any=True,
            folder_verb="add this folder",
        )
        self.ask(dialog, lambda path: self._form.add_sources([str(path)]))

    @action("Type a text to learn from", section="Corpus", when=during("form"))
    def type_corpus(self) -> None:
        """A line of words is enough to see how byte pair encoding learns."""
        from tokviz.tui.dialogs.ask_text import AskDialog

        note = "It is kept as a file of its own, and added to the corpus."
        dialog = AskDialog("Text to learn from", note, str, placeholder="low low lower", verb="add")
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

    @action("Empty the corpus", section="Corpus", when=during("form"))
    def clear_corpus(self) -> None:
        """Take every file and folder off the list. The files themselves stay."""
        self._form.clear_corpus()
