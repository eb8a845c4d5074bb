"""Navigation between disagreements, and their causes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on

from tokviz.compare.boundaries import Disagreement
from tokviz.compare.compared_documents import (
    SpanSearch,
    Track,
    all_starts,
    explained,
    next_span,
    previous_span,
    span_at,
)
from tokviz.text.sentences import pluralize
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.screens.compare.rows import Told, card_rows
from tokviz.tui.screens.compare.state import CompareState
from tokviz.tui.tasks import Task
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.splits.gloss import Spans
from tokviz.tui.widgets.splits.rows import TokenRow
from tokviz.tui.widgets.splits.view import GlossView, PreTokenClicked
from tokviz.workspace.session import GoToToken, ShowScreen

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

_WAITING = "The tokens there are still being counted. Try again in a moment."


class Disagreements(Controller):
    """Hold the current position, and find and explain disagreements in threads."""

    def __init__(
        self,
        screen: TokvizScreen,
        state: CompareState,
        gloss: GlossView,
        card: RowsView,
        reveal: Callable[[], object],
    ) -> None:
        """Take the state, the tokens, the card, and a callback that shows the tokens."""
        super().__init__(screen)
        self._reveal = reveal
        self._state, self._gloss, self._card = state, gloss, card
        self._steps: deque[int] = deque()
        self._is_searching = False
        self._char: int | None = None
        self._starts: array[int] | None = None
        self._counting: object = None
        self._progress = ""
        self._told = Told(())
        self.span: tuple[int, int] | None = None
        """Byte span of the current disagreement, or None."""
        self.asked: Tokenizer | None = None
        """Tokenizer of the last clicked token, None for the current tokenizer."""

    @property
    def char(self) -> int:
        """Character offset of the current position."""
        return self._gloss.top if self._char is None else self._char

    def forget(self, char: int | None = None) -> None:
        """Clear the current disagreement after the text or the tokenizers have changed.

        Args:
            char: The new current position, None for the first visible character.
        """
        self.screen.workers.cancel_group(self.screen, "search")
        self._steps.clear()
        self._is_searching = False
        self.span, self._char, self.asked = None, char, None
        self._starts, self._counting, self._progress = None, None, ""
        self._gloss.set_spans(Spans())
        self._tell(Told(()))

    def count(self) -> None:
        """Count all disagreements in a thread, once all tokens are known."""
        documents = [one for one in self._state.documents if one is not None]
        if self._counting or len(documents) < 2 or not all(one.settled for one in documents):
            return
        tracks, self._counting = self._state.tracks(), (counting := object())

        def work(task: Task) -> array[int] | None:
            return all_starts(
                tracks, lambda: task.cancelled, lambda share: task.tell(progressed, share)
            )

        def progressed(share: float) -> None:
            if self._counting is counting and share < 1:
                self._progress = f"Counting disagreements, {share:.0%}. "
                self._tell(self._told)

        def take(starts: array[int] | None) -> None:
            if self._counting is counting:
                self._starts, self._progress = starts, ""
                self._tell(self._told)

        self.in_thread("count", work, take)

    def _number(self) -> str:
        """Return the number of the current disagreement and their count, as far as known."""
        if self._starts is None:
            return self._progress
        n_all = len(self._starts)
        if self.span is None:
            return f"{pluralize(n_all, 'disagreement')}. " if n_all else "They agree everywhere. "
        return f"Disagreement {bisect_right(self._starts, self.span[0]):,} of {n_all:,}. "

    @action("Next disagreement", "n", "f3", section="Disagreements", footer="next",
            words="compare diff difference versus")  # fmt: skip
    def next_disagreement(self) -> None:
        """Go to the next part of the text where the tokenizers disagree."""
        self._step(1)

    @action("Previous disagreement", "p", "shift+f3", section="Disagreements", footer="previous")
    def previous_disagreement(self) -> None:
        """Go to the previous disagreement."""
        self._step(-1)

    @action("Go to this place in the text", "enter", section="Disagreements",
            footer="edit text", priority=False, words="type write")  # fmt: skip
    def edit_text(self) -> None:
        """Edit the text at the disagreement on the Tokens screen. Edits show up here."""
        index = self._state.live.token_index_at(self.char)
        self.session.ask(ShowScreen("tokens") if index is None else GoToToken(index))

    @on(PreTokenClicked)
    def _clicked(self, message: PreTokenClicked) -> None:
        self._steps.clear()
        self._char, self.asked = message.offset, None
        if isinstance(message.row, TokenRow) and message.row.document is not self._state.live:
            self.asked = message.row.document.tokenizer
        byte = self._state.live.byte_offset(message.offset)
        self._search(lambda tracks, task: span_at(tracks, byte), "They agree on this token.")

    # -- searching

    def _step(self, step: int) -> None:
        self._reveal()
        if len(self._state.rows()) < 2:
            self.say("There is nothing to compare with. Add a tokenizer (a).")
            return
        # Keys may be faster than searches, so each step starts at the previous result.
        self._steps.append(step)
        self.asked = None
        if not self._is_searching:
            self._next_step()

    def _next_step(self) -> None:
        if not self._steps:
            return
        step = self._steps.popleft()
        if self.span is not None:
            byte = self.span[0] + (step > 0)
        else:
            byte = self._state.live.byte_offset(self.char)
        find = next_span if step > 0 else previous_span
        where = "below" if step > 0 else "above"
        self._search(
            lambda tracks, task: find(tracks, byte, lambda: task.cancelled),
            f"They agree on all of the text {where}.",
        )

    def _search(self, find: Callable[[list[Track], Task], SpanSearch], nothing: str) -> None:
        tracks, names = self._state.tracks(), self._state.row_names
        revision = self._state.live.revision
        self._is_searching = True

        def take(found: SpanSearch) -> None:
            self._is_searching = False
            if revision != self._state.live.revision:
                return
            if found.span is None:
                self._steps.clear()
                self.say(_WAITING if found.waits else nothing)
            else:
                self._show(found.span, tracks, names)
                self._next_step()

        self.in_thread("search", lambda task: find(tracks, task), take)

    # -- showing

    def _show(self, span: tuple[int, int], tracks: list[Track], names: list[str]) -> None:
        live, revision = self._state.live, self._state.live.revision
        first, last = live.char_offset(span[0]), live.char_offset(span[1] - 1) + 1
        self.span, self._char = span, first
        self._gloss.set_spans(Spans(hover=range(first, last)))
        self._gloss.show(first)
        row, column = live.location(first)
        place = f"Line {row + 1:,}, column {column + 1:,}:"
        self._tell(Told(names, place, note="looking for the cause…"))

        def work(task: Task) -> Disagreement | None:
            return explained(tracks, span)

        def take(found: Disagreement | None) -> None:
            if self.span == span and revision == live.revision:
                note = "" if found else "the cause lies in too much text to find it."
                self._tell(Told(names, place, found, note))

        self.in_thread("cause", work, take)

    def _tell(self, told: Told) -> None:
        is_new, self._told = told is not self._told, told
        number = self._number()
        self._card.show(lambda width: card_rows(told, number, width), from_top=is_new)
