"""The difference of two tokenizers, found in a thread on first view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tokviz.compare.difference import TokenizerDiff, diff
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.text import bytetext
from tokviz.text.glyphs import safe
from tokviz.text.sentences import sentence
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.compare.rows import safe_sentence
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.tasks import StoppedError, Task
from tokviz.tui.widgets.card_rows import label_of, sentence_words
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Role, Row, RunAction, Span, ToToken, Word, flow, words_of
from tokviz.workspace.session import ShowText

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MOST_TOKENS = 120
_MOST_LABEL, _MOST_IDS = 32, 16
_LEAD, _NAME = 25, 16
"""Widths in columns: a part and its result, the part alone."""
_RESULTS: dict[bool | None, tuple[str, Role]] = {
    True: ("same", "good"), False: ("differs", "warning"), None: ("unknown", "dim"),
}  # fmt: skip
_ALONE = "Add a tokenizer (a) to compare it with the current one."


class Differences(Controller):
    """Show the difference between the base and another tokenizer: parts, texts, tokens."""

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
        self._shown_for: object = None
        self.found: TokenizerDiff | None = None

    @action("Difference to the tokenizer after it", "v", section="Views", call="compare_with(-1)",
            words="vocabulary next")  # fmt: skip
    def compare_with(self, number: int) -> None:
        """Show the difference to the next tokenizer."""
        n_lines = len(self._state.names)
        self._state.against = (self._state.against + 1) % n_lines if number < 0 else number
        self._reveal()

    @action("Open a text whose ids differ", section="Views", call="open_example(0)",
            when=lambda self: bool(self.found and self.found.examples))  # fmt: skip
    def open_example(self, number: int) -> None:
        """Replace the text with one that the two tokenizers encode differently."""
        if self.found is not None:
            self.session.ask(ShowText(self.found.examples[number].text))

    def show(self) -> None:
        """Show the difference once it is found."""
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
        self._shown_for, self.found = shown_for, None
        if not others or one is None or other is None:
            reason = (error or "Loading…") if others else _ALONE
            # Running work belongs to other tokenizers.
            self.screen.workers.cancel_group(self.screen, "difference")
            self._rows.show(lambda width: flow(words_of(reason, "dim"), width), from_top=True)
            return
        head = [
            (names[number], None if number == against else RunAction(f"compare_with({number})"))
            for number in others
        ]
        pair = names[base], names[against]

        def draw(note: str) -> None:
            found = self.found

            def rows(width: int) -> list[Row]:
                head_rows = _head_rows(names[base], head, width, note)
                return head_rows + (difference_rows(found, pair, base == 0, width) if found else [])

            self._rows.show(rows)

        def work(task: Task) -> None:
            def progressed(share: float, found: TokenizerDiff) -> None:
                if task.cancelled:
                    raise StoppedError("It was stopped")
                is_done = share == 1 or found.same_ids
                task.tell(take, task, found, "" if is_done else f"· trying texts, {share:.0%}")

            diff(one, other, on_progress=progressed)

        def take(task: Task, found: TokenizerDiff, note: str) -> None:
            if not task.cancelled:
                self.found = found
                draw(note)

        draw("· reading…")
        self.in_thread("difference", work, stoppable="Comparing",
                       failed=lambda error: draw(f"· {sentence(str(error))}"))  # fmt: skip


def _head_rows(
    base: str, others: Sequence[tuple[str, RunAction | None]], width: int, note: str = ""
) -> list[Row]:
    words: list[Word] = [(Span(base, "heading"),), (Span("and", "dim"),)]
    for name, link in others:
        words.append((Span(name, "heading" if link is None else "link", link),))
    return [*flow([*words, *words_of(note, "dim")], width), ()]


def difference_rows(
    found: TokenizerDiff, names: tuple[str, str], links: bool, width: int
) -> list[Row]:
    """Draw the difference of two tokenizers: verdict, parts, texts and tokens.

    Args:
        found: The difference.
        names: The names of the two.
        links: Whether the first one is on the Vocabulary screen, so that tokens are links.
        width: Columns of a row.
    """
    rows = flow(words_of(found.summary, "warning" if found.examples else "good"), width)
    heads = tuple(f"{letter} {name}" for letter, name in zip("AB", names, strict=True))
    rows += [(), _cells("", ("", "dim"), heads, "dim", width)]
    for part in found.parts:
        rows.append(_cells(part.name, _RESULTS[part.same], part.texts, "text", width))
        if part.note:
            indent = Span(" " * min(_LEAD, width // 3))
            rows += flow(words_of(safe(part.note), "dim"), width, (indent,))
    if found.examples:
        rows += _titled("Texts whose ids differ: Enter opens one", _texts(found, width), width)
    tokens = found.tokens
    for name, index, only in (
        (names[0], tokens.a, tokens.only_in_a),
        (names[1], tokens.b, tokens.only_in_b),
    ):
        words = _tokens(index, only, links and index is tokens.a)
        rows += _titled(f"{len(only):,} tokens only in {name}", flow(words, width), width)
    return rows


def _titled(title: str, rows: list[Row], width: int) -> list[Row]:
    return [(), (Span(fit(title, width), "heading"),), *rows]


def _cells(
    name: str, result: tuple[str, Role], texts: Sequence[str], role: Role, width: int
) -> Row:
    room = max(8, (width - _LEAD) // 2)
    lead = Span(column(name, _NAME), "label"), Span(column(result[0], _LEAD - _NAME), result[1])
    return (*lead, *(Span(column(fit(safe(text), room - 1), room), role) for text in texts))


def _texts(found: TokenizerDiff, width: int) -> list[Row]:
    rows: list[Row] = []
    for number, example in enumerate(found.examples):
        label = fit(label_of(bytetext.to_bytes(example.text)), _MOST_LABEL)
        words: list[Word] = [(Span(label, "link", RunAction(f"open_example({number})")),)]
        words += [(Span(f"{example.cause}:", "heading"),)]
        rows += flow([*words, *sentence_words(safe_sentence(example.why[0]))], width)
        for letter, ids in zip("AB", example.ids, strict=True):
            shown = " ".join(map(str, ids[:_MOST_IDS])) + " …" * (len(ids) > _MOST_IDS)
            rows += flow(words_of(shown, "dim"), width, (Span(f"  {letter} ", "label"),))
    return rows


def _tokens(index: VocabularyIndex, rows: npt.NDArray[np.int64], links: bool) -> list[Word]:
    words: list[Word] = []
    for row in rows[:_MOST_TOKENS].tolist():
        link = ToToken(int(index.ids[row])) if links else None
        label = fit(label_of(index.tokens[row]), _MOST_LABEL)
        words.append((Span(label, "text" if link is None else "made", link),))
    if len(rows) > _MOST_TOKENS:
        words += words_of(f"… {len(rows) - _MOST_TOKENS:,} more", "dim")
    return words or words_of("none", "dim")
