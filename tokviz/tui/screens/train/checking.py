"""Check of the user's own merges against the settings of the form."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tokviz.errors import TokvizError
from tokviz.process.jobs.check_client import CheckReport, CheckRequest, check_client, run_check
from tokviz.text.sentences import failure_message
from tokviz.tui.actions import action
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.train.state import TrainState, during
from tokviz.tui.screens.train.training import Training
from tokviz.tui.tasks import LatestWorker, Task, post_to_ui
from tokviz.workspace.session import ReplayRequest


class Checking(Controller):
    """Checks merges on the corpus of the form, in a child process."""

    state: TrainState
    _training: Training

    def set_up(self) -> None:
        """Create the other field."""
        self._worker = LatestWorker[CheckRequest](self.screen, "check")

    @action(
        "Check my merges",
        "shift+f12",
        section="Training",
        footer="check mine",
        when=during("form"),
        words="bpe debug mistakes cs336 minbpe nanochat course",
    )
    def check_merges(self) -> None:
        """Find the first wrong merge of your own trainer, and its mistake, on this corpus."""
        train = self._training.request()
        if train is None:
            return
        # The number of merges is that of the file.
        train = train._replace(vocab_size=0, run_folder=f"{train.run_folder}-check")
        title = "Check my merges: a .txt, .model, .json or .pkl file"
        dialog = OpenFileDialog(self.session.folder, title=title, verb="check", takes_any=True)
        self.ask(dialog, lambda path: self._check(CheckRequest([str(path)], train)))

    def _check(self, request: CheckRequest) -> None:
        show = post_to_ui(self.screen, self._show_progress)

        def check(task: Task) -> CheckReport:
            with closing(check_client(request)) as jobs:
                return run_check(jobs, request, show)

        def take(report: CheckReport) -> None:
            self._show_progress("")
            if at := report.record["first_difference"]:
                self.session.ask(ReplayRequest(request.train.run_folder, at, check=report))
            else:
                self.say("\n".join(report.lines))

        def failed(error: TokvizError) -> None:
            self._show_progress("")
            self.say(failure_message("Not checked", error), "error")

        name = Path(request.files[0]).name
        self._worker.start(request, check, take, failed, stoppable=f"Checking {name}")

    def _show_progress(self, name: str) -> None:
        word = name if self._worker.pending else ""
        self.session.set_progress(self.screen.SCREEN_ID, word)
