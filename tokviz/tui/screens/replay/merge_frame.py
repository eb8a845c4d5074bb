"""Frames: all facts about one merge, and the rows of its corpus, by pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from tokviz.live.hues import hues_of
from tokviz.text.glyphs import token_label
from tokviz.training.python_trainer import merge_pair
from tokviz.training.replay import LADDER_BYTES
from tokviz.training.replay.replay import effect_on_text
from tokviz.tui.screens.replay.position import Position
from tokviz.tui.widgets.fit import column, fit
from tokviz.tui.widgets.spans import Role, Row, Span, ToMerge, ToToken, Word, flow, words_of
from tokviz.tui.widgets.token_text import TextTokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tokviz.text.sentences import Sentence
    from tokviz.training.replay.corpus import TokenizedPreToken
    from tokviz.training.replay.reference_training import ReferenceTraining
    from tokviz.training.replay.replay import PairCount, Replay
    from tokviz.training.replay.steps import MergeStep
    from tokviz.training.replay.text import ReplayText, TokensAt


N_CANDIDATES = 10
N_PRE_TOKENS = 60
"""Number of pre-tokens shown of a large corpus."""
TINY_PRE_TOKENS = 2_000
"""Number of pre-tokens shown of a tiny corpus, all of them."""

Pair = tuple[int, int, int]
"""The ids of a merged pair and of the new token."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate pair for a merge.

    Attributes:
        pair: The pair and how often it occurs.
        share: Its count relative to the highest one.
        number: The merge of this pair, now or later; None if it is never merged.
        count_width: The digits of the highest count, with separators.
    """

    pair: PairCount
    share: float
    number: int | None
    count_width: int


@dataclass(frozen=True, slots=True)
class ShownPreToken:
    """A pre-token of the corpus before and after a merge.

    Attributes:
        count: The number of its occurrences.
        before: The ids of its tokens before the merge.
        after: Those after it.
        cut: Whether a longer pre-token is cut at the start, and at the end.
    """

    count: int
    before: Sequence[int]
    after: Sequence[int]
    cut: tuple[bool, bool] = (False, False)

    @property
    def is_changed(self) -> bool:
        """True if the merge changes it."""
        return len(self.before) != len(self.after)


@dataclass(frozen=True, slots=True)
class OwnFrame:
    """The user's text before and after a merge, with the merged parts highlighted."""

    before: TextTokens
    after: TextTokens


@dataclass(frozen=True, slots=True)
class Frame:
    """All facts about one merge that take a moment to compute.

    Attributes:
        number: The merge; 0 is the start, where before and after are the same.
        pair: The ids of the merged pair and of the new token; None at the start.
        candidates: The most frequent pairs before it; empty without counts.
        changed: The pre-tokens that it changes, the most frequent first.
        pre_tokens: Pre-tokens of the corpus in the order of their first occurrence.
        own: The user's text; None if there is none.
        revision: The revision of that text.
        reasons: Sentences on its count, or without counts on its effect on the user's text.
    """

    number: int
    pair: Pair | None
    candidates: tuple[Candidate, ...]
    changed: tuple[ShownPreToken, ...]
    pre_tokens: tuple[ShownPreToken, ...]
    own: OwnFrame | None
    revision: int
    reasons: tuple[Sentence, ...] = ()


def make_frame(
    replay: Replay,
    number: int,
    text: ReplayText | None,
    revision: int,
    beside: ReferenceTraining | None = None,
) -> Frame:
    """Compute the frame of a merge. Only for the worker, because it changes the replay's state.

    Args:
        replay: The replay.
        number: The merge, 0 for the start.
        text: The user's text.
        revision: The revision of that text.
        beside: A training for reference if the replay has no counts.
    """
    before = replay.state(max(number - 1, 0))
    pair = pair_of(replay.step(number)) if number else None
    candidates = _candidates(replay, before.top_pairs(N_CANDIDATES))
    holding = before.pre_tokens_of_next(N_PRE_TOKENS) if number else []
    n_shown = TINY_PRE_TOKENS if replay.is_tiny else N_PRE_TOKENS
    own, reasons = None, replay.details(number, holding) if number else ()
    if text is not None:
        own = own_frame(text.at(before.k), text.at(number))
        if number and not replay.has_counts:
            tokens = len(own.before.ids), len(own.after.ids)
            reasons = (
                effect_on_text(replay.step(number), len(own.after.highlight_starts), *tokens),
            )
            if beside is not None:
                reasons = (*reasons, beside.sentence(number))
    return Frame(
        number,
        pair,
        candidates,
        () if replay.is_tiny else tuple(_shown(pre_token, pair) for pre_token in holding),
        tuple(_shown(pre_token, pair) for pre_token in before.pre_tokens(0, n_shown)),
        own,
        revision,
        reasons,
    )


def _candidates(replay: Replay, pairs: Sequence[PairCount]) -> tuple[Candidate, ...]:
    highest = max((pair.count for pair in pairs), default=1)
    return tuple(
        Candidate(
            pair,
            pair.count / max(highest, 1),
            replay.merge_of_pair(pair.left_id, pair.right_id),
            len(f"{highest:,}"),
        )
        for pair in pairs
    )


def pair_of(step: MergeStep) -> Pair:
    """Return the ids of a merge's pair and of its new token."""
    return step.left_id, step.right_id, step.new_id


def _shown(pre_token: TokenizedPreToken, pair: Pair | None) -> ShownPreToken:
    after = pre_token.ids if pair is None else merged(pre_token.ids, pair)
    return ShownPreToken(
        pre_token.count, pre_token.ids, after, (pre_token.start > 0, pre_token.is_cut)
    )


def merged(ids: Sequence[int], pair: Pair) -> list[int]:
    """Merge all occurrences of a pair, from left to right.

    >>> merged([1, 1, 1, 2], (1, 1, 9))
    [9, 1, 2]
    """
    left, right, new = pair
    return merge_pair(list(ids), (left, right), new)


def own_frame(before: TokensAt, after: TokensAt) -> OwnFrame:
    """Return a text's tokens before and after a merge, with the merged parts highlighted."""
    lit = lit_stretches(before.byte_ends, after.byte_ends)
    return OwnFrame(
        TextTokens(before.ids, before.byte_ends, *lit),
        TextTokens(after.ids, after.byte_ends, *lit),
    )


def lit_stretches(
    before: npt.NDArray[np.int64], after: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the token boundaries that a merge removes, with the start and end of each new token.

    Args:
        before: The token ends before the merge; shape (n,).
        after: The token ends after it, a subset; shape (m,).
    """
    places = np.searchsorted(after, before)
    kept = after[np.minimum(places, max(len(after) - 1, 0))] == before if len(after) else places < 0
    middles = before[~kept]
    last = places[~kept]
    starts = np.where(last > 0, after[np.maximum(last - 1, 0)], 0)
    return starts.astype(np.int64), middles, after[last]


TokenBytes = Callable[[int], bytes]

_MOST_LABEL = 40


def label_for(token: bytes) -> str:
    """Return the label of a token, cut if it is very long."""
    return fit(token_label(token), _MOST_LABEL)


def chips(
    pre_token: ShownPreToken,
    position: Position,
    pair: Pair | None,
    token: TokenBytes,
    lit: bytes = b"",
) -> list[Word]:
    """Draw the tokens of a pre-token, and highlight the merged ones.

    Args:
        pre_token: The pre-token.
        position: Which frame is shown.
        pair: The ids of the merged pair and of the new token; None at the start.
        token: Gives the bytes of a token.
        lit: The highlighted pre-token, the others are dim; empty for none.
    """
    ids = pre_token.after if position.merged else pre_token.before
    roles = _roles(ids, position, pair if pre_token.is_changed else None)
    if lit and lit != b"".join(map(token, pre_token.before)):
        roles = ["dim"] * len(ids)
    words: list[Word] = []
    for token_id, hue, role in zip(ids, hues_of(ids, 0, len(ids)), roles, strict=True):
        label = label_for(token(token_id))
        shown_hue = hue if role == "token" else -1
        words.append((Span(label, role, ToToken(token_id), shown_hue),))
    (before, after), more = pre_token.cut, [(Span("…", "dim"),)]
    return [*more * before, *words, *more * after]


def _roles(ids: Sequence[int], position: Position, pair: Pair | None) -> list[Role]:
    roles: list[Role] = ["token"] * len(ids)
    if pair is None:
        return roles
    left, right, made = pair
    index = 0
    while index < len(ids):
        if position.merged:
            if ids[index] == made:
                roles[index] = "result"
        elif index + 1 < len(ids) and ids[index] == left and ids[index + 1] == right:
            roles[index], roles[index + 1] = "left", "right"
            index += 1
        index += 1
    return roles


def corpus_rows(
    frame: Frame,
    position: Position,
    token: TokenBytes,
    *,
    is_whole: bool,
    width: int,
    lit: bytes = b"",
) -> list[Row]:
    """Draw the pre-tokens that a merge changes, and the start of the corpus.

    Args:
        frame: The frame to draw.
        position: Which frame is shown.
        token: Gives the bytes of a token.
        is_whole: Whether the frame has all pre-tokens of the corpus.
        width: Columns of a row.
        lit: The pre-token that is lit up.
    """
    rows: list[Row] = []
    if frame.changed:
        rows += _listed(frame.changed, position, frame.pair, token, width, lit)
        rows.append(())
    if not frame.pre_tokens:
        return rows
    if is_whole:
        return rows + _listed(frame.pre_tokens, position, frame.pair, token, width, lit)
    rows += flow(words_of("The first distinct pre-tokens of the corpus", "label"), width)
    words: list[Word] = []
    for pre_token in frame.pre_tokens:
        words += chips(pre_token, position, frame.pair, token, lit)
        words.append((Span("│", "tree"),))
    return rows + flow(words[:-1], width)


def _listed(
    pre_tokens: Sequence[ShownPreToken],
    position: Position,
    pair: Pair | None,
    token: TokenBytes,
    width: int,
    lit: bytes,
) -> list[Row]:
    """Draw one pre-token a row, with its count."""
    columns = max((len(f"{pre_token.count:,}") for pre_token in pre_tokens), default=1)
    rows: list[Row] = []
    for pre_token in pre_tokens:
        count = Span(f"{pre_token.count:>{columns},}× ", "label")
        rows += flow(chips(pre_token, position, pair, token, lit), width, (count,))
    return rows


_GAP = 3
_MOST_TOKEN = 12


def draw(replay: Replay) -> Ladder | None:
    """Compute a tiny corpus after every merge; None if it is not tiny."""
    if not (replay.has_counts and replay.is_tiny) or (replay.n_bytes or 0) > LADDER_BYTES:
        return None
    # A single space or line end only separates words, and no merge changes it.
    pre_tokens = [
        pre_token
        for pre_token in replay.state(0).pre_tokens(0, TINY_PRE_TOKENS)
        if len(pre_token.data) > 1 or not pre_token.data.isspace()
    ]
    ids: list[Sequence[int]] = [pre_token.ids for pre_token in pre_tokens]
    states, pairs = [ids], []
    for number in range(1, replay.n_merges + 1):
        pair = pair_of(replay.step(number))
        ids = [merged(pre_token, pair) if pair[0] in pre_token else pre_token for pre_token in ids]
        states.append(ids)
        pairs.append(pair)
    return Ladder(
        [pre_token.count for pre_token in pre_tokens], states, pairs, replay.tokenizer.token_bytes
    )


class Ladder:
    """Rows of a ladder, which has a rung for each merge.

    Attributes:
        counts: The count of each pre-token.
        states: The ids of every pre-token after 0, 1, 2, … merges.
        pairs: The ids of each merge's pair and of its new token.
    """

    def __init__(
        self,
        counts: Sequence[int],
        states: Sequence[Sequence[Sequence[int]]],
        pairs: Sequence[Pair],
        token: TokenBytes,
    ) -> None:
        """Take the corpus, and a function that returns the bytes of a token."""
        self.counts, self.states, self.pairs, self._token = counts, states, pairs, token
        widths = (cell_len(label_for(token(made))) for _, _, made in pairs)
        self._token_width = min(max(widths, default=0), _MOST_TOKEN)
        self._made_for = -1
        self._widths: list[int] = []
        self._done: list[Row] = []
        self._ends: list[int] = [0]
        """Number of rows before each drawn rung."""

    def rows(self, position: Position, width: int, lit: bytes = b"") -> list[Row]:
        """Draw the rungs up to a frame, and highlight the merge or a pre-token in the last."""
        if width != self._made_for:
            self._made_for, self._done, self._ends = width, [], [0]
            self._widths = [_width(words) for words in self._pre_tokens(0, None)]
        last = position.n_done
        for number in range(len(self._ends) - 1, last):
            self._done += self._rung(number, None, width)
            self._ends.append(len(self._done))
        return self._done[: self._ends[last]] + self._rung(last, position, width, lit)

    def _rung(self, number: int, here: Position | None, width: int, lit: bytes = b"") -> list[Row]:
        """Draw the corpus after a number of merges; `here` is the frame if it is current."""
        digits = len(str(len(self.pairs)))
        made = label_for(self._token(self.pairs[number - 1][2])) if number else ""
        mark = "▸" if here else " "
        label = f"{mark} {number:>{digits}}  {column(made, self._token_width)}  "
        role: Role = "heading" if here else "label"
        room = width - cell_len(label) - _GAP
        set_words: list[Word] = []
        for wide, words in zip(self._widths, self._pre_tokens(number, here, lit), strict=True):
            if wide > room:
                set_words += words
                continue
            spans = [span for word in words for span in (*word, Span(" "))]
            set_words.append((*spans, Span(" " * (wide - _width(words) + _GAP - 2))))
        return flow(set_words, width, (Span(label, role, ToMerge(number) if number else None),))

    def _pre_tokens(
        self, number: int, here: Position | None, lit: bytes = b""
    ) -> Iterator[list[Word]]:
        """Draw the count and tokens of each pre-token after a number of merges.

        Before a merge they are those of the previous merge, with the next pair highlighted.
        """
        shown, pair = here or Position(number), None
        before = after = self.states[number]
        if here is not None and here.number:
            before, after = self.states[here.number - 1 : here.number + 1]
            pair = self.pairs[here.number - 1]
        for count, were, are in zip(self.counts, before, after, strict=True):
            tokens = chips(ShownPreToken(count, were, are), shown, pair, self._token, lit)
            role: Role = "heading" if lit and tokens[0][0].role != "dim" else "dim"
            yield [(Span(f"{count:,}×", role),), *tokens] if count > 1 else tokens


def _width(words: Sequence[Word]) -> int:
    return sum(cell_len(span.text) for word in words for span in word) + len(words) - 1
