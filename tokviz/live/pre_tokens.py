"""Incremental count of the pre-tokens into which a named split pattern cuts an edited text.

A snapshot of the text is a list of chunks: strings that stay the same objects where nothing
changed. Adjacent chunks form a *group* where a pre-token could span the border between them; groups
are separated by borders at which the pattern's `safe_cut` matches. Groups are split one by one, and
a new snapshot keeps the counts of all groups it does not touch. A long group, such as a run of
digits, is split step by step.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence

from tokviz.text.snapshots import TextPart, changed_range, joined
from tokviz.tokenizer.pretokenize.patterns import CUT_CONTEXT, SplitPattern, compiled_cut
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.pretokenize.split_steps import Split, split_in_steps
from tokviz.tokenizer.tokenizer import Tokenizer

_UNKNOWN = -1

LONG_GROUP = 65_536
"""A group of more characters than this is split in steps of this length."""


def step_ends(tokenizer: Tokenizer, text: str) -> Iterator[array[int]]:
    """Yield the ends of the pre-tokens in characters after each step of the split pattern.

    Yields nothing if the pattern has no steps.

    Raises:
        TokvizError: If the pattern fails on the text.
    """
    pattern = tokenizer.split_pattern
    for number in range(1, len(pattern.steps) + 1):
        part = tokenizer.with_parts(
            pattern.after_step(number), tokenizer.specials, tokenizer.normalizer
        )
        yield array("q", [end for _, end in part.byte_text.split(text)])


class PreTokenCounter:
    """Counter of the pre-tokens of a text for one pattern. Use it from one thread at a time.

    Attributes:
        pattern: The split pattern.
        n_pre_tokens: Pre-tokens counted so far. May be read from any thread.
    """

    def __init__(self, pattern: SplitPattern) -> None:
        """Create a counter for an empty text."""
        self.pattern = pattern
        self.n_pre_tokens = 0
        self._cut = None if pattern.safe_cut is None else compiled_cut(pattern.safe_cut)
        self._chunks: Sequence[TextPart] = ()
        # For each chunk: whether it starts a group.
        self._begins = bytearray()
        # Number of pre-tokens for the first chunk of a group, or _UNKNOWN; 0 for its other chunks.
        self._counts: array[int] = array("q")
        self._unknown_from = 0
        # The steps of a long group that is being split, and how many of its pre-tokens are counted.
        self._steps: Iterator[Split] | None = None
        self._n_begun = 0

    def update(self, chunks: Sequence[TextPart]) -> None:
        """Set a new snapshot of the text, without splitting anything yet.

        Args:
            chunks: The text in chunks; the list must not change afterwards.
        """
        first, old_last, new_last = changed_range(self._chunks, chunks)
        if first == old_last == new_last:
            return
        self.n_pre_tokens -= self._n_begun
        self._steps, self._n_begun = None, 0
        # Groups extend into the unchanged chunks on either side if they do so now or did before.
        went_on_before = self._continues(first)
        continued_after = self._continues(old_last)
        self._chunks = chunks
        self._replace(first, old_last, new_last - first)
        for index in range(first, min(new_last + 1, len(chunks))):
            self._begins[index] = self._cut_before(index)
        if went_on_before or self._continues(first):
            first = self._begins.rindex(1, 0, first)
        last = self._group_end(new_last + 1 if continued_after else new_last)
        self._forget(first, last)
        self._unknown_from = min(self._unknown_from, first)

    def advance(self, seconds: float) -> bool:
        """Split groups for about this long.

        Returns:
            True if every pre-token is counted.
        """
        deadline = time.monotonic() + seconds
        while not self.complete:
            self._count_more(self._unknown_from)
            if time.monotonic() >= deadline:
                break
        return self.complete

    def _count_more(self, start: int) -> None:
        """Count the pre-tokens of a group, or the next step of a long one."""
        if self._steps is None:
            text = joined(self._chunks[start : self._group_end(start + 1)])
            if len(text) <= LONG_GROUP:
                self._counts[start] = len(split(self.pattern, text))
                self.n_pre_tokens += self._counts[start]
                return
            self._steps = split_in_steps(self.pattern, text, n_chars=LONG_GROUP)
        step = next(self._steps, None)
        if step is None:
            self._counts[start], self._n_begun, self._steps = self._n_begun, 0, None
        else:
            self._n_begun += len(step.ends)
            self.n_pre_tokens += len(step.ends)

    @property
    def complete(self) -> bool:
        """True if every pre-token is counted."""
        try:
            self._unknown_from = self._counts.index(_UNKNOWN, self._unknown_from)
        except ValueError:
            self._unknown_from = len(self._counts)
        return self._unknown_from == len(self._counts)

    def group_at(self, offset: int) -> tuple[int, str]:
        """Return the group that contains a character: its offset and its text."""
        start = index = 0
        while index < len(self._chunks):
            end = self._group_end(index + 1)
            group = self._chunks[index:end]
            n_chars = sum(part.n_chars for part in group)
            if offset < start + n_chars or end == len(self._chunks):
                return start, joined(group)
            start += n_chars
            index = end
        return 0, ""

    def _replace(self, first: int, old_last: int, n_new: int) -> None:
        """Replace the chunks from `first` to `old_last` by `n_new` chunks without counts."""
        self.n_pre_tokens -= _known(self._counts[first:old_last])
        self._counts[first:old_last] = array("q", bytes(8 * n_new))
        self._begins[first:old_last] = bytes(n_new)

    def _forget(self, start: int, end: int) -> None:
        """Discard the counts of the groups made up of the chunks `start` to `end`."""
        self.n_pre_tokens -= _known(self._counts[start:end])
        for index in range(start, end):
            self._counts[index] = _UNKNOWN if self._begins[index] else 0

    def _cut_before(self, index: int) -> bool:
        """Return whether a pre-token must end before a chunk, regardless of the text elsewhere."""
        if index == 0:
            return True
        if self._cut is None:
            return False
        before = self._chunks[index - 1].text[-CUT_CONTEXT:]
        return self._cut.match(before + self._chunks[index].text[:1], len(before)) is not None

    def _continues(self, index: int) -> bool:
        """Return whether a chunk continues the group of the chunk before."""
        return index < len(self._begins) and not self._begins[index]

    def _group_end(self, index: int) -> int:
        end = self._begins.find(1, index)
        return len(self._begins) if end < 0 else end


def _known(counts: array[int]) -> int:
    return sum(count for count in counts if count > 0)
