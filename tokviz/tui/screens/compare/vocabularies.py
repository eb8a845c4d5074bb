"""The difference of two vocabularies, computed in a thread on first view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from tokviz.compare.vocabularies import Group, VocabularyDifference, diff_vocabularies
from tokviz.errors import TokvizError
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.text.sentences import failure_message
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.card_rows import label_of
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Row, RunAction, Span, ToToken, Word, flow, words_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MOST_TOKENS = 120
_MOST_LABEL = 32
_NAME, _COLUMN = 19, 17
_GRID = _NAME + 3 * _COLUMN
"""Widths of a table in columns: names, each number, the whole table."""

_ALONE = "Add a tokenizer (a) to compare its vocabulary with the current one."


class Vocabularies(Controller):
    """Show the vocabulary difference between the base and another tokenizer."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: CompareState,
        rows: RowsView,
        reveal: Callable[[], object],
    ) -> None:
        """Take the state, the view, and a callback that shows it."""
        super().__init__(screen)
        self._state, self._rows, self._reveal = state, rows, reveal
        self._indexes: dict[Tokenizer, VocabularyIndex] = {}
        self._shown_for: object = None
        self.difference: VocabularyDifference | None = None

    @action("Vocabulary of the next tokenizer", "v", section="Views", call="compare_with(-1)")
    def compare_with(self, number: int) -> None:
        """Show the vocabulary difference to another tokenizer."""
        n_lines = len(self._state.names)
        self._state.against = (self._state.against + 1) % n_lines if number < 0 else number
        self._reveal()

    def show(self) -> None:
        """Show the difference once it is computed."""
        names, base = self._state.names, self._state.base
        tokenizers = self._state.tokenizers
        others = [number for number in range(len(names)) if number != base]
        if self._state.against not in others:
            self._state.against = others[0] if others else 0
        against = self._state.against
        one, other = tokenizers[base], tokenizers[against]
        errors = ["", *(each.error for each in self._state.others)]
        error = errors[base] or errors[against]
        shown_for = (tuple(names), base, one, other, error)
        if shown_for == self._shown_for:
            return
        self._shown_for, self.difference = shown_for, None
        self._indexes = {one: own for one, own in self._indexes.items() if one in tokenizers}
        if not others or one is None or other is None:
            sentence = (error or "Loading…") if others else _ALONE
            # Running work belongs to other vocabularies.
            self.screen.workers.cancel_group(self.screen, "vocabularies")
            self._rows.show(lambda width: flow(words_of(sentence, "dim"), width), from_top=True)
            return
        head = [
            (names[number], None if number == against else RunAction(f"compare_with({number})"))
            for number in others
        ]
        links = base == 0
        self._rows.show(lambda width: _head_rows(names[base], head, width, "· reading…"))

        def work(task: Task) -> VocabularyDifference:
            indexes = [self._index(tokenizer, task) for tokenizer in (one, other)]
            return diff_vocabularies(indexes[0], indexes[1], lambda: task.cancelled)

        def take(found: VocabularyDifference) -> None:
            self.difference = found

            def rows(width: int) -> list[Row]:
                return [
                    *_head_rows(names[base], head, width),
                    *difference_rows(found, (names[base], names[against]), links, width),
                ]

            self._rows.show(rows, from_top=True)

        def failed(error: TokvizError) -> None:
            sentence = failure_message("The vocabularies cannot be compared", error)
            self._rows.show(lambda width: flow(words_of(sentence, "warning"), width))

        self.in_thread("vocabularies", work, take, failed=failed)

    def _index(self, tokenizer: Tokenizer, task: Task) -> VocabularyIndex:
        index = self._indexes.get(tokenizer)
        if index is None:
            index = VocabularyIndex(tokenizer, cancelled=lambda: task.cancelled)
            self._indexes[tokenizer] = index
        return index


def _head_rows(
    base: str, others: Sequence[tuple[str, RunAction | None]], width: int, note: str = ""
) -> list[Row]:
    words: list[Word] = [(Span(base, "heading"),), (Span("and", "dim"),)]
    for name, link in others:
        words.append((Span(name, "heading" if link is None else "link", link),))
    return [*flow([*words, *words_of(note, "dim")], width), ()]


def difference_rows(
    found: VocabularyDifference, names: tuple[str, str], links: bool, width: int
) -> Iterator[Row]:
    """Draw the difference of two vocabularies: counts, scripts, lengths and tokens.

    Args:
        found: The difference.
        names: The names of the two.
        links: Whether the first one is on the Vocabulary screen, so that tokens are links.
        width: Columns of a row.
    """
    heads = (f"only {names[0]}", "both", f"only {names[1]}")
    counts = len(found.only_in_a), len(found.in_a), len(found.only_in_b)
    n_other = len(found.under_other_ids)
    ids = Group("with the same id", 0, len(found.in_a) - n_other, 0)
    other_ids = Group("with other ids", 0, n_other, 0)
    yield from _grid("", [Group("tokens", *counts), ids, other_ids], heads, width)
    yield ()
    scripts = _grid("Script", found.by_script, heads, width)
    lengths = _grid("Length in bytes", found.by_length, heads, width)
    if width >= 2 * _GRID + 2:
        gap = Span("  ")
        for left, right in zip_longest(scripts, lengths, fillvalue=None):
            yield (*(left or (Span(" " * _GRID),)), gap, *(right or ()))
    else:
        yield from (*scripts, (), *lengths)
    a, b = found.a, found.b
    for title, index, rows in (
        (f"Only in {names[0]}", a, found.only_in_a),
        (f"Only in {names[1]}", b, found.only_in_b),
    ):
        yield ()
        yield (Span(fit(title, width), "heading"),)
        yield from flow(_tokens(index, rows, links and index is a), width)
    if n_other:
        yield ()
        yield (Span(fit("With other ids", width), "heading"),)
        yield from flow(_moved(found, links), width)


def _grid(title: str, groups: Sequence[Group], heads: Sequence[str], width: int) -> list[Row]:
    """Draw groups below a header, without zeros."""
    columns = min(_COLUMN, max(8, (width - _NAME) // 3))
    names = max(1, min(_NAME, width - 3 * columns))
    rows: list[Row] = []
    for name, *cells in ((title, *heads), *groups):
        texts = [cell if isinstance(cell, str) else f"{cell:,}" if cell else "" for cell in cells]
        numbers = "".join(fit(text, columns - 1).rjust(columns) for text in texts)
        label = column(f"  {name}" if rows else str(name), names)
        rows.append(
            (Span(label, "text" if rows else "heading"), Span(numbers, "text" if rows else "dim"))
        )
    return rows


def _tokens(index: VocabularyIndex, rows: npt.NDArray[np.int64], links: bool) -> list[Word]:
    words: list[Word] = []
    for row in rows[:_MOST_TOKENS].tolist():
        link = ToToken(int(index.ids[row])) if links else None
        words.append((_token(index, row, link),))
    if len(rows) > _MOST_TOKENS:
        words += words_of(f"… {len(rows) - _MOST_TOKENS:,} more", "dim")
    return words or words_of("none", "dim")


def _token(index: VocabularyIndex, row: int, link: ToToken | None) -> Span:
    label = fit(label_of(index.tokens[row]), _MOST_LABEL)
    return Span(label, "text" if link is None else "made", link)


def _moved(found: VocabularyDifference, links: bool) -> list[Word]:
    """List tokens with both of their ids."""
    words: list[Word] = []
    places = found.under_other_ids
    for at in places[:_MOST_TOKENS].tolist():
        row = int(found.in_a[at])
        first, second = int(found.a.ids[row]), int(found.b.ids[found.in_b[at]])
        link = ToToken(first) if links else None
        words.append((_token(found.a, row, link), Span(f" {first}→{second}", "dim")))
    if len(places) > _MOST_TOKENS:
        words += words_of(f"… {len(places) - _MOST_TOKENS:,} more", "dim")
    return words
