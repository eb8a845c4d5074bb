"""The Train screen: form and plan, live view, result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.widget import Widget

from tokviz.tui.actions import Gesture
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.lessons import Lessons, Scaling
from tokviz.tui.screens.train.corpus import Corpus
from tokviz.tui.screens.train.corpus_list import CorpusList
from tokviz.tui.screens.train.form import TrainForm
from tokviz.tui.screens.train.plan import FormValues
from tokviz.tui.screens.train.result import Result
from tokviz.tui.screens.train.side import Side
from tokviz.tui.screens.train.state import TrainState
from tokviz.tui.screens.train.training import Training
from tokviz.workspace.session import Request, TrainWith

if TYPE_CHECKING:
    from tokviz.tui.dialogs.pick import PickDialog


class TrainScreen(TokvizScreen):
    """Train a tokenizer on one's own files, in a child process."""

    SCREEN_ID = "train"
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#source"
    DEFAULT_CLASSES = "-form"
    CONTROLLERS = (Lessons, Corpus, Training, Result, TokenizerChoice, Scaling)
    GESTURES = (
        Gesture("Click ✕ in the corpus", "Takes the file or folder off the list."),
        Gesture("Click “linear │ logarithmic”", "Changes the scale of the curve."),
        Gesture("Click a choice", "Takes it: a vocabulary size, a pattern, a rule."),
    )

    @classmethod
    def parts(cls) -> Sequence[type[Widget]]:
        """Name the list of the corpus."""
        return (CorpusList,)

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self.state = state = TrainState()
        self.form, self.side = TrainForm(FormValues()), Side()
        self.result = Result(self, state, self.side)
        self.training = Training(self, state, self.form, self.side, self.result)
        self.scaling = Scaling(self, self.side.set_scale)
        Corpus(self, state, self.form)
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
        """Draw the curves as another screen may have chosen, and name a run as it is called now."""
        self.scaling.show()
        self.result.show_summary()

    def ask_to_end(self, go_on: Callable[[], object]) -> PickDialog | None:
        """Ask what becomes of a training that goes on."""
        return self.training.ask_to_stop(go_on, ", then quit")

    def answer(self, request: Request) -> None:
        """Set up what another screen asks for."""
        if isinstance(request, TrainWith):
            if self.state.phase == "done":
                self.training.new_training()
            if request.pattern:
                self.form.use_pattern(request.pattern)
            self.form.add_sources(request.sources)

    def fitted(self) -> None:
        """Set the words for the width there is."""
        self.result.show_summary()
        self.training.show_plan()
