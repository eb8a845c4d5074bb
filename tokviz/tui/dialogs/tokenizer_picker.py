"""Choosing a tokenizer: one's own, a built-in one, one used before, a file, one from the hub."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from tokviz.errors import TokvizError
from tokviz.formats.registry import (
    BUILTIN_TOKENIZERS,
    HUB_PREFIX,
    OTHER_TOKENIZERS,
    is_builtin,
    place_words,
)
from tokviz.formats.run import is_run
from tokviz.formats.subprocess_loader import load
from tokviz.text.glyphs import safe
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.training.run_library import Run, delete_run, list_runs, rename_run, restore_run
from tokviz.tui.dialogs.ask_text import AskDialog, Wrong
from tokviz.tui.dialogs.base import About, Hint, ListDialog, field_row, rule
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.dialogs.tokenizer_rows import (
    KnownTokenizer,
    PickerRow,
    SourceRow,
    about_place,
    about_row,
    nothing_found,
    paint_row,
    picker_rows,
    source_of_row,
    typed_source,
)
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.spans import Span
from tokviz.workspace.settings import MOST_RECENT

_PATIENCE = 0.3
"""Seconds until a message that a tokenizer is loading."""


class TokenizerPicker(ListDialog[str, PickerRow]):
    """Dialog whose result is an argument of `load`: a built-in name, a path, `hf:…`.

    The choice is loaded before the dialog closes, so that errors are shown here and the current
    tokenizer remains. It is then in `loaded`. The user's trainings can be renamed and deleted.
    """

    DEFAULT_CSS = """
    TokenizerPicker {
        #dialog { width: 112; }
        #empty { height: 1fr; color: $text-muted; display: none; }
        #about { height: 3; }
        .error { max-height: 8; }
        #told { height: 1; color: $text-accent; display: none; }
        &.-told #told { display: block; }
        &.-empty #empty { display: block; }
        &.-empty RowList, &.-empty #about { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "browse", show=False, priority=True),
        Binding("f2", "rename", show=False, priority=True),
        Binding("f8,shift+delete", "remove", show=False, priority=True),
        Binding("ctrl+z", "restore", show=False, priority=True),
    ]

    def __init__(
        self,
        current: str | None = None,
        source: str = "",
        *,
        title: str = "Tokenizer",
        loads: bool = True,
        recent: Sequence[str] = (),
        remember: Callable[[tuple[str, ...]], object] = lambda recent: None,
        renamed: Callable[[str, str], object] = lambda old, new: None,
        prepare: Callable[[Tokenizer], object] = lambda tokenizer: tokenizer.prepare(),
    ) -> None:
        """Create the dialog.

        Args:
            current: Source of the current tokenizer.
            source: Source to load at once, "" for none.
            title: The title.
            loads: True to load the choice; otherwise the caller opens it.
            recent: The last loaded locations, the newest first.
            remember: Called with these when they change.
            renamed: Called with the old and the new folder of a training.
            prepare: Does the slow part of using a tokenizer, in a thread.
        """
        super().__init__(self._paint, "tokenizers")
        self.dialog_title = title
        self.current = current
        self._loads = loads
        self._runs: list[Run] = []
        self._deleted: Run | None = None
        known: list[KnownTokenizer] = [*BUILTIN_TOKENIZERS, *OTHER_TOKENIZERS]
        families = [tokenizer.family for tokenizer in known]
        self.tokenizers = sorted(known, key=lambda tokenizer: families.index(tokenizer.family))
        self.loaded: Tokenizer | None = None
        """The tokenizer that was chosen."""
        self._recent = list(recent)
        self._remember_places = remember
        self._renamed = renamed
        self._prepare = prepare
        self._number = 0
        self._told = ""
        self._started = 0.0
        self._source = source
        self._timer: Timer | None = None

    def compose_body(self) -> ComposeResult:
        """Yield the search field, the list and the description of the highlighted entry."""
        yield field_row(Field(placeholder="Name of a tokenizer or model, path, or hf:org/name"))
        yield Static(classes="error")
        yield Static(id="told")
        yield rule()
        yield self.rows
        yield Static(id="empty")
        yield rule()
        yield About(id="about")

    def on_mount(self) -> None:
        """Show all tokenizers with the current one highlighted; look for trainings."""
        self._show("")
        self._list_runs()
        if self._source:
            self._put(self._source)
            self._begin(self._source)

    def on_unmount(self) -> None:
        """Cancel loading."""
        self._number += 1

    def wanted_height(self) -> int:
        """Reserve room for every tokenizer and a message."""
        return len(self.tokenizers) + min(len(self._runs) + len(self._recent), 10) + 9

    def hints(self) -> Sequence[Hint]:
        """Return the hints of the last line, with the actions on the highlighted entry first."""
        enter, escape, move = super().hints()
        row = self.rows.row
        more: list[Hint] = []
        if isinstance(row, Run):
            more = [("F2", "rename", "rename"), ("F8", "delete", "remove")]
        elif isinstance(row, SourceRow) and row.source in self._recent:
            more = [("F8", "forget", "remove")]
        if self._deleted is not None:
            more.append(("Ctrl+Z", "undo", "restore"))
        return [enter, escape, *more, ("Ctrl+O", "browse files", "browse"), move]

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self.show_error("")
        self._tell_of("")
        self._show(event.value)

    def _show(self, query: str, highlighted: str | None = None) -> None:
        """Show what fits, with one of them highlighted: by default the one in use."""
        rows = picker_rows(query, self.tokenizers, self._places(), self._runs)
        names = [source_of_row(row) for row in rows]
        wanted = highlighted or ("" if query.strip() else self.current)
        at = names.index(wanted) if wanted in names else 0
        self.set_class(not rows, "-empty")
        self.rows.show(rows, at if rows else None)
        if not rows:
            self.query_one("#empty", Static).update(Content(safe(nothing_found(query, self._runs))))

    def _places(self) -> list[str]:
        """Return the recent locations, which always include the current one."""
        current = self.current or ""
        is_place = os.sep in current or current.startswith(HUB_PREFIX)
        return (
            [current, *self._recent] if is_place and current not in self._recent else self._recent
        )

    def _list_runs(self, highlighted: str | None = None) -> None:
        """Look for the user's trainings; `highlighted` is the folder to highlight."""
        looking = self.set_timer(_PATIENCE, lambda: self._tell_of(_LOOKING))

        def take(runs: list[Run]) -> None:
            looking.stop()
            if self._told == _LOOKING:
                self._tell_of("")
            row = self.rows.row
            self._runs = runs
            chosen = highlighted or (None if row is None else source_of_row(row))
            self._show(self.query_one(Field).value, chosen)
            self.fit_height(self.size)

        in_thread(self, "runs", lambda task: list_runs(lambda: task.cancelled), take)

    @on(RowList.Highlighted)
    def _tell(self) -> None:
        row = self.rows.row
        self.query_one(About).tell("" if row is None else about_row(row))
        self.show_hints()
        if isinstance(row, SourceRow):
            in_thread(
                self,
                "look",
                lambda task: about_place(row),
                lambda about: self._tell_place(row, about),
            )

    def _tell_place(self, place: SourceRow, about: str) -> None:
        if place == self.rows.row:
            self.query_one(About).tell(about)

    def _paint(self, row: PickerRow, width: int) -> list[Span]:
        return paint_row(row, width, current=self.current)

    # -- choosing

    @on(Input.Submitted)
    @on(RowList.Picked)
    def action_choose(self) -> None:
        """Load the highlighted tokenizer, and end with it."""
        row = self.rows.row
        if row is not None and self._timer is None:
            self._begin(source_of_row(row))

    def _begin(self, source: str) -> None:
        if not self._loads:
            self.dismiss(source)
            return
        self._end_loading()
        self._number += 1
        self._source = source
        self._started = time.monotonic()
        self.show_error("")
        self._timer = self.set_interval(_PATIENCE, self._show_progress)
        number = self._number

        def work(task: Task) -> Tokenizer:
            tokenizer = load(source)
            self._prepare(tokenizer)
            if task.cancelled:
                tokenizer.close()
            return tokenizer

        in_thread(
            self,
            "load",
            work,
            lambda tokenizer: self._take(number, source, tokenizer),
            failed=lambda error: self._fail(number, error),
            exclusive=False,
            stoppable=f"Loading {source}",
        )

    def _take(self, number: int, source: str, tokenizer: Tokenizer) -> None:
        if number != self._number:
            tokenizer.close()
            return
        self._end_loading()
        self.loaded = tokenizer
        self._remember(source)
        self.dismiss(source)

    def _fail(self, number: int, error: TokvizError) -> None:
        if number == self._number:
            self._end_loading()
            self.show_error(str(error))

    def _show_progress(self) -> None:
        seconds = time.monotonic() - self._started
        name = place_words(self._source)[0]
        self._tell_of(f"Loading {name}… {seconds:.0f} s  Esc stops")

    def _tell_of(self, sentence: str) -> None:
        """Show a status message below the field."""
        self._told = sentence
        self.set_class(bool(sentence), "-told")
        self.query_one("#told", Static).update(Content(safe(sentence)))

    def _end_loading(self) -> None:
        self._tell_of("")
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def action_cancel(self) -> None:
        """Cancel loading, or else close without a result."""
        if self._timer is None:
            self.dismiss(None)
            return
        self._number += 1
        self.workers.cancel_group(self, "load")
        self._end_loading()
        self.show_error("Stopped. The tokenizer was not changed.")

    # -- places

    def action_browse(self) -> None:
        """Choose a file or folder from a list."""
        dialog = OpenFileDialog(
            title="Open a tokenizer",
            verb="load or enter",
            takes_any=True,
            takes_folder=is_run,
            folder_verb="load this folder",
        )
        self.app.push_screen(dialog, self._browsed)

    def _browsed(self, path: Path | None) -> None:
        if path is not None:
            self._put(str(path))
            self._begin(str(path))

    def _put(self, text: str) -> None:
        with self.prevent(Input.Changed):
            self.query_one(Field).put(text)
        self._show(text)

    def _forget(self, place: SourceRow) -> None:
        """Remove a location from the list; its files remain."""
        if place.source in self._recent:
            self._recent.remove(place.source)
            self._keep_recent()
            self._show(self.query_one(Field).value)

    def _remember(self, source: str) -> None:
        if is_builtin(source) or source in [run.folder for run in self._runs]:
            return
        self._recent = [source, *(other for other in self._recent if other != source)]
        self._keep_recent()

    def _keep_recent(self) -> None:
        self._remember_places(tuple(self._recent[:MOST_RECENT]))

    # -- the user's own

    def action_rename(self) -> None:
        """Ask for another name of a training."""
        row = self.rows.row
        if not isinstance(row, Run):
            self._tell_of(_ONLY_TRAINED.format("renamed") if row is not None else "")
            return
        old = row.folder

        def read(name: str) -> str:
            try:
                return str(rename_run(Path(old), name))
            except TokvizError as error:
                raise Wrong(str(error)) from None

        def done(new: str | None) -> None:
            if new is not None and new != old:
                self.current = new if self.current == old else self.current
                self._renamed(old, new)
                self._put("")
                self._list_runs(new)

        note = "Its folder is renamed, too: use this name with -t."
        self.app.push_screen(AskDialog("Rename", note, read, value=row.name, verb="rename"), done)

    def action_remove(self) -> None:
        """Delete a training, once the user has said yes; forget a place."""
        row = self.rows.row
        if isinstance(row, SourceRow):
            self._forget(row)
        elif not isinstance(row, Run):
            self._tell_of(_ONLY_TRAINED.format("deleted") if row is not None else "")
        if not isinstance(row, Run):
            return
        stays = " It remains in use until you choose another one." * (row.folder == self.current)
        question = (
            f"Delete {row.name}, with the history of its training?{stays} Ctrl+Z brings it back, "
            "until you delete another one."
        )

        def answered(yes: bool | None) -> None:
            if yes and self._do(lambda: delete_run(Path(row.folder)), f"Deleted {row.name}."):
                self._deleted = row
                self._list_runs()

        self.app.push_screen(ConfirmDialog("Delete", question, "delete", danger=True), answered)

    def action_restore(self) -> None:
        """Restore the deleted training."""
        run = self._deleted
        if run is not None and self._do(
            lambda: restore_run(Path(run.folder)), f"{run.name} is back."
        ):
            self._deleted = None
            self._list_runs(run.folder)

    def _do(self, change: Callable[[], object], told: str) -> bool:
        """Change the trainings and report success or the error."""
        try:
            change()
        except TokvizError as error:
            self.show_error(str(error))
            return False
        self._tell_of(told)
        return True

    def on_paste(self, event: events.Paste) -> None:
        """Put a path dropped anywhere on the dialog into the field."""
        if typed_source(event.text) is not None:
            event.stop()
            self._put(event.text.strip())


_LOOKING = "Looking for your trainings…"
_ONLY_TRAINED = "Only tokenizers that you trained can be {}."
