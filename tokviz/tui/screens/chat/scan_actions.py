"""Checking all rows of a dataset: findings to filter by, and lengths."""

from __future__ import annotations

from textual import work
from textual.widgets import Static
from textual.worker import Worker, get_current_worker

from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter, histogram
from tokviz.chat.lint import RULES
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.chat.dataset_actions import DatasetActions
from tokviz.tui.screens.chat.dataset_view import lengths_content
from tokviz.tui.screens.chat.scan import Scan, Scanned, scan_rows

_ANY = "any finding"
_ALL = "all rows"


class ScanActions(DatasetActions):
    """Finds out about every row, in the background."""

    lengths_table: Static
    _scanning: Worker[None] | None = None
    _filter_dialog: PickDialog | None = None

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
        if self._filter_dialog is not None:
            self._filter_dialog.show_options(*self._filter_options())

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

    def action_show_conversation(self) -> None:
        """Show the messages."""
        self.show_left("conversation")

    def action_show_rows(self) -> None:
        """Show the rows of the dataset, or the messages again."""
        if self.is_dataset():
            self.show_left("conversation" if self.left_view == "rows" else "rows")

    def action_show_lengths(self) -> None:
        """Show how long the conversations of the dataset are."""
        if self.is_dataset():
            self.start_scan()
            self.show_left("conversation" if self.left_view == "lengths" else "lengths")

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
        if not self.is_dataset():
            return
        self.start_scan()
        current = _ALL
        if self.filter_codes:
            current = _ANY if len(self.filter_codes) > 1 else self.filter_codes[0]
        self._filter_dialog = PickDialog(*self._filter_options(), current=current)
        self.app.push_screen(self._filter_dialog, self._filter_picked)

    def _filter_options(self) -> tuple[str, list[Option]]:
        """Give the title of the dialog, and every filter with the rows that it lets through."""
        scan, dataset = self.scan, self.dataset
        assert scan is not None and dataset is not None
        options = [
            Option(_ALL, _ALL, f"{dataset.n_rows:,}"),
            Option(_ANY, _ANY, f"{len(scan.warned):,}"),
        ]
        options += [
            Option(
                code, rule.title, f"{len(scan.codes.get(code, ())):,}", f"{rule.severity}: {code}"
            )
            for code, rule in RULES.items()
        ]
        return f"Show rows with{'' if scan.complete else ' (still checking)'}", options

    def _filter_picked(self, choice: str | None) -> None:
        self._filter_dialog = None
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
