"""The result of a training, and the commands that use it."""

from __future__ import annotations

from pathlib import Path

from tokviz.chat.templates import template_for
from tokviz.formats.run import read_about
from tokviz.process.jobs.train_messages import TrainSummary
from tokviz.training.corpus.entries import EXCLUDE
from tokviz.training.replay import LADDER_BYTES
from tokviz.training.run_library import copy_run
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.save_file import SaveFileDialog
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.train.learning import curve_of_run
from tokviz.tui.screens.train.side import Side
from tokviz.tui.screens.train.state import TrainState, during
from tokviz.workspace.session import ReplayRequest, TrainWith, UseTokenizer


class Result(Controller):
    """Show, use, replay and save the new tokenizer."""

    def __init__(self, screen: TokvizScreen, state: TrainState, side: Side) -> None:
        """Take the state and the views."""
        super().__init__(screen)
        self.state, self._side = state, side

    def show(self, summary: TrainSummary) -> None:
        """Show the summary and the curve, first by the reports and then by the saved run.

        A training on a tiny corpus is replayed at one merge per second.
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
            # The run may be removed already; keep the curve by the reports.
            failed=lambda error: None,
        )
        if summary.n_bytes < LADDER_BYTES and self.screen.is_current:
            self.say("Trained. This replay shows every merge; the result is on the Train screen.")
            self.session.ask(ReplayRequest(summary.run_folder, at=0, play=True))

    def show_summary(self) -> None:
        """Show the summary, if there is one, with the current name of the run."""
        summary = self.state.summary
        if summary is not None:
            now = self.session.where(summary.run_folder)
            self._side.show_summary(summary._replace(run_folder=now))

    @action("Use the trained tokenizer", f"{LEADER} u", section="Result", when=during("done"))
    def use_result(self) -> None:
        """Use the new tokenizer on the Tokens screen."""
        if self.state.summary is not None:
            self.session.ask(UseTokenizer(self.state.summary.run_folder))

    @action("Chat with the trained tokenizer", section="Result", when=during("done"))
    def chat_with_result(self) -> None:
        """Use it on the Chat screen, with the template that fits its special tokens."""
        if self.state.summary is None:
            return
        run = self.session.where(self.state.summary.run_folder)
        self.in_thread(
            "chat",
            lambda task: template_for(read_about(run)["settings"].get("special_tokens", ())),
            lambda template: self.session.ask(UseTokenizer(run, "chat", template)),
        )

    @action("Leave out the file with most merges", section="Result", when=during("done"))
    def leave_file_out(self) -> None:
        """Return to the form, without the file that most merges come from."""
        files = self.state.summary.files if self.state.summary is not None else ()
        if files:
            self.session.ask(TrainWith(sources=(f"{EXCLUDE}{files[0].file}",)))
        else:
            self.say("The corpus is a single file, so it cannot be left out.")

    @action("Replay the training", section="Result", when=during("done"))
    def replay_result(self) -> None:
        """Replay the training merge by merge."""
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
        """Copy the run folder, with tokenizer.json and the history of the training."""
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
