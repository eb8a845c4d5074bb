"""Texts outlive a crash, and unsaved changes are not lost without a question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App

from tokviz.errors import TokvizError
from tokviz.files import FileState, file_state, write_file
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.tasks import Task

if TYPE_CHECKING:
    from tokviz.autosave import Autosave, Recovered
    from tokviz.tui.dialogs.confirm import ConfirmDialog

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
        files: dict[Path, FileState | None],
        *,
        noun: str,
        restore: str,
        save_as: Callable[[], object],
        folder: str = "",
    ) -> None:
        """Take what to keep safe.

        Args:
            screen: The screen.
            unsaved: Gives what would be lost now, None for nothing.
            files: How files were when they were read or written last.
            noun: What it is called, such as "text".
            restore: The title of the action that brings it back.
            save_as: Asks for another file to save to.
            folder: A folder of its own in the user's state folder, "" for that folder itself.
        """
        super().__init__(screen)
        self._unsaved, self.files = unsaved, files
        self._writing = Lock()
        self._noun, self._restore, self._folder = noun, restore, folder
        self._save_as = save_as
        self._kept: object = None
        self._autosave: Autosave | None = None
        self._recovered: Recovered | None = None

    def begin(self) -> None:
        """Offer what an earlier crash left behind, and keep changes safe from now on."""
        if not self.session.remember:
            return
        try:
            autosave = self._autosave = self._open_autosave()
        except TokvizError as error:
            self.say(f"Unsaved changes are not backed up. {error}", "warning")
            return
        self.screen.set_interval(AUTOSAVE_SECONDS, self.keep)
        self.in_thread("recover", lambda task: autosave.pending(), self._offer)

    def _open_autosave(self) -> Autosave:
        from tokviz.autosave import Autosave
        from tokviz.folders import state_folder

        return Autosave(state_folder() / self._folder if self._folder else None)

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
        elif recovered.source is not None:
            self.files[recovered.source] = recovered.state
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

    def save(
        self,
        path: Path,
        data: Callable[[], bytes],
        saved: Callable[[int], object],
        *,
        replaces: bool,
        reload: Callable[[Path], object],
    ) -> None:
        """Write a file in a thread; ask first if it has changed since it was read.

        Args:
            path: The file.
            data: Gives its content; called in the thread.
            saved: Takes its size in bytes.
            replaces: Whether the user agreed that what is there goes, whatever it is.
            reload: Opens it again.
        """

        def write(task: Task) -> int | None:
            # One after another: what is written here is no change by somebody else.
            with self._writing:
                if not replaces and file_state(path) not in (self.files.get(path), None):
                    return None
                content = data()
                write_file(path, content)
                self.files[path] = file_state(path)
            return len(content)

        def done(n_bytes: int | None) -> None:
            if n_bytes is None:
                self._ask_about_changed(path, overwrite, reload)
                return
            saved(n_bytes)
            if self._autosave is not None and self._unsaved() is None:
                self._autosave.clear()

        def overwrite() -> None:
            self.save(path, data, saved, replaces=True, reload=reload)

        def failed(error: TokvizError) -> None:
            self.say(f"Not saved. {error}", "error")

        self.in_thread("save", write, done, failed=failed, exclusive=False)

    def _ask_about_changed(
        self, path: Path, overwrite: Callable[[], object], reload: Callable[[Path], object]
    ) -> None:
        from tokviz.tui.dialogs.pick import Option, PickDialog

        answers: dict[str, Callable[[], object]] = {
            "save as": self._save_as,
            "reload": partial(reload, path),
            "overwrite": overwrite,
        }
        options = [
            Option("save as", "Save as…", "", "To another file. The changed one stays as it is."),
            Option("reload", f"Reload {path.name}", "", "What was changed here is lost."),
            Option("overwrite", f"Overwrite {path.name}", "", "What was changed there is lost."),
        ]
        dialog = PickDialog("The file has changed on disk", options)
        self.ask(dialog, lambda answer: answers[answer]())

    def end(self) -> None:
        """Leave nothing behind after a clean end, but for what was not saved."""
        unsaved, autosave = self._unsaved(), self._autosave
        if unsaved is not None and autosave is None and self.session.remember:
            with contextlib.suppress(TokvizError):
                autosave = self._open_autosave()
        if autosave is None:
            return
        if unsaved is None:
            autosave.clear()
        else:
            autosave.write(unsaved.text(), unsaved.path)

    def names(self) -> list[str]:
        """Name what would be lost, if anything would."""
        unsaved = self._unsaved()
        if unsaved is None:
            return []
        return [unsaved.path.name if unsaved.path else f"this {self._noun}"]


def unless_unsaved(
    app: App[Any], names: Sequence[str], yes: str, go_on: Callable[[], object]
) -> ConfirmDialog | None:
    """Go on at once, or after the user agreed to lose what is not saved.

    Args:
        app: The app.
        names: What is not saved.
        yes: The word for going on all the same.
        go_on: Does it.

    Returns:
        The question, if there is one.
    """
    if not names:
        go_on()
        return None
    from tokviz.tui.dialogs.confirm import ConfirmDialog

    question = f"Changes are not saved: {', '.join(names)}."
    dialog = ConfirmDialog("Unsaved changes", question, yes, danger=True)

    def take(agreed: bool | None) -> None:
        if agreed:
            go_on()

    app.push_screen(dialog, take)
    return dialog
