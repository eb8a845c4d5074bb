"""Files of conversations: opening them, and moving through their rows."""

from __future__ import annotations

import contextlib
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual import on
from textual.cache import LRUCache

from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset, is_plain_text
from tokviz.chat.dataset_lint import histogram
from tokviz.chat.lint import RULES
from tokviz.chat.messages import ConversationError
from tokviz.errors import TokvizError
from tokviz.storage.files import FileState, file_state
from tokviz.text import bytetext
from tokviz.tui.actions import LEADER, action
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat import editing
from tokviz.tui.screens.chat.dataset_view import DatasetRows, RowWords, lengths_rows
from tokviz.tui.screens.chat.scan import Checks, Scan
from tokviz.tui.screens.chat.state import ConversationAtHand, Origin
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.lists import RowList
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.view_switcher import ViewSwitcher

_PREVIEWS_KEPT = 5_000
_INDEX_SECONDS = 0.2
_MOST_RAW_BYTES = 1_000_000
"""Maximum length shown of a row that is not a conversation."""
_ANY = "any finding"
_ALL = "all rows"


class FoundRow(NamedTuple):
    """A row of a file.

    Attributes:
        conversation: The conversation, or the text of an unreadable row, to be repaired.
        error: Reason why it is unreadable, or None.
        digest: Its digest.
    """

    conversation: Conversation
    error: ConversationError | None = None
    digest: str = ""


def read_row(dataset: Dataset, row: int) -> FoundRow | None:
    """Read a row of a file; return None if it does not exist."""
    if not dataset.has_row(row):
        return None
    try:
        return FoundRow(dataset.row(row), None, dataset.digest(row))
    except ConversationError as error:
        raw = b""
        with contextlib.suppress(ConversationError):
            raw = dataset.raw(row)
        if len(raw) > _MOST_RAW_BYTES:
            error = ConversationError(f"{error} (only {_MOST_RAW_BYTES:,} of its bytes are shown)")
        text = bytetext.from_bytes(raw[:_MOST_RAW_BYTES])
        return FoundRow(editing.raw_row(text), error, dataset.digest(row) if raw else "")


class Rows(Controller):
    """The rows of a file, with a current row."""

    _chat: ConversationAtHand
    """The conversation."""
    _left: ViewSwitcher
    """Shows the conversation, the rows or their lengths."""
    listed: DatasetRows
    """List of the rows that match the filter."""
    _lengths: RowsView
    """View of their lengths."""
    _show: Callable[[], object]
    """Shows the current row and the number of rows."""

    def set_up(self) -> None:
        """Create the other fields."""
        self.checks = Checks(self.screen, self._chat, self._show_checks)
        self.dataset: Dataset | None = None
        self._opens: Path | None = None
        self._gone: Path | None = None
        """The file of a row that could not be opened again."""
        self._reading: int | None = None
        """The requested row, while it is being read."""
        self.filter: tuple[str, ...] = ()
        """The findings that a row must have to be listed, none for all rows."""
        self._previews: LRUCache[int, RowWords] = LRUCache(_PREVIEWS_KEPT)
        self._previewing = False
        self._filter_dialog: PickDialog | None = None
        self.listed.describe = self._describe

    # -- opening

    def open_path(self, path: Path) -> None:
        """Open a file. Undo restores the previous content; on failure nothing changes."""
        if self.session.open_session_file(path):
            return

        def read(task: Task) -> tuple[Dataset, FoundRow | None, FileState | None]:
            state = file_state(path)
            dataset = Dataset.open(path)
            return dataset, self._found(dataset, 0), state

        def failed(error: TokvizError) -> None:
            self._opens = None
            text = str(error)
            self.say(text if str(path) in text else f"{path}: {text}", "error")

        self._opens = path
        self.in_thread(
            "open",
            read,
            partial(self._opened, path),
            failed=failed,
            stoppable=f"Opening {path.name}",
        )

    def _opened(
        self, path: Path, opened: tuple[Dataset, FoundRow | None, FileState | None]
    ) -> None:
        self._opens = None
        dataset, first, state = opened
        if first is None:
            self.say(f"{path} contains no conversation.", "warning")
            return
        self.session.remember_folder(path)
        self._chat.file_states[path] = state
        is_one = dataset.is_single and is_plain_text(path)
        self.leave(path.name if is_one else "")
        self.dataset = None if is_one else dataset
        self._show_row(first, Origin(path) if is_one else Origin(path, 0, first.digest))
        if not is_one:
            self._use(dataset)
        self._list()

    def _use(self, dataset: Dataset) -> None:
        """List the rows of a dataset."""
        self.dataset, self._gone = dataset, None
        self.in_thread("index", partial(self._index, dataset), lambda _: self._list())
        self._list()

    def reopen(self, origin: Origin) -> None:
        """Open the file of a row again: the row was saved, or undo came back to it."""
        path, row, digest = origin
        if path is None or row is None:
            return
        self._opens = path

        def read(task: Task) -> tuple[Dataset, FileState | None, str]:
            state = file_state(path)
            dataset = Dataset.open(path)
            return dataset, state, dataset.digest(row) if dataset.has_row(row) else ""

        def opened(found: tuple[Dataset, FileState | None, str]) -> None:
            self._opens = None
            dataset, state, known = found
            self._chat.file_states.setdefault(path, state)
            if not digest:
                self._chat.history.relocate_row(origin, origin._replace(digest=known))
            is_open = self.dataset is not None and self.dataset.path == dataset.path
            if not is_open and self._chat.state.origin.path != path:
                return
            if not is_open:
                self.leave()
            self._previews.discard(row)
            self._use(dataset)

        def failed(error: TokvizError) -> None:
            self._opens, self._gone = None, path
            self.say(str(error), "error")

        self.in_thread("open", read, opened, failed=failed)

    def _index(self, dataset: Dataset, task: Task) -> None:
        """Find all rows, and list those found so far."""
        due = time.monotonic() + _INDEX_SECONDS
        while dataset.index_more() and not task.cancelled:
            if time.monotonic() >= due:
                task.tell(self._list)
                due = time.monotonic() + _INDEX_SECONDS

    def leave(self, replaced_by: str = "") -> None:
        """Forget the rows; the conversation stays.

        Args:
            replaced_by: The replacement, to report it if a dataset was open.
        """
        if self.dataset is not None and replaced_by:
            name = Path(self.dataset.path).name
            self.say(f"{replaced_by} replaces the dataset {name}. Ctrl+Z goes back to {name}.")
        self._left.show("conversation")
        self.checks.forget()
        self._stop_reading()
        self.screen.workers.cancel_group(self.screen, "index")
        self.dataset = None
        self.filter = ()
        self._previews.clear()
        self._list()

    def _list(self) -> None:
        """Show the rows that matches the filter, the present one highlighted."""
        scan, n_rows = self.checks.scan, self.dataset.n_rows if self.dataset else 0
        rows = scan.rows_with(self.filter) if scan and self.filter else range(n_rows)
        if rows != self.listed.rows or self._left.shown != "rows":
            self.listed.show_rows(rows, self._wanted)
        self.listed.refresh()
        self._show()

    # -- one row

    @property
    def row(self) -> int | None:
        """The current row of the dataset, or None."""
        origin, dataset = self._chat.state.origin, self.dataset
        is_of_it = dataset is not None and origin.path == Path(dataset.path)
        return origin.row if is_of_it else None

    @property
    def _wanted(self) -> int | None:
        return self.row if self._reading is None else self._reading

    def _stop_reading(self) -> None:
        self._reading = None
        self.screen.workers.cancel_group(self.screen, "row")

    def _show_row(self, found: FoundRow, origin: Origin) -> None:
        chat = self._chat
        chat.unreadable = (found.conversation, found.error) if found.error else None
        # Browsing rows is not a change that undo should step through.
        here = chat.state.origin
        looked = not chat.modified and here.path == origin.path and here.row is not None
        chat.load(found.conversation, origin, instead=looked)

    def go_to(self, row: int) -> None:
        """Highlight a row of the dataset, and show it."""
        self.listed.show_rows(self.listed.rows, row)
        self._read(row)

    def _read(self, row: int) -> None:
        """Show a row once it has been read in a thread."""
        dataset, before = self.dataset, self._chat.state.origin
        self._stop_reading()
        if dataset is None or row == self.row:
            return
        self._reading = row

        def show(found: FoundRow | None) -> None:
            self._reading = None
            # The user may have left the rows or selected another one in the meantime.
            if found is not None and self._chat.state.origin[:2] == before[:2]:
                self._show_row(found, Origin(Path(dataset.path), row, found.digest))
                self._list()

        self.in_thread("row", lambda task: self._found(dataset, row), show)

    def _found(self, dataset: Dataset, row: int) -> FoundRow | None:
        """Read a row, and prepare that it is shown. For any thread."""
        found = read_row(dataset, row)
        if found is not None:
            self._chat.prepare(found.conversation)
        return found

    @on(RowList.Moved, "#rows")
    def _moved(self, message: RowList.Moved) -> None:
        """Show the highlighted row, and edit a selected one."""
        self._read(message.row)
        if isinstance(message, RowList.Picked) and message.again:
            self._left.show("conversation")

    @action("Rows of the dataset", "alt+o", section="Dataset")
    def show_rows(self) -> None:
        """List the conversations of the file with their findings."""
        if self._dataset_or_say() is not None:
            self._left.show("conversation" if self._left.shown == "rows" else "rows")

    @action(
        "Next row of the dataset",
        "ctrl+right_square_bracket",
        "alt+n",
        f"{LEADER} n",
        section="Dataset",
    )
    def next_row(self) -> None:
        """Show the next row that matches the filter."""
        self._step(1)

    @action("Previous row of the dataset", "ctrl+backslash", f"{LEADER} p", section="Dataset")
    def previous_row(self) -> None:
        """Show the previous row that matches the filter."""
        self._step(-1)

    def _step(self, step: int) -> None:
        rows, here = self.listed.rows, self._wanted
        if self._dataset_or_say() is None or here is None:
            return
        at = bisect_right(rows, here) if step > 0 else bisect_left(rows, here) - 1
        if 0 <= at < len(rows):
            self.go_to(rows[at])
        else:
            edge = "last" if step > 0 else "first"
            self.say(f"This is the {edge} row{' that matches the filter' * bool(self.filter)}.")

    def _dataset_or_say(self) -> Dataset | None:
        if self.dataset is None and self._opens is not None:
            self.say(f"{self._opens.name} is being opened.")
        elif self.dataset is None:
            self.say("This is not a dataset. Open a file with more than one conversation.")
        return self.dataset

    # -- rows in the list

    def _describe(self, row: int) -> RowWords:
        """Describe a row; its text is read in a thread."""
        words = self._previews.get(row)
        if words is None and not self._previewing:
            self._previewing = True
            self.screen.call_after_refresh(self._preview)
        words, scan = words or RowWords(None), self.checks.scan
        if scan is None:
            return words
        return words._replace(n_tokens=scan.length(row), warns=words.warns or row in scan.warned)

    def _preview(self) -> None:
        dataset = self.dataset
        wanted = [row for row in self.listed.rows_in_view() if row not in self._previews]
        if dataset is None or not wanted:
            self._previewing = False
            return

        def read(task: Task) -> dict[int, RowWords]:
            return {row: _preview_of(dataset, row) for row in wanted}

        def take(found: dict[int, RowWords]) -> None:
            self._previewing = False
            if dataset is self.dataset:
                for row, words in found.items():
                    self._previews[row] = words
            self.listed.refresh()

        self.in_thread("preview", read, take, exclusive=False)

    # -- findings and lengths of all rows

    def follow(self) -> None:
        """Open the dataset of the current row, and check rows again if their tokens changed."""
        origin = self._chat.state.origin
        known = (self._opens, self._gone)
        if origin.row is not None and self.row is None and origin.path not in known:
            self.reopen(origin)
        if self.dataset is not None and self.checks.is_outdated:
            self.checks.start(self.dataset)
            self._show_checks()

    def _show_checks(self) -> None:
        scan, dataset = self.checks.scan, self.dataset
        self._list()
        if self._left.shown == "lengths":
            self._draw_lengths()
        if self._filter_dialog is not None and scan is not None and dataset is not None:
            self._filter_dialog.show_options(*_filters(scan, dataset.n_rows))

    @action("Filter the rows by a finding…", "ctrl+f", section="Dataset")
    def filter_rows(self) -> None:
        """List only conversations with findings."""
        dataset = self._dataset_or_say()
        if dataset is None:
            return
        scan = self.checks.start(dataset)
        current = _ALL
        if self.filter:
            current = _ANY if len(self.filter) > 1 else self.filter[0]
        dialog = PickDialog(*_filters(scan, dataset.n_rows), current=current)
        self._filter_dialog = dialog

        def picked(choice: str | None) -> None:
            self._filter_dialog = None
            # The file may have been replaced in the meantime.
            if choice is not None and dataset is self.dataset:
                self.use_filter(choice)

        self.app.push_screen(dialog, picked)

    def use_filter(self, choice: str) -> None:
        """List the rows in which a finding was found, or any, or all rows."""
        self.filter = {_ALL: (), _ANY: tuple(RULES)}.get(choice, (choice,))
        self._list()
        self._left.show("rows")
        rows, scan = self.listed.rows, self.checks.scan
        if not rows and scan is not None:
            what = "any finding" if choice == _ANY else "that finding"
            self.say(f"No row has {what}{' so far' * scan.running}.")
        if rows and self._wanted not in rows:
            self.go_to(rows[0])

    @action("Lengths of the dataset", "alt+l", section="Dataset")
    def show_lengths(self) -> None:
        """How many tokens the conversations have, against where they are cut off."""
        dataset = self._dataset_or_say()
        if dataset is not None:
            is_shown = self._left.shown == "lengths"
            if not is_shown:
                self.checks.start(dataset)
            self._left.show("conversation" if is_shown else "lengths")
            self._draw_lengths()

    def _draw_lengths(self) -> None:
        scan, dataset = self.checks.scan, self.dataset
        if scan is not None and dataset is not None:
            known = scan.counted()
            found, rest = histogram(known, self._chat.max_tokens), len(scan.lengths) - len(known)
            self._lengths.show(partial(lengths_rows, found, rest, scan.progress(dataset)))


def _preview_of(dataset: Dataset, row: int) -> RowWords:
    found = read_row(dataset, row)
    return RowWords(dataset.preview(row), warns=found is not None and found.error is not None)


def _filters(scan: Scan, n_rows: int) -> tuple[str, list[Option]]:
    """Return the title of the dialog, and every filter with its matching rows."""
    options = [Option(_ALL, _ALL, f"{n_rows:,}"), Option(_ANY, _ANY, f"{len(scan.warned):,}")]
    options += [
        Option(code, rule.title, f"{len(scan.codes.get(code, ())):,}", f"{rule.severity}: {code}")
        for code, rule in RULES.items()
    ]
    return f"Show rows with{'' if scan.complete else ' (still checking)'}", options
