"""Dialogs that choose a file to open or to save: a path field above a folder's list."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tokviz.errors import InputFileError, TokvizError
from tokviz.process.confinement import confinement
from tokviz.storage.files import absolute, is_read_only
from tokviz.storage.listing import (
    UP,
    FolderEntry,
    check_readable,
    completion,
    filter_entries,
    home_label,
    read_folder,
    size_label,
    split_typed,
    time_label,
    typed_path,
)
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.dialogs.base import Hint, ListDialog, field_row, rule
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.tasks import in_thread
from tokviz.tui.terminal.modes import ASK_FOR_FILE
from tokviz.tui.textual_private.terminal_driver import driver_of
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.fit import fit, fit_end
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span
from tokviz.tui.widgets.view_switcher import neighbour

SOMETIMES_OFFERED = ("add_folder", "next_kind")
"""The actions that only some of these dialogs have."""


class PathField(Field):
    """A field for a path. Backspace in the empty field goes up a folder."""

    class Up(Message):
        """Backspace was pressed in the empty field."""

    def action_delete_left(self) -> None:
        """Delete a character, or go up."""
        if self.value:
            super().action_delete_left()
        else:
            self.post_message(self.Up())


class FileDialog(ListDialog[Path, FolderEntry]):
    """A dialog whose result is a path.

    The field contains a path relative to the current folder, an absolute one, or one that starts
    with ~. Its last part filters the list. Folders are read in a thread.
    """

    DEFAULT_CSS = """
    FileDialog {
        #folder { height: 1; color: $text-muted; text-wrap: nowrap; }
        &.-short #folder { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", show=False),
        Binding("alt+up,shift+tab", "up", show=False),
        Binding("f2", "toggle_hidden", show=False, priority=True),
    ]

    last_folder: ClassVar[Path | None] = None
    """Folder of the last opened or saved file, shared by all file dialogs."""

    seeks = True
    """True if the name in the field filters the list and highlights the best match."""
    rows_wanted = 20
    """A good part of the screen."""

    def __init__(
        self,
        folder: Path | None,
        *,
        title: str,
        placeholder: str,
        verb: str,
        text: str = "",
        offers: Hint | None = None,
    ) -> None:
        """Create the dialog.

        Args:
            folder: The initial folder, None for the last one.
            title: The title.
            placeholder: Placeholder of the field.
            verb: Label of Enter.
            text: Initial text of the field.
            offers: Additional actions, which only some file dialogs have.
        """
        super().__init__(paint_entry, "entries")
        self.dialog_title = title
        self._placeholder = placeholder
        self.verb = verb
        self._offers = offers
        self.folder = Path(absolute(folder or FileDialog.last_folder or ""))
        self._text = text
        self._hidden = False
        self._listed: Path | None = None
        self._entries: list[FolderEntry] = []
        self._came_from = ""
        self._moved = False
        self._folder_error = ""
        self._reading = False
        self._choose_when_listed = False

    def compose_body(self) -> ComposeResult:
        """Yield field, error, folder and list."""
        yield field_row(PathField(self._text, placeholder=self._placeholder, select_on_focus=False))
        yield Static(classes="error")
        yield rule()
        yield Static(id="folder")
        yield self.rows
        yield rule()

    def hints(self) -> Sequence[Hint]:
        """Give the keys of the last line."""
        return [
            ("Enter", self.verb, "choose"),
            ("Esc", "cancel", "cancel"),
            *([self._offers] if self._offers else []),
            # The mouse has no other way to this, so it is the last to be left out.
            ("F2", "hide hidden" if self._hidden else "show hidden", "toggle_hidden"),
            ("Tab", "complete", "complete"),
            ("Shift+Tab", "up", "up"),
        ]

    def on_mount(self) -> None:
        """Show the folder."""
        self._follow_field()

    @property
    def field(self) -> PathField:
        """The field for the path."""
        return self.query_one(PathField)

    @on(Input.Changed)
    def _follow_field(self) -> None:
        """List the folder, filtered by the name in the field."""
        self._moved = False
        self._choose_when_listed = False
        folder, _ = split_typed(self.field.value, self.folder)
        if folder == self._listed:
            self.show_error(self._folder_error)
            self._show_entries()
        else:
            self.show_error("")
            self._listed = folder
            self._entries = []
            self._folder_error = ""
            self._reading = True
            self._show_folder("reading…")
            in_thread(
                self,
                "folder",
                lambda task: read_folder(folder, lambda: task.cancelled),
                lambda entries: self._show_listed(folder, entries),
                failed=lambda error: self._show_listed(folder, [], error),
            )

    def _show_listed(
        self, folder: Path, entries: list[FolderEntry], error: TokvizError | None = None
    ) -> None:
        """Show the folder that the thread read, unless another one was requested since."""
        if folder != self._listed:
            return
        self._reading = False
        self._entries = entries
        if isinstance(error, InputFileError):
            self._folder_error = f"{folder.name or folder}: {error.reason}"
        self.show_error(self._folder_error)
        self._show_entries()
        if self._choose_when_listed:
            self.action_choose()

    def _show_entries(self) -> None:
        if self._reading:
            return
        name = split_typed(self.field.value, self.folder)[1] if self.seeks else ""
        shown = filter_entries(self._entries, name, hidden=self._hidden)
        n_shown = len(shown)
        at_root = self._listed is not None and self._listed.parent == self._listed
        if not name and not at_root:
            shown = [UP, *shown]
        self.rows.show(shown, self._row_to_highlight(shown, name))
        total = len(self._entries)
        counts = pluralize(total, "item")
        self._show_folder(f"{n_shown:,} of {counts}" if n_shown < total else counts)

    def _row_to_highlight(self, shown: Sequence[FolderEntry], name: str) -> int | None:
        """Highlight the folder we came from, else the first entry."""
        if not self.seeks or not shown:
            return None
        if not name:
            for index, entry in enumerate(shown):
                if entry.name == self._came_from:
                    return index
        return min(len(shown) - 1, 1 if shown[0] is UP else 0)

    def _show_folder(self, note: str) -> None:
        if self._listed is None:
            return
        path = safe(home_label(self._listed))
        room = self.query_one("#folder").size.width or self.size.width
        room -= cell_len(note) + 2
        if room > 0:
            path = fit_end(path, room)
        self.query_one("#folder", Static).update(Content(f"{path}  {note}"))

    @on(RowList.Picked)
    def _clicked(self, event: RowList.Picked) -> None:
        # Until another folder is read, the rows are those of the previous one.
        self._moved = not self._reading
        if event.again and not self._reading:
            self.action_choose()

    @on(PathField.Up)
    def action_up(self) -> None:
        """Go to the parent of the folder shown."""
        if self._listed is not None and self._listed.parent != self._listed:
            self._came_from = self._listed.name
            self.enter_folder(self._listed.parent)

    def action_move(self, step: int) -> None:
        """Move the highlight."""
        super().action_move(step)
        self._moved = True

    def action_toggle_hidden(self) -> None:
        """Show or hide entries whose name starts with a dot."""
        self._hidden = not self._hidden
        self.show_hints()
        self._show_entries()

    def action_complete(self) -> None:
        """Complete the name in the field as far as it is certain."""
        offered = [entry for entry in self._entries if safe(entry.name) == entry.name]
        completed = completion(self.field.value, offered, self.folder)
        if completed == self.field.value:
            self.action_move(1)
        else:
            self.field.put(completed)

    def enter_folder(self, folder: Path, text: str = "") -> None:
        """Show another folder, and put a text into the field."""
        self.folder = folder
        with self.prevent(Input.Changed):
            self.field.put(text)
        self._follow_field()

    def chosen_path(self) -> tuple[Path, bool] | None:
        """Return the highlighted path and whether it is a folder."""
        entry, folder = self.rows.row, self._listed
        if entry is None or folder is None:
            return None
        return (folder.parent if entry is UP else folder / entry.name), entry.is_folder

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.action_choose()

    @abstractmethod
    def action_choose(self) -> None:
        """Accept the typed or highlighted entry."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys to the field that this dialog does not offer anything for."""
        offered = self._offers is not None and action == self._offers[2]
        return offered or action not in SOMETIMES_OFFERED

    def finish(self, path: Path) -> None:
        """End with a path."""
        FileDialog.last_folder = path.parent
        self.dismiss(path)


def paint_entry(entry: FolderEntry, width: int) -> list[Span]:
    """Draw a row: name, and size and time if there is room."""
    name = safe(entry.name) + ("/" if entry.is_folder else "")
    size = size_label(entry.size).rjust(8) if width >= 34 else ""
    when = "  " + time_label(entry.modified).ljust(16) if width >= 58 else ""
    room = width - len(size) - len(when) - 2
    shown = fit(name, room - 1)
    cells: list[Span] = [
        Span(" " + shown + " " * (room - cell_len(shown)), "heading" if entry.is_folder else "text")
    ]
    return [*cells, Span(size, "dim"), Span(when, "dim"), Span(" ")]


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


class SaveFileDialog(FileDialog):
    """Its result is a path in a folder that exists; that an existing file goes was confirmed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+k", "next_kind", show=False, priority=True)
    ]
    seeks = False

    def __init__(
        self,
        folder: Path | None = None,
        name: str = "",
        *,
        title: str = "Save the text as",
        placeholder: str = "Name of the file",
        verb: str = "save",
        existing: Literal["replace", "take", "refuse"] = "replace",
        kinds: Sequence[str] = (),
    ) -> None:
        """Create the dialog.

        Args:
            folder: The initial folder, None for the last one.
            name: The suggested name.
            title: The title.
            placeholder: Placeholder of the field.
            verb: Label of Enter.
            existing: How to handle an existing file: replace it after a question, use it (to append
                to), or refuse it because a folder will be created.
            kinds: Allowed extensions; another name gets the suggested one. Ctrl+K cycles through
                them.
        """
        super().__init__(
            folder,
            title=title,
            placeholder=placeholder,
            verb=verb,
            text=name if safe(name) == name else "",
            offers=("Ctrl+K", ", ".join(kinds), "next_kind") if len(kinds) > 1 else None,
        )
        self._existing = existing
        self._kinds = kinds
        self._kind = next((k for k in kinds if name.endswith(f".{k}")), "".join(kinds[:1]))

    def on_mount(self) -> None:
        """Select the suggested name, so that typing replaces it."""
        self.field.action_select_all()

    def action_choose(self) -> None:
        """Enter the typed or highlighted folder, or save under the name."""
        chosen = self.chosen_path() if self._moved else None
        if chosen is not None:
            self._take(*chosen)
        elif self.field.value:
            path = typed_path(self.field.value, self.folder)
            self._take(path, os.path.isdir(path))
        else:
            self.show_error("Type a name for the file.")

    def _take(self, path: Path, is_folder: bool) -> None:
        if is_folder:
            self.enter_folder(path, os.path.basename(self.field.value) if self._moved else "")
        elif (allowed := confinement()) is not None and not allowed.may_save(path):
            self.show_error(f"{path.name}: this session may save only in its folder for files")
        elif self._kinds and not path.suffix:
            self._take(path.with_name(f"{path.name}.{self._kind}"), is_folder=False)
        elif self._kinds and not path.name.lower().endswith(tuple(f".{k}" for k in self._kinds)):
            *others, last = (f".{kind}" for kind in self._kinds)
            endings = " or ".join(filter(None, (", ".join(others), last)))
            self.show_error(f"End the name in {endings}: that is the kind of file.")
        elif os.path.lexists(path):
            self._take_existing(path)
        elif not os.path.isdir(path.parent):
            self.show_error(f"{path.parent.name}: there is no such folder")
        elif not os.access(path.parent, os.W_OK):
            self.show_error(f"{path.parent}: no permission to write there")
        else:
            self.finish(path)

    def _take_existing(self, path: Path) -> None:
        reasons = {
            "already exists and is not a folder": self._existing == "refuse",
            "is not a regular file": path.exists() and not path.is_file(),
            "is read-only": is_read_only(path),
        }
        for reason in (reason for reason, is_true in reasons.items() if is_true):
            self.show_error(f"{path.name} {reason}.")
            return
        if self._existing == "take":
            self.finish(path)
            return

        def answered(replace: bool | None) -> None:
            if replace:
                self.finish(path)

        question = f"Replace {path.name}? It already exists in {path.parent}."
        self.app.push_screen(ConfirmDialog("Save", question, "replace", danger=True), answered)

    def action_next_kind(self) -> None:
        """Change the end of the name."""
        path = Path(self.field.value or "tokens")
        self._kind = neighbour(self._kinds, path.suffix.lower().removeprefix("."))
        self.field.put(str(path.with_suffix(f".{self._kind}")))
