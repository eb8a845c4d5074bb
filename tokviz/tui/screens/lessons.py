"""Choosing a lesson, which the Replay screen then shows."""

from __future__ import annotations

from tokviz.lessons import lessons
from tokviz.replay.request import ReplayRequest
from tokviz.sentences import counted
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller


class Lessons(Controller):
    """Lists the lessons, and begins one."""

    @action(
        "Lessons",
        "f6",
        f"{LEADER} l",
        section="Lessons",
        footer="lessons",
        words="tutorial learn teach textbook course cs336 minbpe nanochat example",
    )
    def choose_lesson(self) -> None:
        """How byte pair encoding learns: small examples to go through, merge by merge."""
        options = [
            Option(lesson.name, lesson.title, counted(len(lesson.merges), "merge"),
                   f"{lesson.about} From: {lesson.source}.")
            for lesson in lessons().values()
        ]  # fmt: skip
        self.ask(PickDialog("Lessons", options), self._begin)

    def _begin(self, name: str) -> None:
        lesson = lessons()[name]

        def show(folder: str) -> None:
            self.session.ask(ReplayRequest(folder, 0, lesson.text, lesson=name, play=True))

        self.in_thread("lesson", lambda task: str(lesson.ready()), show)
