"""Files of conversations: opening them, moving through their rows, and checking all rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from textual import work
from textual.worker import get_current_worker

from tokviz import bytetext
from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.chat.dataset import Dataset
from tokviz.errors import TokvizError
from tokviz.tui.screens.chat.dataset_view import RowsView, RowWords
from tokviz.tui.screens.chat.file_actions import FileActions
from tokviz.tui.screens.chat.history import Origin
from tokviz.tui.screens.chat.scan import Scan

_PREVIEWS_KEPT = 5_000
_INDEX_SECONDS = 0.2
_MOST_RAW_BYTES = 20_000
"""How much is shown of a row that is no conversation."""


class DatasetActions(FileActions):
    """The rows of a file, one of which is shown."""

    dataset: Dataset | None = None
    rows_view: RowsView
    left_view = "conversation"
    """Which of "conversation", "rows" and "lengths" is in sight."""
    filter_codes: tuple[str, ...] = ()
    """The findings that a row must have to be listed, none for all rows."""
    scan: Scan | None = None
    _n_listed = 0
    _previews: OrderedDict[int, RowWords]
    _previewing = False

    # -- opening

    def action_open_file(self) -> None:
        """Choose a file of one conversation or many."""
        from tokviz.tui.dialogs.open_file import OpenFileDialog

        dialog = OpenFileDialog(
            self.folder(), title="Open a conversation or a dataset", takes_any=True
        )
        self.app.push_screen(dialog, self._open_chosen)

    def _open_chosen(self, path: Path | None) -> None:
        if path is not None:
            self.open_path(path)

    def open_path(self, path: Path) -> None:
        """Open a file; what was shown stays if that fails, and undo brings it back if not."""
        self._open(path)

    @work(thread=True, exclusive=True, group="open", exit_on_error=False)
    def _open(self, path: Path) -> None:
        worker = get_current_worker()
        first: Conversation | ConversationError | None = None
        raw = b""
        try:
            dataset = Dataset.open(path)
            if dataset.has_row(0):
                first = _row(dataset, 0)
                raw = _raw(dataset, 0) if isinstance(first, ConversationError) else b""
        except TokvizError as error:
            text = str(error)
            if str(path) not in text:
                text = f"{path}: {text}"
            self.call_here(self.say, text, "error")
            return
        if worker.is_cancelled:
            return
        self.call_here(self._opened, path, dataset, first, raw)
        if first is None:
            return
        while dataset.index_more():
            if get_current_worker().is_cancelled:
                return
        self.call_here(self._indexed, dataset)

    def _opened(
        self,
        path: Path,
        dataset: Dataset,
        first: Conversation | ConversationError | None,
        raw: bytes,
    ) -> None:
        if first is None:
            self.say(f"{path}: there is no conversation in it.", "warning")
            return
        self.remember_folder(path)
        self.leave_dataset()
        is_one = dataset.n_rows == 1 and dataset.complete and path.suffix != ".jsonl"
        if not is_one:
            self.dataset = dataset
            self.set_timer(_INDEX_SECONDS, self._list_rows)
        self._show_row(first, Origin(path, None if is_one else 0), raw)
        self._list_rows()
        self.show_left("conversation")

    def show_left(self, view: str) -> None:
        """Show the conversation, the rows or their lengths."""
        raise NotImplementedError

    def leave_dataset(self) -> None:
        """Forget the rows; the conversation stays."""
        self.cancel_scan()
        self.dataset = None
        self.scan = None
        self.filter_codes = ()
        self._previews = OrderedDict()
        self._n_listed = 0

    def _indexed(self, dataset: Dataset) -> None:
        if dataset is self.dataset:
            self._list_rows()

    def _list_rows(self) -> None:
        """List the rows that are known by now."""
        dataset = self.dataset
        if dataset is None:
            self.show_rendering()
            return
        if not dataset.complete:
            self.set_timer(_INDEX_SECONDS, self._list_rows)
        self.list_rows()

    def listed(self) -> Sequence[int]:
        """Give the rows that the filter lets through."""
        if self.dataset is None:
            return range(0)
        if self.filter_codes and self.scan is not None:
            return self.scan.rows_with(self.filter_codes)
        return range(self.dataset.n_rows)

    def list_rows(self) -> None:
        """Show the rows that the filter lets through, the present one highlighted."""
        rows = self.listed()
        if len(rows) != self._n_listed or not isinstance(rows, range):
            self._n_listed = len(rows)
            self.rows_view.show_rows(rows, self.history.state.origin.row)
        self.rows_view.refresh()
        self.show_rendering()

    # -- one row

    def _show_row(
        self, found: Conversation | ConversationError, origin: Origin, raw: bytes = b""
    ) -> None:
        conversation = Conversation(()) if isinstance(found, ConversationError) else found
        self.broken = (conversation, found) if isinstance(found, ConversationError) else None
        self.messages.set_raw(bytetext.from_bytes(raw))
        # Looking through rows is no change that one would want to take back step by step.
        here = self.history.state.origin
        looked = not self.modified and here.path == origin.path and here.row is not None
        self.load(conversation, origin, instead=looked)

    def go_to_row(self, row: int) -> None:
        """Show a row of the dataset."""
        if self.dataset is not None and row != self.history.state.origin.row:
            self._read_row(self.dataset, row)

    @work(thread=True, exclusive=True, group="row", description="row", exit_on_error=False)
    def _read_row(self, dataset: Dataset, row: int) -> None:
        worker = get_current_worker()
        if not dataset.has_row(row):
            return
        found = _row(dataset, row)
        raw = _raw(dataset, row) if isinstance(found, ConversationError) else b""
        if not worker.is_cancelled:
            self.call_here(self._row_read, dataset, row, found, raw)

    def _row_read(
        self, dataset: Dataset, row: int, found: Conversation | ConversationError, raw: bytes
    ) -> None:
        if dataset is self.dataset:
            self._show_row(found, Origin(Path(dataset.path), row), raw)
            if self.left_view != "rows":
                self._n_listed = -1
                self.list_rows()

    def action_next_row(self) -> None:
        """Show the next row that the filter lets through."""
        self._step_row(1)

    def action_previous_row(self) -> None:
        """Show the row before."""
        self._step_row(-1)

    def _step_row(self, step: int) -> None:
        rows, here = self.listed(), self.history.state.origin.row
        if not self.is_dataset() or here is None:
            return
        at = bisect_right(rows, here) if step > 0 else bisect_left(rows, here) - 1
        if 0 <= at < len(rows):
            self.go_to_row(rows[at])
        else:
            edge = "last" if step > 0 else "first"
            self.say(f"This is the {edge} row{' of the filter' * bool(self.filter_codes)}.")

    def on_rows_view_chosen(self, event: RowsView.Chosen) -> None:
        """Show the row that the user moved to."""
        event.stop()
        self.go_to_row(event.row)
        if event.edit:
            self.show_left("conversation")

    # -- what the list says of a row

    def describe_row(self, row: int) -> RowWords:
        """Say what is known of a row; its words are read in a thread."""
        words = self._previews.get(row)
        if words is None and not self._previewing and self.dataset is not None:
            self._previewing = True
            self.call_after_refresh(self._preview)
        words = words or RowWords(None)
        if self.scan is None:
            return words
        warns = words.warns or row in self.scan.warned
        return words._replace(n_tokens=self.scan.length(row), warns=warns)

    def _preview(self) -> None:
        wanted = [row for row in self.rows_view.rows_in_view() if row not in self._previews]
        if self.dataset is None or not wanted:
            self._previewing = False
        else:
            self._read_previews(self.dataset, wanted)

    @work(thread=True, group="preview", description="preview", exit_on_error=False)
    def _read_previews(self, dataset: Dataset, rows: list[int]) -> None:
        found = {
            row: RowWords(dataset.preview(row), warns=isinstance(_row(dataset, row), TokvizError))
            for row in rows
        }
        self.call_here(self._take_previews, dataset, found)

    def _take_previews(self, dataset: Dataset, found: dict[int, RowWords]) -> None:
        self._previewing = False
        if dataset is self.dataset:
            self._previews.update(found)
            while len(self._previews) > _PREVIEWS_KEPT:
                self._previews.popitem(last=False)
            self.rows_view.refresh()

    # -- what else the screen does

    def cancel_scan(self) -> None:
        """Stop checking rows."""
        raise NotImplementedError

    def is_dataset(self) -> bool:
        """Tell whether there are rows; say so if there are none."""
        if self.dataset is None:
            self.say("This is no dataset: open a file with more than one conversation.")
        return self.dataset is not None


def _row(dataset: Dataset, row: int) -> Conversation | ConversationError:
    try:
        return dataset.row(row)
    except ConversationError as error:
        return error


def _raw(dataset: Dataset, row: int) -> bytes:
    """Give the beginning of a row as it is in the file; nothing where it cannot be read."""
    try:
        return dataset.raw(row)[:_MOST_RAW_BYTES]
    except ConversationError:
        return b""
