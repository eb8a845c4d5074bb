"""A training: planned in the form, run in a child process, finished or stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual import on

from tokviz.chat.templates import template_for
from tokviz.errors import TokvizError
from tokviz.formats.run import ABOUT, read_about
from tokviz.process.jobs.train_client import TrainClient
from tokviz.process.jobs.train_messages import TrainRequest, TrainSummary
from tokviz.text.sentences import failure_message
from tokviz.training.corpus.entries import EXCLUDE
from tokviz.training.progress import TrainProgress
from tokviz.training.replay import LADDER_BYTES
from tokviz.training.run_library import copy_run, make_room, remove_run, runs_folder
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.file_dialog import SaveFileDialog
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.train.form import TrainForm
from tokviz.tui.screens.train.plan import (
    Plan,
    RegexVerdict,
    judge,
    make_plan,
    make_request,
    new_run_folder,
)
from tokviz.tui.screens.train.side import Side, clock, curve_of_run, progress_word
from tokviz.tui.screens.train.state import Phase, TrainState, during
from tokviz.tui.tasks import Task, post_to_ui
from tokviz.workspace.session import ReplayRequest, TrainWith, UseTokenizer


class Result(Controller):
    """Show, use, replay and save the new tokenizer."""

    state: TrainState
    _side: Side

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


class Training(Controller):
    """Start, follow and stop a training."""

    state: TrainState
    _form: TrainForm
    _side: Side
    _result: Result

    def set_up(self) -> None:
        """Create the other fields."""
        self._client: TrainClient | None = None
        self._run = Path()
        self._question: PickDialog | None = None
        self._then: Callable[[], object] | None = None
        self._failed: object = None
        self._judged, self._verdict = "", RegexVerdict()

    def end(self) -> None:
        """End the child process, and remove the run of an unfinished training."""
        if self._client is not None:
            self._client.close()
            if self.state.phase == "running":
                remove_run(self._run)

    # -- the plan

    @on(TrainForm.Changed)
    def _form_changed(self) -> None:
        if self._form.typed != self._failed:
            self._side.show_error("")
        self.show_plan()

    def _complain(self, text: str) -> None:
        """Show an error until the user changes the form, even while files are counted."""
        self._failed = self._form.typed
        self._side.show_error(text)

    def _plan(self) -> Plan:
        values = self._form.values
        try:
            runs, problem = runs_folder(), ""
        except TokvizError as error:
            runs, problem = Path("runs"), str(error)
        folder = new_run_folder(runs, values, self._is_taken)
        return make_plan(values, folder, problem, self._verdict_of)

    def _is_taken(self, folder: Path) -> bool:
        """Return True if a folder exists, or was renamed in this session."""
        return os.path.lexists(folder) or self.session.where(str(folder)) != str(folder)

    def _verdict_of(self, regex: str) -> RegexVerdict:
        """Return the known result for a regex, and try a new regex in a thread."""
        if regex and regex != self._judged:
            self._judged, self._verdict = regex, RegexVerdict()
            self.in_thread("regex", lambda task: judge(regex), partial(self._take_verdict, regex))
        return self._verdict if regex else judge(regex)

    def _take_verdict(self, regex: str, verdict: RegexVerdict) -> None:
        if regex == self._judged:
            self._verdict = verdict
            self.show_plan()

    def show_plan(self) -> None:
        """Show the plan."""
        plan = self._plan()
        # Starting also adds a typed path.
        can_start = not plan.problems or bool(self._form.typed_source)
        self._side.show_plan(plan, can_start=can_start, is_low=self.screen.has_class("-low"))

    def enter(self, phase: Phase) -> None:
        """Show the form, the training or the result."""
        self.state.phase = phase
        self._form.disabled = phase == "running"
        self._side.show_phase(phase)
        if phase == "form":
            self.show_plan()
        self.screen.refresh_bindings()

    # -- the training

    @action(
        "Start the training",
        "ctrl+r",
        section="Training",
        footer="start",
        when=during("form", "done"),
    )
    def start_training(self) -> None:
        """Train a tokenizer in the background. The other screens stay usable."""
        request = self.request()
        if request is None:
            return
        try:
            make_room(Path(request.run_folder) / ABOUT)  # reserves the name
        except TokvizError as error:
            self._complain(str(error))
            return
        self._begin(request)

    def request(self) -> TrainRequest | None:
        """Return the request of the form with a new run folder; None after reporting a problem."""
        self._form.take_typed()
        plan = self._plan()
        if not plan.problems:
            return make_request(self._form.values, plan)
        self.enter("form")
        self.say(plan.problems[0], "warning")
        return None

    def _begin(self, request: TrainRequest) -> None:
        self._end_with(None)
        self._run = Path(request.run_folder)
        self._side.show_error("")
        self._side.live.begin()
        self.enter("running")
        self._side.focus_button("running")

        def receive(_run: int, message: TrainProgress | TrainSummary | TokvizError) -> None:
            if self._client is client:
                self._take(client, message)

        self._then = None
        receive_here = post_to_ui(self.screen, receive)
        self._client = client = TrainClient(receive_here, receive_here, receive_here)
        client.train(request)

    def _take(
        self, client: TrainClient, message: TrainProgress | TrainSummary | TokvizError
    ) -> None:
        if self.state.phase != "running":  # the run is saved, only the comparison is running
            if isinstance(message, TrainSummary):
                self._end_with(message)
            elif isinstance(message, TokvizError):
                self.stop_training()
                self.say(failure_message("Not compared", message), "error")
            return
        if isinstance(message, TrainProgress):
            self._side.live.take(message)
            self.session.set_progress(self.screen.SCREEN_ID, progress_word(message))
            return
        if isinstance(message, TrainSummary):
            self._end_question("The training has ended", f"It learned {message.n_vocab:,} tokens.")
            self._finish(client, message)
        else:
            failure = failure_message("Not trained", message)
            if self._question is not None and self._question is self.app.screen:
                self._then = None  # so that the user reads the error first
            self._end_question("The training failed", failure)
            self._give_up(client)
            self._complain(failure)
            if not self.screen.is_current:
                self.say(failure, "error")
        self._go_on()

    def _go_on(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            then()

    def _end_with(self, summary: TrainSummary | None) -> None:
        """End the child process, and show the summary if there is one."""
        if self._client is not None:
            self._client.close()
        self._client, self.state.summary = None, summary
        self._result.show_summary()
        self.screen.refresh_bindings()

    def _finish(self, client: TrainClient, summary: TrainSummary) -> None:
        if not summary.is_comparing:
            client.close()
            self._client = None
        self.session.set_progress(self.screen.SCREEN_ID, "")
        self.state.summary = summary
        self.enter("done")
        # Check before the result may open another screen.
        is_watched = self.screen.is_current
        self._result.show(summary)
        if is_watched:
            self._side.focus_button("done")
        else:
            self.say(
                f"The training has ended: {summary.n_vocab:,} tokens in {clock(summary.seconds)}."
            )

    @action(
        "Stop the training, or skip the comparison",
        "escape",
        section="Training",
        footer="stop",
        priority=False,
        when=lambda self: self.state.phase != "form" and self._client is not None,
    )
    def stop_training(self) -> None:
        """Stop, and keep or discard the merges learned so far. A finished run stays saved."""
        if (summary := self.state.summary) is not None:
            self._end_with(summary._replace(held_out=None))
        else:
            self.ask_to_stop()

    def ask_to_stop(
        self, then: Callable[[], object] | None = None, and_then: str = ""
    ) -> PickDialog | None:
        """Ask whether to keep, discard or continue the running training.

        Args:
            then: Called once the training has ended, by the answer or by itself.
            and_then: Describes that call in the options.

        Returns:
            The question, None if no training is running.
        """
        client = self._client
        if client is None or self.state.phase != "running":
            return None
        if self._question is not None and self._question is self.app.screen:
            self._question.give_up()
        self._then = then
        # The training continues while the question is open, so the text must stay true.
        kept = "Keep the merges learned so far; there are none until the corpus is read."
        options = [
            Option("keep", f"Stop and keep{and_then}", "", kept),
            Option("go on", "Keep training", "", "The training continues."),
            Option(
                "discard", f"Stop and discard{and_then}", "", "The merges learned so far are lost."
            ),
        ]

        def take(answer: str | None) -> None:
            if client is not self._client or question is not self._question:
                return
            if answer == "keep":
                client.finish()
                self._side.live.stop()
            elif answer == "discard":
                client.cancel()
                self._give_up(client)
                self.say("The training is stopped and discarded.")
                self._go_on()
            else:
                self._then = None

        self._question = question = PickDialog("Stop the training?", options)
        self.app.push_screen(question, take)
        return question

    @action("Open the dashboard of the workers", section="Training", when=during("running"))
    def open_dashboard(self) -> None:
        """Open the Dask dashboard of the workers in the browser."""
        report = self._side.live.learning.report
        if report is not None and report.cluster is not None and report.cluster.dashboard:
            self.app.open_url(report.cluster.dashboard)
        else:
            self.say("The dashboard needs workers, and the package bokeh.")

    def _end_question(self, title: str, about: str) -> None:
        """Replace the open question by a notice, so that Enter does not reach a widget below it.

        If work such as quitting waits for the training to end, close the question instead.
        """
        question = self._question
        if question is not None and question is self.app.screen:
            if self._then is None:
                question.show_options(title, [Option("close", "Close", "", about)])
            else:
                question.give_up()

    def _give_up(self, client: TrainClient) -> None:
        """Return to the form, and remove the run once the child process has ended."""
        self._client, run = None, self._run
        self.session.set_progress(self.screen.SCREEN_ID, "")

        def clear_away(task: Task) -> None:
            remove_run(run, lambda: client.pid is not None)
            client.close()

        self.in_thread("save", clear_away, lambda _: self.show_plan(), exclusive=False)
        self.enter("form")
        if self.screen.is_current:
            self._side.focus_button("form")

    @action(
        "Back to the settings",
        "ctrl+n",
        section="Training",
        footer="settings",
        when=during("done"),
    )
    def new_training(self) -> None:
        """Leave the result, and return to the form."""
        self.enter("form")
        self._side.focus_button("form")
