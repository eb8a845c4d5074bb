"""The Replay screen: transport, current merge, texts, candidates, all merges, curves."""

from __future__ import annotations

from functools import partial
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from tokviz.explain.places import bytes_place
from tokviz.tui.actions import Gesture, action
from tokviz.tui.palette import palette_of
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.screens.exporting import Exporting
from tokviz.tui.screens.lessons import Lessons, Scaling
from tokviz.tui.screens.replay.card import (
    Lighting,
    lesson_rows,
    merge_rows,
    origin_rows,
    paint_candidate,
)
from tokviz.tui.screens.replay.comparing import Comparing
from tokviz.tui.screens.replay.frame_worker import Framing
from tokviz.tui.screens.replay.loader import Opening
from tokviz.tui.screens.replay.merge_frame import Candidate, Frame
from tokviz.tui.screens.replay.panels import CorpusSide, Curves, OwnText, YourText
from tokviz.tui.screens.replay.position import clamped
from tokviz.tui.screens.replay.searching import MergeSearch, MergesPanel
from tokviz.tui.screens.replay.sharing import Sharing
from tokviz.tui.screens.replay.state import Opened, ReplayState, Source, source_named
from tokviz.tui.screens.replay.transport import Transport
from tokviz.tui.screens.replay.views import View, Views
from tokviz.tui.screens.why import RIGHT_CLICK, Asked, Explaining
from tokviz.tui.sizes import set_classes, size_classes
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.cursor_curve import Scrubber
from tokviz.tui.widgets.lists import PickList
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.workspace.session import ReplayRequest, Request

_LESSON_KEYS = (
    " [@click=screen.play_pause]Space plays, pauses[/] · [@click=screen.step_forward]→ next[/] · "
    "[@click=screen.step_back]← back[/] · [@click=screen.choose_lesson]Shift+F9 other lessons[/] "
)
_LESSON_ROWS, _LESSON_LINES = 5, 24
"""Visible rows of a lesson, and the terminal height in lines that allows them."""
WORKING_SECONDS = 0.3
"""Seconds after which a frame is marked as pending."""


class ReplayScreen(TokvizScreen):
    """Replay a training, or any vocabulary, merge by merge."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#scrubber"
    DEFAULT_CLASSES = "-no-counts"
    SCREEN_ID = "replay"
    CONTROLLERS = (
        Transport,
        Explaining,
        Sharing,
        Exporting,
        MergeSearch,
        Opening,
        Comparing,
        YourText,
        Views,
        Lessons,
        Scaling,
        Lighting,
    )
    GESTURES = (
        Gesture("Drag the line at the bottom", "Goes through all merges."),
        Gesture("Click a token", "Goes to the merge that creates it."),
        RIGHT_CLICK,
        Gesture(
            "Click a word of the count", "Highlights it in the corpus, or removes the highlight."
        ),
        Gesture("Click a merge or a candidate", "Goes to that merge."),
        Gesture("Click or drag in a curve", "Goes to that merge."),
        Gesture("Click “linear │ logarithmic”", "Changes the scale of the curves and the line."),
        Gesture("Click the name at the top right", "Lists trainings and vocabularies to replay."),
    )
    LOW_LINES = 34
    """Below this number of lines, each of the two columns shows one view at a time."""
    BROAD_COLUMNS = 160
    """From this width on, the candidates are beside the card."""
    _lesson_height: int | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        palette = palette_of(self.app)
        self.state = state = ReplayState()
        self.lesson = RowsView(palette, id="lesson")
        self.lesson.border_subtitle = _LESSON_KEYS
        self.card = RowsView(palette, id="card")
        self.card.border_title = " This merge "
        self.candidates = PickList[Candidate](paint_candidate, id="candidates")
        self.lineage = RowsView(palette, id="lineage")
        self.corpus = CorpusSide(state, palette, id="corpus-side")
        show_invisibles = self.session.settings.show_invisibles
        self.own = OwnText(state, palette, show_invisibles=show_invisibles, id="own")
        self.merges = MergesPanel(state, id="merges-panel")
        self.diff = RowsView(palette, id="diff")
        self.curves = Curves(state, id="curves")
        self.scrubber = Scrubber(id="scrubber")
        self.texts = Horizontal(self.corpus, self.own, id="texts")
        problem, transport = Static(id="problem"), Bar(id="transport")
        problem.display = False
        work = Container(
            Container(self.card, self.candidates, self.lineage, self.texts, id="main"),
            Container(self.merges, self.diff, self.curves, id="column"),
            id="work",
        )
        self._make_controllers(problem, work, transport)
        self.fit(self.app.size)
        yield self.title_bar
        yield self.lesson
        yield work
        yield problem
        yield transport
        yield Horizontal(self.scrubber, id="scrub-row")
        yield self.keys

    def _make_controllers(self, problem: Static, work: Widget, bar: Bar) -> None:
        state = self.state
        self.transport = Transport(self, state, bar, self.scrubber, self._moved)
        self.views = Views(
            self,
            {
                "texts": View(self.texts, self.own.tokens),
                "candidates": View(self.candidates, self.candidates),
                "merges": View(self.merges, self.merges.merges),
                "curves": View(self.curves, self.scrubber),
                "diff": View(self.diff, self.diff),
            },
        )
        self.opening = Opening(self, state, problem, (work, self.lesson), self._show_opened)
        self.comparing = Comparing(self, state, self.diff, self.transport, self.views)
        self.framing = Framing(
            self,
            state,
            self._show_frame,
            self.curves.compression.show,
            self._damaged,
        )
        self.your_text = YourText(
            self, state, self.own, self.transport, self.views, self._text_changed
        )
        MergeSearch(self, state, self.merges, self.views, self.transport)
        self.scaling = Scaling(self, self._draw_on)
        Lighting(self, state, self._show_light)
        Lessons(self)
        Explaining(self, self._asked_why)
        Sharing(self, state)

    def on_mount(self) -> None:
        """Clear the comparison, and create the timer."""
        self._patience = self.set_interval(WORKING_SECONDS, self._show_working, pause=True)
        self.comparing.end_comparison()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Update after changes on other screens, then open a replay or continue playing."""
        self.scaling.show()
        self.your_text.take_text_at_hand()
        self.started()
        if self.state.opened is None and self.opening.pending is None:
            self.opening.open_at_hand()
        elif self.opening.pending is None:
            self.transport.go_on()

    def on_screen_suspend(self) -> None:
        """Pause until the screen is shown again."""
        self.transport.rest()

    def text_changed(self) -> None:
        """Update after edits on the Tokens screen."""
        self.your_text.take_text_at_hand()

    def answer(self, request: Request) -> None:
        """Handle a request of another screen."""
        if isinstance(request, ReplayRequest):
            self.opening.open(source_named(self.session.where(request.source)), request)

    def saved(self) -> dict[str, Any]:
        """Return the replay and its position."""
        state = self.state
        if state.opened is None:
            return {}
        opens = state.opened.source.opens
        source = opens if isinstance(opens, str) else self.session.tokenizer_source
        return {
            "replayed": source,
            "lesson": "" if state.lesson is None else state.lesson.name,
            "merge": state.number,
            "replay_text": state.text,
        }

    def _asked_why(self) -> Asked | str:
        """Return the token of your text that was clicked or is edited, otherwise of a merge.

        This is the merge of the focused candidate, otherwise the current merge.
        """
        state = self.state
        if state.replay is None:
            return "Nothing is open: open a training or a vocabulary first (Ctrl+O)."
        tokenizer = state.replay.tokenizer
        own = self.own.asked(tokenizer)
        if own is not None:
            return own
        step, candidate = state.step, self.candidates.row
        if candidate is not None and self.candidates.has_focus:
            if candidate.number is None:
                return "This pair is never merged."
            step = state.replay.step(candidate.number)
        if step is None:
            return "Before the first merge every byte is a token. Go to a merge, or edit your text."
        token_id = step.new_id
        return tokenizer, bytes_place(tokenizer.token_bytes(token_id), token_id)

    # -- routing

    def _show_opened(self, opened: Opened, request: ReplayRequest | None) -> None:
        """Show a newly opened replay at the requested merge."""
        has_counts = opened.replay.has_counts
        self.transport.pause()
        was_lesson = self.state.lesson is not None
        self.state.take(opened, request.lesson if request is not None else "")
        if request is not None and request.text is not None:
            self.your_text.show(request.text, is_own=not request.lesson)
        elif was_lesson and self.state.lesson is None:
            self.your_text.text_at_hand()
        self.fit(self.app.size)
        if self.state.lesson is not None:
            self.lesson.border_title = f" Lesson: {self.state.lesson.title} "
        self.comparing.end_comparison()
        self.own.show_text()
        self.merges.show_all()
        self.curves.show(opened)
        self.candidates.show([], None)
        self.corpus.show_frame()
        set_classes(self, {"-no-counts": not has_counts, "-has-counts": has_counts})
        origin = self.candidates if has_counts else self.lineage
        self.views.replace("candidates", View(origin, origin, "" if has_counts else "Made of"))
        self.show_title()
        at = request.at if request is not None else None
        self.transport.show_position(clamped(at or 0, self.state.n_merges))
        if request is not None and request.play:
            self.transport.begin()
        if request is not None and request.others:
            self.comparing.compare_with(*map(source_named, request.others))
        if request is not None and request.check is not None:
            mine = Source("your merges", request.check.merges)
            self.comparing.compare_with(mine, report=request.check.lines)

    def _damaged(self, opened: Opened, reason: str) -> None:
        """Close a damaged replay, and report the reason."""
        if opened is self.state.opened:
            self.transport.pause()
            self.state.opened = None
            self.comparing.end_comparison()
            self.opening.complain(opened.source, reason)

    def _moved(self) -> None:
        """Show another merge once its frame is computed, but the first one at once.

        While the user scrubs, the whole screen is thus drawn once per merge.
        """
        if self.state.frame is None:
            self._show_merge()
        self.own.show_merge()
        self.framing.show()
        if self.state.frame is None:
            self._show_working()
        elif not self.state.player.playing:
            self._patience.resume()

    def _show_merge(self) -> None:
        self.card.show(partial(merge_rows, self.state), from_top=True)
        self.lesson.show(partial(lesson_rows, self.state), from_top=True)
        self.fitted()
        self.lineage.show(partial(origin_rows, self.state), from_top=True)
        self.merges.show_merge()
        self.comparing.show_merge()
        self.curves.show_merge()

    def fitted(self) -> None:
        """Fit the height of a lesson to its words, if there is room."""
        is_high = self.size.height >= _LESSON_LINES
        more = min(len(self.lesson.rows), _LESSON_ROWS) if is_high else 0
        height = more + 2 if more > 3 else None
        if height != self._lesson_height:  # setting it triggers a layout
            self.lesson.styles.height = self._lesson_height = height

    def _show_working(self) -> None:
        """Mark the candidates and texts as pending while their frame is not computed."""
        frame = self.state.frame
        self._patience.pause()
        late = frame is None or frame.number != self.state.position.number
        if late and frame is not None:
            self._show_merge()
        words = " working… " if late and self.state.opened is not None else ""
        for view in (self.candidates, self.texts):
            if view.border_subtitle != words:  # setting it repaints all children
                view.border_subtitle = words

    def _show_frame(self, frame: Frame) -> None:
        """Show the computed frame of a merge."""
        is_new = frame is not self.state.frame
        self.state.frame = frame
        self._patience.reset()
        if frame.number == self.state.position.number:
            self._show_working()
        self._show_merge()
        self.corpus.show_frame()
        self.own.show_frame()
        if is_new:
            following = (n for n, row in enumerate(frame.candidates) if row.pair.is_next)
            self.candidates.show(frame.candidates, next(following, None))

    def _show_light(self) -> None:
        self.card.show(partial(merge_rows, self.state))
        self.corpus.show_frame()

    def _draw_on(self, is_log: bool) -> None:
        self.curves.set_scale(is_log)
        self.transport.set_scale(is_log)

    def _text_changed(self) -> None:
        self.framing.request()
        self.comparing.compare_text()

    @action("Back", "escape", section="Your text", priority=False)
    def action_leave(self) -> None:
        """Leave the field, or pause. Esc does nothing while you edit your text."""
        if self.own.is_editing and self.own.has_focus_within:
            return
        if self.merges.found is not None:
            self.merges.show_all()
        else:
            self.transport.pause()
        self.scrubber.focus()

    # -- layout

    def title_items(self) -> list[BarItem]:
        """Return the name of the replay."""
        return [self.opening.title()]

    def fit(self, size: Size) -> None:
        """Choose the layout for a size. A single column never counts as low."""
        classes = size_classes(size, self.LOW_LINES, self.BROAD_COLUMNS)
        low, narrow = classes["-low"], classes["-narrow"]
        opened = self.state.opened
        drawn = opened is not None and opened.ladder is not None
        set_classes(
            self,
            classes
            | {
                "-low": low and not narrow,
                "-broad": classes["-broad"] and not low,
                "-drawn": drawn,
                "-lesson": self.state.lesson is not None,
                "-ladder": drawn and not low and not narrow,
            },
        )
        self.views.fit()
