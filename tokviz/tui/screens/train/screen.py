"""The Train screen: form and plan, live view, result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget

from tokviz.tui.actions import Gesture
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.lessons import Lessons, Scaling
from tokviz.tui.screens.train.checking import Checking
from tokviz.tui.screens.train.corpus import Corpus
from tokviz.tui.screens.train.form import CorpusList, TrainForm
from tokviz.tui.screens.train.plan import FormValues
from tokviz.tui.screens.train.side import Side
from tokviz.tui.screens.train.state import TrainState
from tokviz.tui.screens.train.training import Result, Training
from tokviz.workspace.session import Request, TrainWith


class TrainScreen(TokvizScreen):
    """Train a tokenizer on one's own files, in a child process."""

    SCREEN_ID = "train"
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#source"
    DEFAULT_CLASSES = "-form"
    CONTROLLERS = (Lessons, Corpus, Training, Checking, Result, TokenizerChoice, Scaling)
    GESTURES = (
        Gesture("Click ✕ in the corpus", "Removes the file or folder from the list."),
        Gesture("Click “linear │ logarithmic”", "Changes the scale of the curve."),
        Gesture(
            "Click a choice", "Chooses it: a vocabulary size, a split pattern, a tie-breaking rule."
        ),
    )

    @classmethod
    def parts(cls) -> Sequence[type[Widget]]:
        """Return the list of the corpus."""
        return (CorpusList,)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self.state = state = TrainState()
        self.form, self.side = TrainForm(FormValues()), Side()
        self.result = Result(self, state, self.side)
        self.training = Training(self, state, self.form, self.side, self.result)
        self.scaling = Scaling(self, self.side.set_scale)
        Corpus(self, state, self.form)
        Checking(self, state, self.training)
        TokenizerChoice(self)
        Lessons(self)
        yield self.title_bar
        with Container(id="work"):
            yield self.form
            yield self.side
        yield self.keys

    def on_mount(self) -> None:
        """Show the form."""
        self.training.enter("form")

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Update the scale of the curves and the name of the run."""
        self.scaling.show()
        self.result.show_summary()

    def ask_to_end(self, go_on: Callable[[], object]) -> PickDialog | None:
        """Ask whether to keep a running training before the app quits."""
        return self.training.ask_to_stop(go_on, ", then quit")

    def answer(self, request: Request) -> None:
        """Handle a request of another screen."""
        if isinstance(request, TrainWith):
            if self.state.phase == "done":
                self.training.new_training()
            if request.pattern:
                self.form.use_pattern(request.pattern)
            self.form.add_sources(request.sources)

    def fitted(self) -> None:
        """Wrap the text for the new width."""
        self.result.show_summary()
        self.training.show_plan()
