"""The Train screen: form and plan, live view, result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widgets import Static

from tokviz.child.runner import JobClient, RunHandlers
from tokviz.errors import TokvizError
from tokviz.glyphs import safe
from tokviz.jobs.train_client import LIMITS, TrainClient
from tokviz.jobs.train_messages import TrainReport, TrainRequest, TrainSummary
from tokviz.replay.request import ReplayRequest
from tokviz.runs import copy_run, make_room, remove_run, runs_folder
from tokviz.session import Session, UseTokenizer
from tokviz.tui.messages import Notice
from tokviz.tui.screens.bars import tab_items
from tokviz.tui.screens.legacy import LegacyScreen
from tokviz.tui.screens.train.form import TrainForm
from tokviz.tui.screens.train.learning import clock, curve_of_run
from tokviz.tui.screens.train.live_view import CompressionCurve, LiveView
from tokviz.tui.screens.train.plan import (
    FormValues,
    Plan,
    make_plan,
    make_request,
    new_run_folder,
    plan_content,
)
from tokviz.tui.screens.train.summary import summary_content
from tokviz.tui.widgets.push_button import PushButton

if TYPE_CHECKING:
    pass

NARROW_COLUMNS = 110
"""A narrower terminal shows the form or the training, not both."""
BROAD_COLUMNS = 150
"""A terminal of this width gives the form more room."""
LOW_LINES = 30
"""A terminal of fewer lines goes without some of the space."""
SHORT_LINES = 16
"""A terminal of fewer lines goes without the key bar."""

_COMPILING = (
    "Making machine code for this computer, in the background. It is kept: this happens only once. "
    "You can start a training meanwhile."
)

Phase = Literal["form", "running", "done"]
_TITLES: dict[Phase, str] = {"form": "Plan", "running": "Training", "done": "Result"}
_ALLOWED: dict[str, tuple[Phase, ...]] = {
    "add_corpus": ("form",),
    "clear_corpus": ("form",),
    "start_training": ("form", "done"),
    "cancel_training": ("running",),
    "new_training": ("done",),
    "use_result": ("done",),
    "replay_result": ("done",),
    "save_result": ("done",),
}


class TrainScreen(LegacyScreen):
    """Train a tokenizer on one's own files, in a child process."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#source"
    SCREEN_ID = "train"

    class Heard(Message):
        """The child has said something."""

        def __init__(
            self, request: TrainRequest, said: TrainReport | TrainSummary | TokvizError
        ) -> None:
            """Take what the child does, and how far it is, what it came to or what went wrong."""
            super().__init__()
            self.request = request
            self.said = said

    class CurveRead(Message):
        """The compression curve of a saved run has been read."""

        def __init__(self, points: list[tuple[float, float]], summary: TrainSummary) -> None:
            """Take the curve, and the run's summary."""
            super().__init__()
            self.points = points
            self.summary = summary

    def __init__(self, session: Session, values: FormValues | None = None) -> None:
        """Take what the form shows first."""
        super().__init__(session)
        self._first_values = values or FormValues()
        self.phase: Phase = "form"
        self.summary: TrainSummary | None = None
        self._request: TrainRequest | None = None
        self._client: TrainClient | None = None
        self._stamp = _stamp()
        self._fitted: tuple[int, int] | None = None
        self._compiler = JobClient("compile_kernels", limits=LIMITS, keeps_child=False)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self.form = TrainForm(self._first_values)
        self.form.border_title = "Corpus and settings"
        self.live = LiveView()
        self.side = Container(id="side")
        yield self.title_bar
        with Container(id="work"):
            yield self.form
            with self.side:
                yield Static(id="plan")
                yield self.live
                with VerticalScroll(id="result", can_focus=False):
                    yield Static(id="summary")
                    yield CompressionCurve(id="final-curve")
                yield Static(id="error")
                with Horizontal(id="buttons"):
                    yield PushButton(
                        "Start training", "screen.start_training", id="start", classes="-main"
                    )
                    yield PushButton("Cancel", "screen.cancel_training", id="cancel")
                    yield PushButton("Use it", "screen.use_result", id="use", classes="-main")
                    yield PushButton("Replay", "screen.replay_result", id="replay")
                    yield PushButton("Save as…", "screen.save_result", id="save")
                    yield PushButton("New training", "screen.new_training", id="new")
        yield self.keys

    def on_mount(self) -> None:
        """Fill the lines, and get the compiler's work out of the way."""
        self._fit(self.app.size)
        self.title_bar.show(tab_items("train"))
        self._show_phase("form")
        self._show_plan()
        self._compile()

    def on_unmount(self) -> None:
        """End the children; nothing is left of a training that is not over."""
        self._compiler.close()
        if self._client is not None and self._request is not None:
            self._client.close()
            remove_run(Path(self._request.run_folder))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Refuse what makes no sense now."""
        return self._can_do(action)

    def _can_do(self, action: str) -> bool:
        allowed = _ALLOWED.get(action)
        return allowed is None or self.phase in allowed

    # -- form and plan

    @on(TrainForm.Changed)
    def _form_changed(self, event: TrainForm.Changed) -> None:
        event.stop()
        self._show_error("")
        self._show_plan()

    def _make_plan(self) -> Plan:
        values = self.form.values
        try:
            runs, problem = runs_folder(), ""
        except TokvizError as error:
            runs, problem = Path("runs"), str(error)
        return make_plan(values, new_run_folder(runs, values, self._stamp), problem)

    def _show_plan(self) -> None:
        plan = self._make_plan()
        shown = self.query_one("#plan", Static)
        width = self.side.content_size.width or self.app.size.width
        shown.update(plan_content(plan, width, is_low=self.has_class("-low")))
        self.query_one("#start").disabled = bool(plan.problems)

    def _show_error(self, text: str) -> None:
        line = self.query_one("#error", Static)
        line.update(Content(safe(text)))
        line.display = bool(text)

    def action_add_corpus(self) -> None:
        """Choose a file or a folder."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        dialog = OpenFileDialog(
            self.session.folder,
            title="Add to the corpus",
            verb="add or enter",
            takes_any=True,
            folder_verb="add this folder",
        )
        self.app.push_screen(dialog, self._add_chosen)

    def _add_chosen(self, path: Path | None) -> None:
        if path is not None:
            self.form.add_sources([str(path)])

    def action_clear_corpus(self) -> None:
        """Take everything off the list."""
        self.form.clear_corpus()

    # -- the training

    def action_start_training(self) -> None:
        """Begin, if the form can be followed."""
        self.form.take_typed()
        self._stamp = _stamp()
        plan = self._make_plan()
        if plan.problems:
            self._show_phase("form")
            self._show_plan()
            self.say(plan.problems[0], "warning")
            return
        self._begin(make_request(self.form.values, plan))

    def _begin(self, request: TrainRequest) -> None:
        try:
            make_room(Path(request.run_folder))
        except TokvizError as error:
            self._show_error(str(error))
            return
        self.summary = None
        self._request = request
        self._show_error("")
        self.live.begin()
        self._show_phase("running")
        self.query_one("#cancel").focus()

        def hear(_run: int, said: TrainReport | TrainSummary | TokvizError) -> None:
            self.post_message(self.Heard(request, said))

        self._client = TrainClient(hear, hear, hear)
        self._client.train(request)

    @on(Heard)
    def _take(self, event: Heard) -> None:
        event.stop()
        if self._client is None or event.request is not self._request:
            return
        if isinstance(event.said, TrainReport):
            self.live.take(event.said)
        elif isinstance(event.said, TrainSummary):
            self._finish(self._client, event.said)
        else:
            self._fail(self._client, event.request, event.said)

    def _finish(self, client: TrainClient, summary: TrainSummary) -> None:
        client.close()
        self._client = None
        self.summary = summary
        self._show_phase("done")
        self._show_curve(self.live.learning.points, summary)
        self._read_curve(summary)
        self.call_after_refresh(self._show_summary)
        if self.is_current:
            self.query_one("#use").focus()
        else:
            self.say(
                f"The training is over: {summary.n_vocab:,} tokens in {clock(summary.seconds)}."
            )

    @work(thread=True, exclusive=True, group="curve", description="curve", exit_on_error=False)
    def _read_curve(self, summary: TrainSummary) -> None:
        """Put the whole curve in the place of what was seen of it."""
        try:
            points = curve_of_run(summary.run_folder, summary.n_bytes)
        except TokvizError:
            # It is gone already; what was seen stays.
            return
        self.post_message(self.CurveRead(points, summary))

    @on(CurveRead)
    def _take_curve(self, event: CurveRead) -> None:
        event.stop()
        if event.summary is self.summary:
            self._show_curve(event.points, event.summary)

    def _show_curve(self, points: list[tuple[float, float]], summary: TrainSummary) -> None:
        self.query_one("#final-curve", CompressionCurve).show(points, summary.n_merges)

    def _fail(self, client: TrainClient, request: TrainRequest, error: TokvizError) -> None:
        """Say what went wrong; the form is as it was."""
        self._give_up(client, request)
        self._show_error(f"Not trained. {error}")
        self.say(f"Not trained. {error}", "error")

    def action_cancel_training(self) -> None:
        """Stop; the child ends by itself or is killed, and what it wrote is removed."""
        if self._client is not None and self._request is not None:
            self._client.cancel()
            self._give_up(self._client, self._request)
            self.say("The training is cancelled. Nothing of it is kept.")

    def _give_up(self, client: TrainClient, request: TrainRequest) -> None:
        self._client = None
        self._clear_away(client, Path(request.run_folder))
        self._show_phase("form")
        self._show_plan()
        if self.is_current:
            self.query_one("#start").focus()

    @work(thread=True, group="save", description="clear away", exit_on_error=False)
    def _clear_away(self, client: TrainClient, folder: Path) -> None:
        remove_run(folder, lambda: client.pid is not None)
        client.close()

    def _compile(self) -> None:
        """Have the compiler's work done before somebody waits for it."""

        def hear(_run: int, body: dict[str, Any]) -> None:
            if body.get("compiling"):
                self.post_message(Notice(_COMPILING))

        nothing = RunHandlers(hear, lambda run: None, lambda run, error: None)
        self._compiler.run(lambda memory: [{}], nothing)

    @on(Notice)
    def _show_notice(self, event: Notice) -> None:
        event.stop()
        self.say(event.text, event.severity)

    # -- the result

    def action_new_training(self) -> None:
        """Show the form again."""
        self._show_phase("form")
        self._show_plan()
        self.query_one("#start").focus()

    def action_use_result(self) -> None:
        """Show the Tokens screen with the new tokenizer."""
        if self.summary is not None:
            self.session.ask(UseTokenizer(self.summary.run_folder))

    def action_replay_result(self) -> None:
        """Show the Replay screen with the training."""
        if self.summary is not None:
            self.session.ask(ReplayRequest(self.summary.run_folder))

    def action_save_result(self) -> None:
        """Ask where to copy the run."""
        from tokviz.tui.dialogs.save_file import SaveFileDialog

        if self.summary is not None:
            folder = self.session.settings.folder
            name = Path(self.summary.run_folder).name
            dialog = SaveFileDialog(
                Path(folder) if folder else None,
                name,
                title="Save the trained tokenizer as",
                placeholder="Name of a new folder",
                existing="refuse",
            )
            self.app.push_screen(dialog, self._save_chosen)

    def _save_chosen(self, path: Path | None) -> None:
        if path is not None and self.summary is not None:
            self._copy(Path(self.summary.run_folder), path)

    @work(thread=True, group="save", description="save", exit_on_error=False)
    def _copy(self, run: Path, target: Path) -> None:
        try:
            copy_run(run, target)
        except TokvizError as error:
            self.call_here(self.say, f"Not saved. {error}", "error")
            return
        self.call_here(self.say, f"Saved to {target}.")

    # -- layout

    def _show_phase(self, phase: Phase) -> None:
        self.phase = phase
        self.set_class(phase == "form", "-form")
        self.set_class(phase == "running", "-running")
        self.set_class(phase == "done", "-done")
        self.form.disabled = phase == "running"
        self.side.border_title = _TITLES[phase]
        self.refresh_bindings()

    def _show_summary(self) -> None:
        if self.summary is not None:
            # A column is kept for a scroll bar.
            width = (self.side.content_size.width or self.app.size.width) - 1
            self.query_one("#summary", Static).update(summary_content(self.summary, width))

    def on_resize(self, event: events.Resize) -> None:
        """Show what there is room for.

        Every layout tells the screen its size again, and new words in the plan ask for a layout:
        only another size may change them.
        """
        if not self.drop_if_outdated(event) and event.size != self._fitted:
            self._fit(event.size)
            self.call_after_refresh(self._show_summary)
            self.call_after_refresh(self._show_plan)

    def _fit(self, size: Size) -> None:
        self._fitted = width, height = size
        self.set_class(width < NARROW_COLUMNS, "-narrow")
        self.set_class(width >= BROAD_COLUMNS, "-broad")
        self.set_class(height < LOW_LINES, "-low")
        self.set_class(height < SHORT_LINES, "-short")


def _stamp() -> str:
    return time.strftime("%Y%m%d-%H%M%S")
