"""What came of a training: shown, used, replayed, saved."""

from __future__ import annotations

from pathlib import Path

from tokviz.chat.templates import template_for
from tokviz.formats.run import read_about
from tokviz.process.jobs.train_messages import TrainSummary
from tokviz.training.corpus.entries import EXCLUDE
from tokviz.training.replay import LADDER_BYTES
from tokviz.training.run_library import copy_run
from tokviz.tui.actions import LEADER, action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.train.learning import curve_of_run
from tokviz.tui.screens.train.side import Side
from tokviz.tui.screens.train.state import TrainState, during
from tokviz.workspace.session import ReplayRequest, TrainWith, UseTokenizer


class Result(Controller):
    """Does something with the new tokenizer."""

    def __init__(self, screen: TokvizScreen, state: TrainState, side: Side) -> None:
        """Take what shows it."""
        super().__init__(screen)
        self.state, self._side = state, side

    def show(self, summary: TrainSummary) -> None:
        """Show the summary, and the curve: what was seen of it until the whole is read.

        A training on a corpus that fits on a screen is shown as it grows, a merge a second.
        """
        self._side.show_curve(self._side.live.learning.points, summary)
        self.screen.call_after_refresh(self.show_summary)

        def show_curve(points: list[tuple[float, float]]) -> None:
            if self.state.phase == "done":
                self._side.show_curve(points, summary)

        self.in_thread(
            "curve",
            lambda task: curve_of_run(summary.run_folder, summary.n_bytes),
            show_curve,
            # The run is gone already: what was seen stays.
            failed=lambda error: None,
        )
        if summary.n_bytes < LADDER_BYTES and self.screen.is_current:
            self.say("Trained. Watch it grow: the result waits on the Train screen.")
            self.session.ask(ReplayRequest(summary.run_folder, at=0, play=True))

    def show_summary(self) -> None:
        """Show the summary, if there is one: in the room there is, with the run's present name."""
        summary = self.state.summary
        if summary is not None:
            now = self.session.where(summary.run_folder)
            self._side.show_summary(summary._replace(run_folder=now))

    @action("Use the trained tokenizer", f"{LEADER} u", section="Result", when=during("done"))
    def use_result(self) -> None:
        """See the text of the Tokens screen with it."""
        if self.state.summary is not None:
            self.session.ask(UseTokenizer(self.state.summary.run_folder))

    @action("Chat with the trained tokenizer", section="Result", when=during("done"))
    def chat_with_result(self) -> None:
        """See a conversation with it, written by the template whose special tokens it has."""
        if self.state.summary is None:
            return
        run = self.session.where(self.state.summary.run_folder)
        self.in_thread(
            "chat",
            lambda task: template_for(read_about(run)["settings"].get("special_tokens", ())),
            lambda template: self.session.ask(UseTokenizer(run, "chat", template)),
        )

    @action("Leave out the file that paid most", section="Result", when=during("done"))
    def leave_file_out(self) -> None:
        """Go back to the settings, with the file that paid for most merges off the corpus."""
        files = self.state.summary.files if self.state.summary is not None else ()
        if files:
            self.session.ask(TrainWith(sources=(f"{EXCLUDE}{files[0].file}",)))
        else:
            self.say("The corpus was a single file: there is nothing to leave out.")

    @action("Replay the training", section="Result", when=during("done"))
    def replay_result(self) -> None:
        """Go through the training merge by merge."""
        if self.state.summary is not None:
            self.session.ask(ReplayRequest(self.state.summary.run_folder))

    @action(
        "Save the trained tokenizer as…",
        "ctrl+s",
        section="Result",
        footer="save as",
        when=during("done"),
    )
    def save_result(self) -> None:
        """Copy its folder, with tokenizer.json and the training's history, to a place of yours."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        if self.state.summary is None:
            return
        run = Path(self.session.where(self.state.summary.run_folder))
        dialog = SaveFileDialog(
            self.session.folder,
            run.name,
            title="Save the trained tokenizer as",
            placeholder="Name of a new folder",
            existing="refuse",
        )
        self.ask(dialog, lambda path: self.write(path, lambda: copy_run(run, path), "Saved"))
