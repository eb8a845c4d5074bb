"""What the Train and the Replay screen share: choosing a lesson, and the scale of curves."""

from __future__ import annotations

from collections.abc import Callable

from tokviz.guide.lessons import lessons
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.workspace.session import ReplayRequest


class Lessons(Controller):
    """Lists the lessons, and begins one."""

    @action(
        "Lessons",
        "shift+f9",
        f"{LEADER} l",
        section="Lessons",
        footer="lessons",
        words="tutorial learn teach textbook course cs336 minbpe nanochat example",
    )
    def choose_lesson(self) -> None:
        """How byte pair encoding learns: small examples to go through, merge by merge."""
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
    """Has everything that stands over the merges drawn on the scale that the user chose."""

    def __init__(self, screen: TokvizScreen, draw: Callable[[bool], object]) -> None:
        """Take what draws it, told whether the scale is logarithmic."""
        super().__init__(screen)
        self._draw = draw

    def show(self) -> None:
        """Draw on the scale in force."""
        self._draw(self.settings.log_scale)

    @action("Linear or logarithmic curves", f"{LEADER} y", section="Curves")
    def toggle_scale(self) -> None:
        """Linear shows how much is gained by how many merges; logarithmic, how it begins."""
        self.session.change_settings(log_scale=not self.settings.log_scale)
        self.show()
