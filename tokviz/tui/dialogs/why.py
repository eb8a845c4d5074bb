"""Why a token or a selection is as it is, for the tokenizer at hand and for a second one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType

from tokviz.errors import TokvizError
from tokviz.explain.why import ELSEWHERE, Place, Why, as_text, explain
from tokviz.sentences import why
from tokviz.tokenizer import Tokenizer
from tokviz.tui.dialogs.base import Hint
from tokviz.tui.dialogs.page import PageDialog
from tokviz.tui.messages import CopyRequested
from tokviz.tui.palette import palette_of
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.flow import Row, flow, words_of
from tokviz.tui.widgets.why_rows import why_rows

Pick = Callable[[Callable[[str], object]], object]
"""Lets the user choose a second tokenizer, and hands over what loads it."""


class WhyDialog(PageDialog):
    """Shows what cut the pieces, the merges, why it is not one token, and where tokens come from.

    What it shows is worked out in a thread: a pattern that is not known runs in a child process.
    """

    DEFAULT_CSS = """
    WhyDialog {
        #dialog { width: 76; }
        &.-two #dialog { width: 150; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w,shift+f1", "cancel", show=False),
        Binding("c", "copy", show=False),
        Binding("t", "pick", show=False),
        Binding("x", "alone", show=False),
        Binding("i", "inspect", show=False),
        Binding("f1", "app.guide('why')", show=False),
    ]
    dialog_title = "Why?"

    def __init__(
        self,
        tokenizer: Tokenizer,
        place: Place | Callable[[], Place],
        second: str,
        *,
        load: Callable[[str], Tokenizer],
        pick: Pick,
        alone: Callable[[], object],
        inspect: Callable[[], object],
        copy: Callable[[str, str], object],
    ) -> None:
        """Take what is asked about.

        Args:
            tokenizer: The tokenizer at hand.
            place: The token or the selection, or what finds it, in a thread.
            second: What loads the tokenizer that is shown beside it, empty for none.
            load: Loads that, in a thread.
            pick: Lets the user choose it.
            alone: Called when the user wants no second one any more.
            inspect: Shows the characters of the place.
            copy: Copies a text that has a name.
        """
        super().__init__()
        self._tokenizer, self._place = tokenizer, place
        self._second = second
        self._load, self._pick, self._alone = load, pick, alone
        self._inspect, self._copy = inspect, copy
        self.answers: list[Why] = []
        """What is known by now: of the tokenizer at hand, and of the second one."""
        self._first: Why | None = None
        """The whole answer of the tokenizer at hand."""

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        hints = [
            ("Esc", "close", "cancel"),
            ("T", "second tokenizer", "pick"),
            ("C", "copy", "copy"),
            ("I", "characters", "inspect"),
            ("↑↓", "scroll", "scroll(1)"),
        ]
        return [*hints, ("X", "only one", "alone")] if self._second else hints

    def wanted_height(self) -> int:
        """Take the rows there are, and those of the hints."""
        return max(8, len(self.view.rows) + 1)

    def on_mount(self) -> None:
        """Begin to work the answer out."""
        self.view.set_palette(palette_of(self.app))
        self.set_class(bool(self._second), "-two")
        self.view.show(self._rows)
        self._work_out()

    def _work_out(self) -> None:
        """Explain in a thread; the tokenizer at hand comes first."""
        tokenizer, second = self._tokenizer, self._second
        found = self._place

        def work(task: Task) -> list[Why]:
            place = found if isinstance(found, Place) else found()
            if self._first is None:
                task.tell(self._take, [explain(tokenizer, place, end=False)])
                self._first = explain(tokenizer, place)
            answers = [self._first]
            task.tell(self._take, answers)
            if second:
                other = place if place.id is None else replace(place, id=ELSEWHERE)
                answers = [*answers, explain(self._load(second), other)]
            return answers

        in_thread(self, "why", work, self._take, failed=self._give_up)

    def _take(self, answers: list[Why]) -> None:
        self.answers = answers
        self.view.show(self._rows)
        self.fit_height(self.app.size)
        self.call_after_refresh(self.view.lay_out)

    def _give_up(self, error: TokvizError) -> None:
        lacking = "The second tokenizer cannot be loaded" if self._second else "There is no answer"
        self._show_beside("")
        self.show_error(why(lacking, error))

    def _rows(self, width: int) -> list[Row]:
        if not self.answers:
            return flow(words_of("One moment…", "dim"), width)
        return why_rows(self.answers, width)

    def on_resize(self, event: events.Resize) -> None:
        """Take the room there is, once the rows are made for it."""
        super().on_resize(event)
        self.call_after_refresh(partial(self.fit_height, event.size))

    # -- what the user does

    def action_pick(self) -> None:
        """Choose the tokenizer that is shown beside the one at hand."""
        self._pick(self._take_second)

    def _take_second(self, source: str) -> None:
        self.show_error("")
        self._show_beside(source)
        self._work_out()

    def _show_beside(self, source: str) -> None:
        """Make room for a second tokenizer, or for none."""
        self._second = source
        self.set_class(bool(source), "-two")
        self.show_hints()

    def action_alone(self) -> None:
        """Show no second tokenizer any more."""
        if self._second:
            self._alone()
            self._show_beside("")
            self._take(self.answers[:1])
            self._work_out()  # which ends what is still worked out for the second one

    def action_inspect(self) -> None:
        """Show what the characters are, beginning with the first."""
        self._inspect()

    def action_copy(self) -> None:
        """Copy the whole answer as text."""
        if self.answers:
            self._copy("\n\n".join(map(as_text, self.answers)), "the answer")

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        message.stop()
        self._copy(message.text, message.what)
