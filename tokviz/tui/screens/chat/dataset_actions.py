"""Files of conversations: opening them, moving through their rows, and checking all rows."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from textual import work
from textual.widgets import Static
from textual.worker import Worker, get_current_worker

from tokviz import bytetext
from tokviz.chat.conversation import Conversation, ConversationError
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter, histogram
from tokviz.chat.lint import RULES
from tokviz.errors import TokvizError
from tokviz.tui.dialogs.ask_text import AskDialog
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.chat.dataset_view import RowsView, RowWords, lengths_content
from tokviz.tui.screens.chat.file_actions import FileActions
from tokviz.tui.screens.chat.history import Origin
from tokviz.tui.screens.chat.scan import Scan, Scanned, scan_rows
from tokviz.tui.widgets.conversation.rows import PartPlace

_PREVIEWS_KEPT = 5_000
_INDEX_SECONDS = 0.2
_MOST_RAW_BYTES = 20_000
"""How much is shown of a row that is no conversation."""
_GOTO = re.compile(r"(?P<sign>[#m]?)\s*(?P<number>[0-9][0-9,_ ]{0,14})")
_ANY = "any finding"
_ALL = "all rows"


class DatasetActions(FileActions):
    """The rows of a file, one of which is shown."""

    dataset: Dataset | None = None
    rows_view: RowsView
    lengths_table: Static
    left_view = "conversation"
    """Which of "conversation", "rows" and "lengths" is in sight."""
    filter_codes: tuple[str, ...] = ()
    """The findings that a row must have to be listed, none for all rows."""
    scan: Scan | None = None
    _n_listed = 0
    _scanning: Worker[None] | None = None
    _previews: OrderedDict[int, RowWords]
    _previewing = False

    # -- opening

    def action_open_file(self) -> None:
        """Choose a file of one conversation or many."""
        from tokviz.tui.dialogs.open_any import OpenAnyDialog

        dialog = OpenAnyDialog("Open a conversation or a dataset", self.folder())
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
        if self.dataset is None or here is None:
            self.say("This is no dataset: open a file with more than one conversation.")
            return
        from bisect import bisect_left, bisect_right

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

    # -- checking all rows

    def start_scan(self) -> None:
        """Check all rows in the background, unless that is done or under way."""
        dataset = self.dataset
        if dataset is None:
            return
        meaning = (self.tokenizer, self.history.state.template, self.max_tokens)
        known = self.scan is not None and self.scan.meaning == meaning
        if known and (self._scanning is not None or (self.scan and self.scan.complete)):
            return
        self.cancel_scan()
        self.scan = Scan(meaning)
        linter = DatasetLinter(self.tokenizer, self.template, self.max_tokens, with_lengths=True)
        self._scanning = self._scan_rows(self.scan, linter, dataset)

    @work(thread=True, exclusive=True, group="scan", description="check rows", exit_on_error=False)
    def _scan_rows(self, scan: Scan, linter: DatasetLinter, dataset: Dataset) -> None:
        worker = get_current_worker()
        scan_rows(
            linter,
            dataset,
            lambda some: self.call_here(self._take_scanned, scan, some),
            lambda: worker.is_cancelled,
        )
        if not worker.is_cancelled:
            self.call_here(self._scan_complete, scan)

    def _take_scanned(self, scan: Scan, some: Scanned) -> None:
        if scan is self.scan:
            scan.add(some)
            self._show_scan()

    def _scan_complete(self, scan: Scan) -> None:
        if scan is self.scan:
            scan.complete = True
            self._scanning = None
            self._show_scan()
            found = sum(map(len, scan.codes.values()))
            self.say(
                f"All {len(scan.lengths):,} rows are checked: "
                + (f"{found:,} findings in {len(scan.warned):,} rows." if found else "no findings.")
            )

    def action_cancel_scan(self) -> None:
        """Stop checking; what was found stays."""
        if self._scanning is not None:
            self.cancel_scan()
            self.say("Checking has stopped. What was found so far stays.")
            self._show_scan()

    def cancel_scan(self) -> None:
        """Stop checking rows."""
        if self._scanning is not None:
            self._scanning.cancel()
            self._scanning = None

    def _show_scan(self) -> None:
        self.list_rows()
        if self.left_view == "lengths":
            self.show_lengths()

    def scan_progress(self) -> str:
        """Say how far checking is, in a few words; empty if nobody asked for it."""
        if self.scan is None or self.dataset is None:
            return ""
        n, total = len(self.scan.lengths), self.dataset.n_rows
        if self.scan.complete:
            return f"{len(self.scan.warned):,} rows with findings"
        share = f" of {total:,}" if self.dataset.complete else ""
        return f"checked {n:,}{share}" + (", Esc stops" if self._scanning else ", stopped")

    # -- lists, filter, lengths

    def show_left(self, view: str) -> None:
        """Show the conversation, the rows or their lengths."""
        raise NotImplementedError

    def action_show_conversation(self) -> None:
        """Show the messages."""
        self.show_left("conversation")

    def action_show_rows(self) -> None:
        """Show the rows of the dataset, or the messages again."""
        if self._is_dataset():
            self.show_left("conversation" if self.left_view == "rows" else "rows")

    def action_show_lengths(self) -> None:
        """Show how long the conversations of the dataset are."""
        if self._is_dataset():
            self.start_scan()
            self.show_left("conversation" if self.left_view == "lengths" else "lengths")

    def _is_dataset(self) -> bool:
        if self.dataset is None:
            self.say("This is no dataset: open a file with more than one conversation.")
        return self.dataset is not None

    def show_lengths(self) -> None:
        """Draw the histogram of what has been counted."""
        scan = self.scan
        if scan is None or self.dataset is None:
            return
        width = max(20, self.lengths_table.content_size.width or 40)
        found = histogram(scan.counted(), self.max_tokens)
        self.lengths_table.update(lengths_content(found, width, self.scan_progress()))

    def action_filter_rows(self) -> None:
        """Choose which finding a row must have to be listed."""
        if not self._is_dataset():
            return
        self.start_scan()
        scan = self.scan
        assert scan is not None
        options = [
            Option(_ALL, _ALL, f"{self.dataset.n_rows:,}" if self.dataset else ""),
            Option(_ANY, _ANY, f"{len(scan.warned):,}"),
        ]
        options += [
            Option(
                code, rule.title, f"{len(scan.codes.get(code, ())):,}", f"{rule.severity}: {code}"
            )
            for code, rule in RULES.items()
        ]
        current = _ALL
        if self.filter_codes:
            current = _ANY if len(self.filter_codes) > 1 else self.filter_codes[0]
        checked = "" if scan.complete else " (still checking)"
        dialog = PickDialog(f"Show rows with{checked}", options, current=current)
        self.app.push_screen(dialog, self._filter_picked)

    def _filter_picked(self, choice: str | None) -> None:
        if choice is None:
            return
        self.filter_codes = {_ALL: (), _ANY: tuple(RULES)}.get(choice, (choice,))
        self._n_listed = -1
        self.list_rows()
        self.show_left("rows")
        rows = self.listed()
        here = self.history.state.origin.row
        if rows and here not in rows:
            self.go_to_row(rows[0])

    # -- go to

    def action_goto(self) -> None:
        """Jump to a row, a message or a token."""
        n_rows = self.dataset.n_rows if self.dataset is not None else 0
        n_messages = len(self.conversation.messages)
        n_tokens = 0 if self.rendering is None else len(self.rendering)
        kinds = []
        if n_rows:
            kinds.append(f"12 row, 1 to {n_rows:,}")
        kinds.append(f"m3 message, 1 to {n_messages:,}")
        kinds.append(f"#12 token, 0 to {max(0, n_tokens - 1):,}")

        def check(text: str) -> str:
            match = _GOTO.fullmatch(text)
            if match is None:
                return "Type " + ", ".join(kinds) + "."
            number = _int(match["number"])
            if match["sign"] == "#":
                return "" if number < n_tokens else f"The tokens go from 0 to {n_tokens - 1:,}."
            if match["sign"] == "m" or not n_rows:
                ok = 1 <= number <= n_messages
                return "" if ok else f"The messages go from 1 to {n_messages:,}."
            return "" if 1 <= number <= n_rows else f"The rows go from 1 to {n_rows:,}."

        def go(text: str | None) -> None:
            match = _GOTO.fullmatch(text or "")
            if match is None:
                return
            number = _int(match["number"])
            if match["sign"] == "#":
                self.pick_token(number)
            elif match["sign"] == "m" or not n_rows:
                self.messages.go_to(PartPlace(number - 1), (0, 0))
            else:
                self.go_to_row(number - 1)

        dialog = AskDialog("Go to", "; ".join(kinds), check, placeholder="12   m3   #12")
        self.app.push_screen(dialog, go)


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


def _int(digits: str) -> int:
    return int(re.sub("[,_ ]", "", digits))
