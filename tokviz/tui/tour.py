"""The tour "First steps": a line above the screen with the next thing to try."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from textual.app import App
from textual.timer import Timer

from tokviz.guide.lessons import Step, first_steps
from tokviz.tui.screens.base import TokvizScreen
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, RunAction, Span, flow, words_of
from tokviz.workspace.session import Session

LEAST_COLUMNS, LEAST_ROWS = 30, 15
"""A smaller terminal does not show the first steps, because they would leave no room for text."""
_CHECK_SECONDS = 0.2
_END_MESSAGE = "That was the tour. F1 explains each screen, Ctrl+L g the words on it."


class Tour:
    """Shows one step after another, the next one as soon as the user has done the previous one."""

    def __init__(self, app: App[Any], session: Session) -> None:
        """Start with the first step."""
        self._app, self._session = app, session
        self.at = 0
        self._edits = session.edits
        self._view: RowsView | None = None
        self._timer: Timer = app.set_interval(_CHECK_SECONDS, self.look)
        self.look()

    def look(self) -> None:
        """Continue if the step is done, and show the line on the current screen."""
        if not self._app.screen_stack:
            return  # the app ends
        steps = first_steps()
        if not self.is_over and steps[self.at].until in self._seen():
            self.skip()
        screen = next(
            (one for one in self._app.screen_stack if isinstance(one, TokvizScreen)), None
        )
        if screen is None or not screen.is_mounted or self.is_over:
            return
        if screen.size.width < LEAST_COLUMNS or screen.size.height < LEAST_ROWS:
            self._leave()
            return
        if self._view is None or self._view.parent is not screen:
            self._leave()
            # Without an id, because the previous line may not have been removed yet.
            self._view = RowsView()
            self._view.add_class("tour")
            # A click on a link keeps the focus, so that the user can continue to type.
            self._view.can_focus = False
            if not screen.mount_below_title(self._view):
                return
        rows = partial(tour_rows, steps[self.at], self.at + 1, len(steps), self._app.current_mode)
        self._view.styles.height = len(rows(screen.size.width - 3))
        self._view.show(rows)

    def _seen(self) -> Iterator[str]:
        """Yield the conditions of steps that hold now."""
        session, screen = self._session, self._app.screen
        if session.edits != self._edits:
            yield "typed"
        yield f"dialog {type(screen).__name__}"
        yield f"screen {self._app.current_mode}"
        if self._app.current_mode == "tokens" and session.settings.panel_visible:
            yield f"panel {session.settings.panel}"
        if getattr(getattr(screen, "state", None), "lesson", None) is not None:
            yield "lesson"

    @property
    def is_over(self) -> bool:
        """Whether all steps are done, or the user ended the tour."""
        return self.at >= len(first_steps())

    def skip(self) -> None:
        """Continue with the next step, or end the tour."""
        self.at += 1
        if self.at == len(first_steps()):
            self._app.notify(_END_MESSAGE)
            self.end()

    def end(self) -> None:
        """End the tour, also for the next start."""
        self.at = len(first_steps())
        self._timer.stop()
        self._leave()
        self._session.change_settings(tour=False)

    def _leave(self) -> None:
        if self._view is not None and self._view.is_attached:
            self._view.remove()


def tour_rows(step: Step, number: int, of: int, screen: str, width: int) -> Sequence[Row]:
    """Return the rows of a step: its number, its text, and links to skip it or end the tour.

    On another screen than that of the step, the text only names the screen.
    """
    head = (Span(f"First steps {number}/{of} ", "heading"),)
    words = words_of(step.say)
    if step.screen not in ("", screen):
        there = RunAction(f"app.show_screen('{step.screen}')")
        words = words_of(f"Go to the {step.screen.title()} screen", "link", there)
    links = [
        (Span("· ", "dim"), Span("skip", "link", RunAction("app.skip_step"))),
        (Span("· ", "dim"), Span("end", "link", RunAction("app.end_tour"))),
        *words_of("(Ctrl+L f)", "dim"),
    ]
    return flow([head, *words, *links], width)
