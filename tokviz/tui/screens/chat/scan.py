"""Checking all rows of a dataset: their lengths and findings, as they are found."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter, RowReport
from tokviz.chat.templates import TEMPLATES
from tokviz.errors import TokvizError
from tokviz.text.sentences import failure_message, pluralize
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.chat.state import ConversationAtHand
from tokviz.tui.tasks import Task

REPORT_SECONDS = 0.25
"""Seconds between progress updates."""

_SLICE_SECONDS, _REST_SECONDS = 0.02, 0.002
"""Between two slices of work the thread leaves the interpreter to the keys."""

NOT_COUNTED = 0xFFFFFFFF
"""Length of a row that cannot be rendered."""


class Scan:
    """All findings so far; written and read in the same thread.

    Attributes:
        meaning: The tokenizer, template, length, variables and policy for special tokens that the
            findings depend on; a change invalidates all of them.
        lengths: Number of tokens of each row, or `NOT_COUNTED`; typecode "I".
        codes: Rows with each finding code, counted from 0; typecode "I".
        warned: Rows with any finding.
        n_findings: Number of findings.
        complete: True once all rows are checked.
        stopped: True if checking was stopped early.
    """

    def __init__(self, meaning: object) -> None:
        """Create an empty result."""
        self.meaning = meaning
        self.lengths = array("I")
        self.codes: dict[str, array[int]] = {}
        self.warned: set[int] = set()
        self.n_findings = 0
        self.complete = self.stopped = False

    @property
    def running(self) -> bool:
        """True while rows are being checked."""
        return not (self.complete or self.stopped)

    def add(self, reports: Iterable[RowReport]) -> None:
        """Add the findings of the next rows."""
        for found in reports:
            self.lengths.append(NOT_COUNTED if found.n_tokens is None else found.n_tokens)
            self.n_findings += len(found.findings)
            for code in {finding.code for finding in found.findings}:
                self.codes.setdefault(code, array("I")).append(found.row)
                self.warned.add(found.row)

    def length(self, row: int) -> int | None:
        """Return the number of tokens of a row, or None if unknown."""
        if row >= len(self.lengths) or self.lengths[row] == NOT_COUNTED:
            return None
        return self.lengths[row]

    def counted(self) -> list[int]:
        """Return all known lengths."""
        return [length for length in self.lengths if length != NOT_COUNTED]

    def rows_with(self, codes: Sequence[str]) -> array[int]:
        """Return the rows with any of some codes, in order, as a copy."""
        if len(codes) == 1:
            return self.codes.get(codes[0], array("I"))[:]
        return array("I", sorted({row for code in codes for row in self.codes.get(code, ())}))

    def progress(self, dataset: Dataset) -> str:
        """Describe the progress in a few words."""
        if self.complete:
            return f"{pluralize(len(self.warned), 'row')} with findings"
        share = f" of {dataset.n_rows:,}" if dataset.complete else ""
        return f"checked {len(self.lengths):,}{share}, {'stopped' if self.stopped else 'Esc stops'}"


class Checks(Controller):
    """Finds out about every row of a dataset, in the background."""

    _chat: ConversationAtHand
    _show: Callable[[], object]
    scan: Scan | None = field(default=None, init=False)
    """The findings, or None if checking was not requested."""

    def _meaning(self) -> tuple[Any, ...]:
        chat, tokenizer = self._chat, self.session.tokenizer
        template = chat.template or TEMPLATES["nanochat"]
        return tokenizer, template, chat.max_tokens, chat.state.variables, chat.policy

    @property
    def is_outdated(self) -> bool:
        """True if the findings are of another template, tokenizer or length."""
        return self.scan is not None and self.scan.meaning != self._meaning()

    def start(self, dataset: Dataset) -> Scan:
        """Check all rows in the background, unless this is done or running."""
        if self.scan is not None and not self.is_outdated and not self.scan.stopped:
            return self.scan
        self.forget()
        self.scan = Scan(self._meaning())
        *meant, variables, specials = self._meaning()
        linter = DatasetLinter(*meant, with_lengths=True, variables=variables, specials=specials)
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
        """Stop checking and keep the findings; return whether a check was running."""
        if self.scan is None or not self.scan.running:
            return False
        self.scan.stopped = True
        self.say("Checking stopped. The findings so far remain.")
        self._show()
        return True

    def forget(self) -> None:
        """Stop checking and discard the findings."""
        if self.scan is not None:
            self.scan.stopped = True
        self.scan = None
