"""What to train on: adding files and folders, and taking all of them off."""

from __future__ import annotations

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

    @action("Empty the corpus", section="Corpus", when=during("form"))
    def clear_corpus(self) -> None:
        """Take every file and folder off the list. The files themselves stay."""
        self._form.clear_corpus()
