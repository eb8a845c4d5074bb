"""The details of a token: the pinned one, else the one under the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.timer import Timer

from tokviz.errors import TokvizError
from tokviz.explain.facts import (
    Entry,
    Occurrences,
    SelectedTokens,
    entry_of,
    place_of,
    selected_tokens,
)
from tokviz.explain.trace import Explanation, why_not_one_token
from tokviz.tui.actions import action, actions, bindings_of, declared_in
from tokviz.tui.messages import Notice, TokenPicked
from tokviz.tui.tasks import Task, in_thread
from tokviz.tui.widgets.card_rows import HINT, selection_rows, token_copies, token_rows
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Action, GoTo, Row, Step, flow, words_of

if TYPE_CHECKING:
    from tokviz.live.document import LiveDocument
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.tui.palette import TokenPalette

OCCURRENCES_LISTED = 24
AT_ONCE_TOKENS = 20_000
"""The most tokens of a document that is searched for a token without a delay."""
_HEADING = "In the Token panel"
DELAY = 0.15
"""Seconds without a change after which slow details are computed."""


class TokenCard(RowsView):
    """The details of a token, and why a selection is not one token.

    Fast details are shown at once. Occurrences in a long document and explanations of selections
    follow when nothing has changed for a moment.
    """

    DEFAULT_CSS = "TokenCard { padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "move(-1)", "Previous token", show=False),
        Binding("right", "move(1)", "Next token", show=False),
    ]

    def __init__(self, live: LiveDocument, palette: TokenPalette, *, delay: float = DELAY) -> None:
        """Show tokens of `live`; slow details follow after `delay` seconds without a change."""
        super().__init__(palette)
        self.live = live
        self._make = self._make_rows
        self._delay = delay
        self._hover: int | None = None
        self._pin: int | None = None
        self._selection: tuple[int, int] | None = None
        self._is_stale = False
        self._timer: Timer | None = None
        self._found: tuple[object, int, int, Occurrences] | None = None
        self._explained: tuple[object, bool, bytes, Explanation] | None = None

    # -- called by the screen

    def sync(self) -> None:
        """Note a change of the document; `set_marks` reads the token again."""
        self._is_stale = True

    def set_marks(self, hover: int | None, pin: int | None, *, scroll: bool = False) -> None:
        """Show the pinned token, or the one under the mouse if none is pinned.

        `scroll` is for other panels; the card keeps its scroll position, to compare tokens.
        """
        before = self._subject
        self._hover, self._pin = hover, pin
        if self._is_stale or self._subject != before:
            self._is_stale = False
            self.lay_out()

    def set_selection(self, span: tuple[int, int] | None) -> None:
        """Explain a range of characters if it touches several tokens."""
        if span != self._selection:
            self._selection = span
            self.lay_out()

    # -- content

    @property
    def _subject(self) -> int | None:
        index = self._hover if self._pin is None else self._pin
        return index if index is not None and 0 <= index < self.live.n_tokens else None

    def _make_rows(self, width: int) -> list[Row]:
        tok = self.live.tokenizer
        if tok is None:
            return flow(words_of("Loading the vocabulary…", "dim"), width)
        rows: list[Row] = []
        if self._selection is not None:
            selected = selected_tokens(self.live, tok, self._selection)
            if selected is not None:
                labels = [tok.token_bytes(token_id) for token_id, _ in selected.tokens]
                explanation = self._explanation(tok, selected)
                rows = [*selection_rows(selected, labels, explanation, width), ()]
        index = self._subject
        if index is None:
            return rows or flow(words_of(HINT, "dim"), width)
        place = place_of(self.live, tok, index)
        entry = entry_of(tok, self.live.token(index).id)
        return rows + token_rows(place, entry, self._occurrences(tok, entry), width)

    def _occurrences(self, tok: Tokenizer, entry: Entry) -> Occurrences | None:
        """Return the token's occurrences, or those before the last edit while they are counted."""
        known, revision, token_id, occurrences = self._found or (None, -1, -1, None)
        same_token = known is tok and token_id == entry.id
        if same_token and revision == self._known_state():
            return occurrences
        if self.live.n_tokens <= AT_ONCE_TOKENS:
            return self._find(tok, entry.id)
        self._schedule()
        return occurrences if same_token else None

    def _find(self, tok: Tokenizer, token_id: int) -> Occurrences:
        count, first = self.live.occurrences(token_id, limit=OCCURRENCES_LISTED)
        occurrences = Occurrences(count, tuple(first))
        self._found = (tok, self._known_state(), token_id, occurrences)
        return occurrences

    def _known_state(self) -> int:
        """Return a number that changes with the tokens."""
        return hash((self.live.revision, self.live.n_tokens))

    def _explanation(self, tok: Tokenizer, selected: SelectedTokens) -> Explanation | None:
        if not selected.data:
            return None
        asked = (tok, self.live.parse_specials, selected.data)
        if self._explained is not None and self._explained[:3] == asked:
            return self._explained[3]
        self._schedule()
        return None

    def _schedule(self) -> None:
        """Compute the missing details when nothing has changed for a moment."""
        if self._timer is None:
            self._timer = self.set_interval(self._delay, self._compute, pause=True)
        self._timer.reset()
        self._timer.resume()

    def _compute(self) -> None:
        """Compute the occurrences and the explanation, and show them."""
        if self._timer is not None:
            self._timer.pause()
        tok = self.live.tokenizer
        if tok is None or not self.size:
            return
        if self._selection is not None:
            selected = selected_tokens(self.live, tok, self._selection)
            if selected is not None and selected.data:
                parsed = self.live.parse_specials
                self._explain(tok, selected.data, parsed)
        if self._subject is not None:
            self._find(tok, self.live.token(self._subject).id)
        self.lay_out()

    def _explain(self, tok: Tokenizer, data: bytes, parsed: bool) -> None:
        """Explain why a selection is not one token; in a thread if that needs another process."""

        def take(explanation: Explanation) -> None:
            self._explained = (tok, parsed, data, explanation)
            self.lay_out()

        def explain(task: Task) -> Explanation:
            return why_not_one_token(tok, data, parsed)

        def give_up(error: TokvizError) -> None:
            take(Explanation("split", ((f"This cannot be explained: {error}",),)))

        if tok.in_child:
            in_thread(self, "explain", explain, take, failed=give_up)
        else:
            take(why_not_one_token(tok, data, parsed))

    @property
    def base_style(self) -> Style:
        """The base style of tokens."""
        palette = self._palette
        return self.role_styles.base if palette is None else self.role_styles.base + palette.base

    # -- actions

    def follow(self, action: Action) -> None:
        """Go to another token, or copy a text or run an action."""
        match action:
            case GoTo(index):
                self.post_message(TokenPicked(index))
            case Step(step):
                self.action_step_occurrence(step)
            case _:
                super().follow(action)

    def action_move(self, step: int) -> None:
        """Pick a following or preceding token."""
        index = self._subject
        if index is not None and 0 <= index + step < self.live.n_tokens:
            self.post_message(TokenPicked(index + step))

    @action(
        "Next occurrence of this token",
        "n",
        section=_HEADING,
        help="Go to the next occurrence of the token shown.",
        id="next_place",
        call="step_occurrence(1)",
        footer="Next occurrence",
    )
    @action(
        "Previous occurrence of this token",
        "p",
        section=_HEADING,
        help="Go to its previous occurrence.",
        id="previous_place",
        call="step_occurrence(-1)",
    )
    def action_step_occurrence(self, step: int) -> None:
        """Pick the next (1) or the previous (-1) occurrence of the token."""
        index = self._subject
        if index is None:
            return
        found = self.live.next_occurrence(self.live.token(index).id, index, step)
        if found is None or found == index:
            self.post_message(Notice(f"No {'next' if step > 0 else 'previous'} occurrence."))
        else:
            self.post_message(TokenPicked(found))

    @actions(
        *(
            action(
                f"Copy this token's {what}",
                what[0],
                section=_HEADING,
                help=f"Copy the {what} of the token shown.",
                id=f"copy_{what}",
                call=f"copy('the token {what}')",
            )
            for what in ("id", "bytes", "text")
        )
    )
    def action_copy(self, what: str) -> None:
        """Copy the token's id, bytes or text."""
        tok, index = self.live.tokenizer, self._subject
        if tok is None or index is None:
            return
        for copy in token_copies(entry_of(tok, self.live.token(index).id)):
            if copy.what == what:
                self.follow(copy)

    BINDINGS += bindings_of(declared_in(locals()))
