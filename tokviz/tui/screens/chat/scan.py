"""Checking all rows of a dataset: their lengths and findings, as they are found."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter, RowReport
from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message, pluralize
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.tasks import Task

if TYPE_CHECKING:
    from tokviz.chat.jinja_template import JinjaTemplate
    from tokviz.chat.templates import ChatTemplate

REPORT_SECONDS = 0.25
"""How often the screen hears of progress."""

_SLICE_SECONDS, _REST_SECONDS = 0.02, 0.002
"""Between two slices of work the thread leaves the interpreter to the keys."""

NOT_COUNTED = 0xFFFFFFFF
"""Stands for the length of a row that cannot be rendered."""


class Scan:
    """Everything that has been found so far. Filled from one thread, read in the same.

    Attributes:
        meaning: What the findings depend on: tokenizer, template, length. Another one means that
            everything has to be found anew.
        lengths: The tokens of each row, `NOT_COUNTED` where there are none; typecode "I".
        codes: For every code of a finding the rows it was found in, counted from 0; typecode "I".
        warned: The rows in which anything was found.
        n_findings: How much was found in them.
        complete: Whether all rows have been checked.
        stopped: Whether no more rows will be, though there are some.
    """

    def __init__(self, meaning: object) -> None:
        """Begin with nothing."""
        self.meaning = meaning
        self.lengths = array("I")
        self.codes: dict[str, array[int]] = {}
        self.warned: set[int] = set()
        self.n_findings = 0
        self.complete = self.stopped = False

    @property
    def running(self) -> bool:
        """Whether rows are being checked."""
        return not (self.complete or self.stopped)

    def add(self, reports: Iterable[RowReport]) -> None:
        """Add what was found in the next rows."""
        for found in reports:
            self.lengths.append(NOT_COUNTED if found.n_tokens is None else found.n_tokens)
            self.n_findings += len(found.findings)
            for code in {finding.code for finding in found.findings}:
                self.codes.setdefault(code, array("I")).append(found.row)
                self.warned.add(found.row)

    def length(self, row: int) -> int | None:
        """Give the tokens of a row, None if they are not known."""
        if row >= len(self.lengths) or self.lengths[row] == NOT_COUNTED:
            return None
        return self.lengths[row]

    def counted(self) -> list[int]:
        """Give all lengths that are known."""
        return [length for length in self.lengths if length != NOT_COUNTED]

    def rows_with(self, codes: Sequence[str]) -> array[int]:
        """Give the rows in which any of some codes was found, in order; they do not change."""
        if len(codes) == 1:
            return self.codes.get(codes[0], array("I"))[:]
        return array("I", sorted({row for code in codes for row in self.codes.get(code, ())}))

    def progress(self, dataset: Dataset) -> str:
        """Say how far checking is, in a few words."""
        if self.complete:
            return f"{pluralize(len(self.warned), 'row')} with findings"
        share = f" of {dataset.n_rows:,}" if dataset.complete else ""
        return f"checked {len(self.lengths):,}{share}, {'stopped' if self.stopped else 'Esc stops'}"


class Checks(Controller):
    """Finds out about every row of a dataset, in the background."""

    def __init__(
        self, screen: TokvizScreen, chat: ConversationAtHand, show: Callable[[], object]
    ) -> None:
        """Take the conversation, for how it is rendered, and what shows what was found."""
        super().__init__(screen)
        self._chat, self._show = chat, show
        self.scan: Scan | None = None
        """What was found, None if nobody asked for it."""

    def _meaning(self) -> tuple[Tokenizer, ChatTemplate | JinjaTemplate, int]:
        return self.session.tokenizer, self._chat.template, self._chat.max_tokens

    @property
    def is_outdated(self) -> bool:
        """Whether what was found is of another template, tokenizer or length."""
        return self.scan is not None and self.scan.meaning != self._meaning()

    def start(self, dataset: Dataset) -> Scan:
        """Check all rows in the background, unless that is done or under way."""
        if self.scan is not None and not self.is_outdated and not self.scan.stopped:
            return self.scan
        self.forget()
        self.scan = Scan(self._meaning())
        linter = DatasetLinter(*self._meaning(), with_lengths=True)
        scan = self.scan
        check, checked = partial(self._check, scan, linter, dataset), partial(self._checked, scan)
        self.in_thread("scan", check, checked, failed=partial(self._failed, scan))
        return scan

    def _check(self, scan: Scan, linter: DatasetLinter, dataset: Dataset, task: Task) -> None:
        batch: list[RowReport] = []
        now = time.monotonic()
        due, rests = now + REPORT_SECONDS, now + _SLICE_SECONDS
        for found in linter.reports(dataset):
            if scan.stopped or task.cancelled:
                return
            batch.append(found)
            now = time.monotonic()
            if now >= due:
                task.tell(self._take, scan, batch)
                batch, due = [], time.monotonic() + REPORT_SECONDS
            elif now >= rests:
                time.sleep(_REST_SECONDS)
                rests = time.monotonic() + _SLICE_SECONDS
        task.tell(self._take, scan, batch)

    def _take(self, scan: Scan, batch: list[RowReport]) -> None:
        if scan is self.scan and scan.running:
            scan.add(batch)
            self._show()

    def _checked(self, scan: Scan, _: None) -> None:
        if scan is self.scan and scan.running:
            scan.complete = True
            self._show()
            where = f" in {pluralize(len(scan.warned), 'row')}" if scan.warned else ""
            found = pluralize(scan.n_findings, "finding") if scan.warned else "no findings"
            rows = pluralize(len(scan.lengths), "row")
            self.say(f"The check of {rows} is complete: {found}{where}.")

    def _failed(self, scan: Scan, error: TokvizError) -> None:
        if scan is self.scan and scan.running:
            scan.stopped = True
            self.say(failure_message("Checking has stopped", error), "error")
            self._show()

    def stop(self) -> bool:
        """Stop checking; what was found stays. Tell whether anything was being checked."""
        if self.scan is None or not self.scan.running:
            return False
        self.scan.stopped = True
        self.say("Checking has stopped. What was found so far stays.")
        self._show()
        return True

    def forget(self) -> None:
        """Stop checking, and forget what was found."""
        if self.scan is not None:
            self.scan.stopped = True
        self.scan = None
