"""Choosing a file to open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tokviz.process.confinement import confinement
from tokviz.storage.listing import check_readable, typed_path
from tokviz.tui.dialogs.file_dialog import FileDialog
from tokviz.tui.tasks import in_thread
from tokviz.tui.terminal.modes import ASK_FOR_FILE
from tokviz.tui.textual_private.terminal_driver import driver_of


class OpenFileDialog(FileDialog):
    """Its result is the path of a file that could be read a moment ago, or what else is taken."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "add_folder", show=False, priority=True)
    ]

    def __init__(
        self,
        folder: Path | None = None,
        *,
        title: str = "Open a file",
        verb: str = "open",
        takes_any: bool = False,
        takes_folder: Callable[[Path], bool] = lambda folder: False,
        folder_verb: str = "",
        check: Callable[[Path], bool] = check_readable,
        text: str = "",
    ) -> None:
        """Create the dialog.

        Args:
            folder: The initial folder, None for the last one.
            title: The title.
            verb: Label of Enter.
            takes_any: True to accept a file of any size and kind, which the caller checks.
                Otherwise it must be readable, and text unless the user confirms.
            takes_folder: Returns whether Enter accepts a folder instead of entering it.
            folder_verb: Label of Ctrl+O for folders; empty if it does nothing.
            check: Called in a thread; returns whether a file is accepted without a question, or
                raises an error to show.
            text: Initial text of the field; an existing file of that name is accepted at once.
        """
        placeholder = "Type or paste a path, or part of a name"
        offers = ("Ctrl+O", folder_verb, "add_folder") if folder_verb else None
        super().__init__(
            folder, title=title, placeholder=placeholder, verb=verb, offers=offers, text=text
        )
        self._takes_any = takes_any
        self._takes_folder = takes_folder
        self._check = check
        self._binary: Path | None = None
        """A binary file that the user was warned about."""

    def on_mount(self) -> None:
        """Accept the initial text once the folder is read; in a browser, ask it for a file."""
        if self._text and os.path.isfile(typed_path(self._text, self.folder)):
            self.call_after_refresh(self._choose_soon)
        allowed, driver = confinement(), driver_of(self.app)
        if allowed is not None and allowed.by_browser and driver is not None:
            driver.write(ASK_FOR_FILE)

    def _choose_soon(self) -> None:
        if self._reading:
            self._choose_when_listed = True
        else:
            self.action_choose()

    def action_choose(self) -> None:
        """Enter the typed or highlighted folder, or open the file."""
        text = self.field.value
        if text and not self._moved:
            path = typed_path(text, self.folder)
            if os.path.lexists(path):
                self._take(path, os.path.isdir(path))
                return
        if self._reading:
            self._choose_when_listed = True
            return
        chosen = self.chosen_path()
        if chosen is not None:
            self._take(*chosen)
        elif text:
            self.show_error(f"{text}: there is no such file")

    def _take(self, path: Path, is_folder: bool) -> None:
        if is_folder and self._takes_folder(path):
            self.finish(path)
        elif is_folder:
            self._came_from = self._listed.name if self._listed is not None else ""
            self.enter_folder(path)
        elif self._takes_any:
            self.finish(path)
        else:
            in_thread(
                self,
                "check",
                lambda task: self._check(path),
                lambda is_text: self._checked(path, is_text),
                failed=lambda error: self.show_error(str(error)),
            )

    def action_add_folder(self) -> None:
        """Close with the folder that the user highlighted, or else with the current one."""
        chosen = self.chosen_path() if self._moved else None
        folder = chosen[0] if chosen is not None and chosen[1] else self._listed
        if folder is not None:
            FileDialog.last_folder = folder
            self.dismiss(folder)

    def _checked(self, path: Path, is_text: bool) -> None:
        """Open the file. A binary one is opened when asked a second time."""
        if is_text or path == self._binary:
            self.finish(path)
        else:
            self._binary = path
            self.show_error(
                f"{path.name} does not look like text. Press Enter again to see its bytes."
            )
