"""Statistics of a dataset: its tokens by source, role and kind, and the lengths of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tokviz.chat.conversation import SOURCE_KEYS, Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.messages import ConversationError
from tokviz.chat.packing import Integers, RowLengths
from tokviz.chat.rendering import Rendering, TokenRun
from tokviz.chat.requests import request_row
from tokviz.chat.spans import Reason

Render = Callable[[Conversation], Rendering]
"""Renders a conversation, or raises `ConversationError`."""

GROUPS = ("source", "role", "kind")
"""The properties by which tokens are counted."""

TEMPLATE_TEXT, END_TOKENS = "template text", "end tokens"
_KINDS = {
    Reason.HEADER: TEMPLATE_TEXT,
    Reason.TOOL_CALL: "tool calls",
    Reason.TOOL_OUTPUT: "tool outputs",
    Reason.END: END_TOKENS,
}


@dataclass
class RowCounts:
    """Counts of rows; those of the parts of a dataset can be added in order.

    Attributes:
        learned: The tokens in the loss by the values of `GROUPS`; "" for none.
        lengths: The tokens of each row that can be rendered, before truncation.
        answers: The row of each answer in `lengths`, its first token and one past its last.
        errors: The reasons for which other rows cannot be read or rendered, with their place.
    """

    learned: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    lengths: list[int] = field(default_factory=list)
    answers: list[tuple[int, int, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __iadd__(self, other: RowCounts) -> RowCounts:
        """Add the counts of the rows that follow."""
        self.learned.update(other.learned)
        n_rows = len(self.lengths)
        self.answers += [(row + n_rows, first, end) for row, first, end in other.answers]
        self.lengths += other.lengths
        self.errors += other.errors
        return self

    @property
    def row_lengths(self) -> RowLengths:
        """The lengths for packing."""
        answers = np.array(self.answers, np.int64).reshape(-1, 3)
        return RowLengths(np.array(self.lengths, np.int64), answers)

    def learned_by(self, group: str) -> dict[str, int]:
        """Return the tokens in the loss by one of `GROUPS`, the most first."""
        totals = Counter[str]()
        for values, n_tokens in self.learned.items():
            totals[values[GROUPS.index(group)]] += n_tokens
        return dict(+totals)

    def add(self, conversation: Conversation, rendering: Rendering) -> None:
        """Count a row."""
        extra = conversation.extra
        source = next((extra[key] for key in SOURCE_KEYS if isinstance(extra.get(key), str)), "")
        mask = rendering.mask
        answers: dict[int, tuple[int, int]] = {}
        for run in rendering.runs:
            first, last = run.first, min(run.last, rendering.n_kept)
            role = conversation.messages[run.message].role if run.message >= 0 else ""
            group = source, role, kind_of(run, rendering)
            learned = mask.count(1, first, last)
            self.learned[group] += learned
            if learned and role == "assistant":
                start = answers.get(run.message, (mask.index(1, first), 0))[0]
                answers[run.message] = start, mask.rindex(1, first, last) + 1
        self.answers += [(len(self.lengths), *span) for span in answers.values()]
        self.lengths.append(len(rendering))


def kind_of(run: TokenRun, rendering: Rendering) -> str:
    """Return the kind of the tokens of a run: "text", "reasoning", "template text" and so on."""
    if run.reason is not Reason.ASSISTANT_TEXT:
        return _KINDS.get(run.reason, "text")
    if rendering.from_structure[run.first]:
        return TEMPLATE_TEXT
    return "reasoning" if run.part < 0 else "text"


def count_rows(dataset: Dataset, rows: range, render: Render) -> RowCounts:
    """Render and count rows, counted from 0."""
    counts = RowCounts()
    for row in rows:
        try:
            with dataset.located(row):
                conversation = request_row(dataset, row)
                counts.add(conversation, render(conversation))
        except ConversationError as error:
            counts.errors.append(str(error))
    return counts


def length_bins(lengths: Integers, n_bins: int = 12) -> list[dict[str, int]]:
    """Count lengths in equally wide bins, and all outliers in one more bin.

    Outliers are above the third quartile by three times the distance between the quartiles.

    Args:
        lengths: At least one length.
        n_bins: The largest number of equally wide bins.

    Returns:
        The smallest length, the largest length, and the number of rows of each bin.

    >>> length_bins(np.array([10, 14, 14, 17, 100_000]), 2)
    [{'from': 10, 'to': 18, 'n_rows': 4}, {'from': 19, 'to': 27, 'n_rows': 0}, \
{'from': 28, 'to': 100000, 'n_rows': 1}]
    """
    low, q1, q3, high = (percentile(lengths, share) for share in (0, 25, 75, 100))
    width = (min(high, 4 * q3 - 3 * q1) - low) // n_bins + 1
    counts = np.bincount(np.minimum((lengths - low) // width, n_bins)).tolist()
    ends = [*range(low + width, low + width * n_bins + 1, width), high + 1]
    bins = zip(range(low, high + 1, width), ends, counts, strict=False)
    return [{"from": first, "to": end - 1, "n_rows": n} for first, end, n in bins]


def percentile(lengths: Integers, share: float) -> int:
    """Return the smallest length that a percentage of the rows do not exceed."""
    return int(np.percentile(lengths, share, method="inverted_cdf"))
