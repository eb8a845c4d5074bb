"""Texts outlive a crash, and unsaved changes are not lost without a question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import TokvizError
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.tasks import Task

if TYPE_CHECKING:
    from tokviz.autosave import Autosave, Recovered

AUTOSAVE_SECONDS = 5.0
"""How long a change may wait until it is safe from a crash."""


class Unsaved(NamedTuple):
    """What would be lost.

    Attributes:
        version: An object that is another one after every change.
        text: Gives the text; called in a thread, of things that no edit changes.
        path: The file it belongs to, None for none.
    """

    version: object
    text: Callable[[], str]
    path: Path | None


class Safekeeping(Controller):
    """Writes unsaved text down every few seconds, and offers what an earlier crash left behind."""

    def __init__(
        self,
        screen: TokvizScreen,
        unsaved: Callable[[], Unsaved | None],
        *,
        noun: str,
        restore: str,
        folder: str = "",
    ) -> None:
        """Take what to keep safe.

        Args:
            screen: The screen.
            unsaved: Gives what would be lost now, None for nothing.
            noun: What it is called, such as "text".
            restore: The title of the action that brings it back.
            folder: A folder of its own in the user's state folder, "" for that folder itself.
        """
        super().__init__(screen)
        self._unsaved = unsaved
        self._noun, self._restore, self._folder = noun, restore, folder
        self._kept: object = None
        self._autosave: Autosave | None = None
        self._recovered: Recovered | None = None

    def begin(self) -> None:
        """Offer what an earlier crash left behind, and keep changes safe from now on."""
        if not self.session.remember:
            return
        from tokviz.autosave import Autosave
        from tokviz.folders import state_folder

        try:
            self._autosave = Autosave(state_folder() / self._folder if self._folder else None)
        except TokvizError as error:
            self.say(f"Unsaved changes are not backed up. {error}", "warning")
            return
        autosave = self._autosave
        self.screen.set_interval(AUTOSAVE_SECONDS, self.keep)
        self.in_thread("recover", lambda task: autosave.pending(), self._offer)

    def _offer(self, recovered: Recovered | None) -> None:
        if recovered is None:
            return
        self._recovered = recovered
        source = f" of {recovered.source}" if recovered.source else ""
        self.screen.notify(
            f"The {self._noun}{source} from {recovered.when:%Y-%m-%d %H:%M} was not saved. "
            f"“{self._restore}” in the command palette brings it back.",
            title="Recovered",
            timeout=15,
            markup=False,
        )

    def take_recovered(self) -> Recovered | None:
        """Give what an earlier crash left behind, once; say so if there is nothing."""
        recovered, self._recovered = self._recovered, None
        if recovered is None:
            self.say(f"There is no recovered {self._noun}.")
        return recovered

    def keep(self, replaces: Recovered | None = None) -> None:
        """Write down what would be lost, if it has changed.

        Args:
            replaces: What it was recovered from, which is not needed any more then.
        """
        unsaved, autosave = self._unsaved(), self._autosave
        if autosave is None or unsaved is None or unsaved.version == self._kept:
            return
        self._kept = unsaved.version

        def write(task: Task) -> None:
            note = autosave.write(unsaved.text(), unsaved.path)
            if note:
                task.tell(self.say, note, "warning")
            elif replaces is not None:
                autosave.discard(replaces)

        self.in_thread("autosave", write)

    def saved(self) -> None:
        """Forget what was written down, once nothing would be lost."""
        if self._autosave is not None and self._unsaved() is None:
            self._autosave.clear()

    def end(self) -> None:
        """Leave nothing behind after a clean end, but for what was not saved."""
        unsaved = self._unsaved()
        if self._autosave is None:
            return
        if unsaved is None:
            self._autosave.clear()
        else:
            self._autosave.write(unsaved.text(), unsaved.path)

    def unless_unsaved(self, name: str, go_on: Callable[[], object]) -> None:
        """Go on at once, or after the user agreed to lose what is not saved."""
        if self._unsaved() is None:
            go_on()
            return
        from tokviz.tui.dialogs.confirm import ConfirmDialog

        question = f"{name} has changes that are not saved."
        dialog = ConfirmDialog("Unsaved changes", question, "Discard them", danger=True)
        self.ask(dialog, lambda agreed: go_on() if agreed else None)
