"""What is known of the rows of a dataset: lengths and findings, as they are found."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter

REPORT_SECONDS = 0.25
"""How often whoever waits hears of progress."""

NOT_COUNTED = 0xFFFFFFFF
"""Stands for the length of a row that cannot be rendered."""


class Scanned(NamedTuple):
    """Some rows that have been checked, in order.

    Attributes:
        lengths: Their tokens, `NOT_COUNTED` where there are none; typecode "I".
        codes: For every code of a finding the rows it was found in, counted from 0; typecode "I".
    """

    lengths: array[int]
    codes: dict[str, array[int]]


class Scan:
    """Everything that has been found so far. Filled from one thread, read in the same."""

    def __init__(self, meaning: object) -> None:
        """Begin with nothing.

        Args:
            meaning: What the findings depend on: tokenizer, template, length. Another one means
                that everything has to be found anew.
        """
        self.meaning = meaning
        self.lengths = array("I")
        self.codes: dict[str, array[int]] = {}
        self.warned: set[int] = set()
        self.complete = False

    def add(self, some: Scanned) -> None:
        """Add what was found in the next rows."""
        self.lengths.extend(some.lengths)
        for code, rows in some.codes.items():
            self.codes.setdefault(code, array("I")).extend(rows)
            self.warned.update(rows)

    def length(self, row: int) -> int | None:
        """Give the tokens of a row, None if they are not known."""
        if row >= len(self.lengths) or self.lengths[row] == NOT_COUNTED:
            return None
        return self.lengths[row]

    def counted(self) -> list[int]:
        """Give all lengths that are known."""
        return [length for length in self.lengths if length != NOT_COUNTED]

    def rows_with(self, codes: Sequence[str]) -> array[int]:
        """Give the rows in which any of some codes was found, in order."""
        if len(codes) == 1:
            return self.codes.get(codes[0], array("I"))
        return array("I", sorted({row for code in codes for row in self.codes.get(code, ())}))


def scan_rows(
    linter: DatasetLinter,
    dataset: Dataset,
    report: Callable[[Scanned], object],
    should_stop: Callable[[], bool],
) -> None:
    """Check all rows and report a few times a second.

    Args:
        linter: Checks rows, with their lengths.
        dataset: The rows.
        report: Takes what was found in the rows since the last time.
        should_stop: Asked after every row.
    """
    lengths = array("I")
    codes: dict[str, array[int]] = {}
    due = time.monotonic() + REPORT_SECONDS
    for found in linter.reports(dataset):
        if should_stop():
            return
        lengths.append(NOT_COUNTED if found.n_tokens is None else found.n_tokens)
        for code in {finding.code for finding in found.findings}:
            codes.setdefault(code, array("I")).append(found.row)
        if time.monotonic() >= due:
            report(Scanned(lengths, codes))
            lengths, codes = array("I"), {}
            due = time.monotonic() + REPORT_SECONDS
    report(Scanned(lengths, codes))
