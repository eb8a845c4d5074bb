"""Lessons and the scale of curves, for the Train and the Replay screen."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.guide.lessons import lessons
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller
from tokviz.workspace.session import ReplayRequest


class Lessons(Controller):
    """Lists the lessons, and starts one."""

    @action(
        "Lessons",
        "shift+f9",
        f"{LEADER} l",
        section="Lessons",
        footer="lessons",
        words="tutorial learn teach textbook course cs336 minbpe nanochat example",
    )
    def choose_lesson(self) -> None:
        """Learn how byte pair encoding works from small examples, merge by merge."""
        options = [
            Option(lesson.name, lesson.title, pluralize(len(lesson.merges), "merge"),
                   f"{lesson.about} From: {lesson.source}.")
            for lesson in lessons().values()
        ]  # fmt: skip
        self.ask(PickDialog("Lessons", options), self._begin)

    def _begin(self, name: str) -> None:
        lesson = lessons()[name]

        def show(folder: str) -> None:
            self.session.ask(ReplayRequest(folder, 0, lesson.text, lesson=name, play=True))

        self.in_thread("lesson", lambda task: str(lesson.ready()), show)


class Scaling(Controller):
    """Draws the curves over the merges on a linear or logarithmic scale."""

    _draw: Callable[[bool], object]

    def show(self) -> None:
        """Draw on the current scale."""
        self._draw(self.settings.log_scale)

    @action("Linear or logarithmic curves", f"{LEADER} y", section="Curves")
    def toggle_scale(self) -> None:
        """Linear shows the gain per merge; logarithmic shows the first merges in detail."""
        self.session.change_settings(log_scale=not self.settings.log_scale)
        self.show()
