"""The Compare screen: aligned rows of tokens, a table, and a card for a disagreement."""

from __future__ import annotations

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container
from textual.timer import Timer
from textual.widgets import Static

from tokviz.compare.boundaries import Comparison
from tokviz.share.figure import comparison_figure
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import Gesture
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.choosing import TokenizerChoice
from tokviz.tui.screens.compare.difference import Differences
from tokviz.tui.screens.compare.figures import Table
from tokviz.tui.screens.compare.navigation import Disagreements
from tokviz.tui.screens.compare.report import Reports
from tokviz.tui.screens.compare.scripts import Scripts
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.screens.compare.views import Views
from tokviz.tui.screens.exporting import Exporting, Shown
from tokviz.tui.screens.lanes import Lanes
from tokviz.tui.screens.price_table import read_prices
from tokviz.tui.screens.why import NO_TOKEN, RIGHT_CLICK, Asked, Explaining, asked_at
from tokviz.tui.widgets.rows_view import LinkRows, RowsView
from tokviz.tui.widgets.spans import ToToken
from tokviz.tui.widgets.splits.view import GlossView
from tokviz.workspace.session import ShowToken

POLL_SECONDS = 0.2
"""Seconds between two checks for newly encoded tokens."""

_EMPTY = "Your text is empty. Press Enter to type, paste or open a text on the Tokens screen."


class CompareScreen(TokvizScreen):
    """See the current text in several tokenizers, where they disagree, and why."""

    SCREEN_ID = "compare"
    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#gloss"
    CONTROLLERS = (
        Disagreements, Table, Views, Differences, Reports, TokenizerChoice, Explaining,
        Exporting,
    )  # fmt: skip
    GESTURES = (
        Gesture("Click a token", "Shows the disagreement at this token and its cause."),
        RIGHT_CLICK,
        Gesture("Wheel", "Scrolls all rows together."),
        Gesture("Click a name in the table", "Shows differences to this tokenizer."),
        Gesture("Click “Difference”", "Compares the parts and vocabularies of two tokenizers."),
        Gesture("Click a token there", "Shows it on the Vocabulary screen."),
        Gesture("Click ×", "Removes the tokenizer."),
        Gesture("Click the tokenizer", "Opens the list of tokenizers, to change the first row."),
    )

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        self.fit(self.app.size)
        palette = palette_of(self.app)
        self.state = state = CompareState(self.session)
        self.gloss = GlossView(self.session.live, state.rows(), palette, id="gloss")
        self.table = LinkRows(palette, id="table")
        self.card = LinkRows(palette, id="card")
        self.difference_rows = LinkRows(palette, id="difference")
        self.difference_rows.answers_why = False
        self.script_rows = LinkRows(palette, id="scripts")
        self.report_rows = LinkRows(palette, id="report")
        empty = Static(_EMPTY, id="empty")
        views = {
            "tokens": self.gloss,
            "scripts": self.script_rows,
            "difference": self.difference_rows,
            "report": self.report_rows,
        }
        frame = Container(empty, *views.values(), id="lanes")
        self.disagreements = Disagreements(self, state, self.gloss, self.card, self._reveal_tokens)
        self.lanes = Lanes(self, self._show_others, self._show_tokens)
        self.figures = Table(self, state, self.lanes, self.table, self._show_view)
        self.differences = Differences(
            self, state, self.difference_rows, lambda: self.views.show_view("difference")
        )
        self.scripts = Scripts(self, state, self.script_rows)
        self.reports = Reports(
            self,
            state,
            self.report_rows,
            come=lambda: self.views.show_view("report"),
            leave=self._reveal_tokens,
        )
        self.views = Views(self, frame, views, self._show_view)
        TokenizerChoice(self)
        Explaining(self, self._asked_why)
        Exporting(self, self._shown)
        self.views.show_view("tokens")
        self._revision = self.session.live.revision
        self._poll: Timer | None = None
        yield self.title_bar
        with Container(id="work"):
            yield frame
            yield Container(self.card, self.table, id="below")
        yield self.keys

    def _asked_why(self) -> Asked | str:
        """Return the current token, in the clicked row or otherwise the first."""
        live, looking = self.session.live, self.disagreements
        if not live.n_chars:
            return NO_TOKEN
        return asked_at(live, looking.char, looking.asked or self.session.tokenizer)

    def _shown(self) -> Shown:
        """Return the name and figure to export: the text in all loaded tokenizers."""
        live, path = self.session.live, self.session.path
        text, parsed = live.text, live.parse_specials
        tokenizers = [tokenizer for tokenizer in self.state.tokenizers if tokenizer is not None]
        name = path.name if path else "text"
        if not live.n_chars:
            return "There is no text to export."
        return name, lambda: comparison_figure(name, Comparison(text, tokenizers, parsed))

    def on_mount(self) -> None:
        """Clear the card, and create the timer."""
        self.disagreements.forget()
        self._poll = self.set_interval(POLL_SECONDS, self._look, pause=True)

    def begin(self) -> None:
        """Load the compared tokenizers of the settings."""
        self.lanes.begin()
        read_prices(self.figures, self.figures.take_prices)
        super().begin()

    def fitted(self) -> None:
        """Draw the tabs that fit."""
        self.views.draw_tabs()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Update after edits on the Tokens screen."""
        self._take_up()

    def on_screen_suspend(self) -> None:
        """Pause while another screen is shown."""
        self.lanes.rest()
        if self._poll is not None:
            self._poll.pause()

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        """Show another tokenizer in the first row."""
        self._take_up()

    def text_changed(self) -> None:
        """Show another text."""
        self._take_up()

    def _take_up(self) -> None:
        live = self.session.live
        self.lanes.follow()
        change = live.changes.since(self._revision)
        # The last edit is the position of interest.
        char = change.new_end if change is not None and any(change) else None
        if live.revision != self._revision:
            self._revision = live.revision
            self.disagreements.forget(char)
        self._show_rows()
        if char is not None:
            self.gloss.show(char)

    def _look(self) -> None:
        """Show newly encoded tokens, which the Tokens screen and drawing encode."""
        settled = all(one is None or one.settled for one in self.state.documents)
        self._show_tokens()
        if settled and self._poll is not None:
            self._poll.pause()

    def _show_others(self) -> None:
        """Update after the tokenizers have changed."""
        if self.is_mounted:
            self.disagreements.forget()
            self._show_rows()

    def _show_rows(self) -> None:
        self.set_class(self.session.live.n_chars == 0, "-empty")
        self.gloss.set_rows(self.state.rows())
        self.figures.show()
        self.disagreements.count()
        self._show_view()
        self.show_keys()
        if self._poll is not None and self.is_current:
            self._poll.resume()

    def _show_view(self) -> None:
        """Update the current view unless it is the view of the tokens."""
        front = self.views.front
        self.set_class(front != "tokens", "-other")
        if front == "difference":
            self.differences.show()
        elif front == "scripts":
            self.scripts.show()
        elif front == "report":
            self.reports.show()

    def _reveal_tokens(self) -> None:
        if self.views.front != "tokens":
            self.views.show_view("tokens")

    @on(RowsView.Picked)
    def _picked(self, event: RowsView.Picked) -> None:
        if isinstance(event.action, ToToken):
            self.session.ask(ShowToken(event.action.token_id))

    def _show_tokens(self) -> None:
        """Show newly encoded tokens."""
        self.gloss.sync()
        self.figures.show()
        self.disagreements.count()
        self._show_view()
