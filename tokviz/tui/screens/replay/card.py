"""Rows of the card of a merge, by pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from textual import on

from tokviz.explain.trace import lineage
from tokviz.text.glyphs import token_label
from tokviz.text.sentences import Sentence, pluralize
from tokviz.training.replay.steps import MergeStep
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.replay.merge_frame import Candidate
from tokviz.tui.screens.replay.position import Position
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.widgets.card_rows import label_of, merge_cells, sentence_words, tree_rows
from tokviz.tui.widgets.fit import bar_text, column, fit
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Copy, Highlight, Role, Row, Span, ToToken, Word, flow, words_of


class Lighting(Controller):
    """Highlight one pre-token of the sum of a count in the corpus."""

    _state: ReplayState
    _show: Callable[[], object]

    @on(RowsView.Picked)
    def _picked(self, event: RowsView.Picked) -> None:
        if isinstance(event.action, Highlight):
            self._light(event.action.pre_token)

    def _light(self, pre_token: bytes) -> None:
        """Highlight a pre-token, or remove its highlight."""
        state = self._state
        state.lit = state.position.number, b"" if pre_token == state.lit_pre_token else pre_token
        self._show()

    @action("Highlight the next word of the count", "h", section="This merge", priority=False,
            words="term sum arithmetic pre-tokens")  # fmt: skip
    def light_next(self) -> None:
        """Highlight the pre-tokens in the corpus that make up the count, one after another."""
        state, frame, pre_tokens = self._state, self._state.frame, list[bytes]()
        has_counts = state.replay is not None and state.replay.has_counts
        if has_counts and frame is not None and frame.number == state.position.number:
            terms = frame.reasons[0] if frame.reasons else ()
            pre_tokens = [part for part in terms if isinstance(part, bytes)]
        if not pre_tokens:
            self.say("This merge has no known count.")
            return
        following = [*pre_tokens, b""]
        lit = state.lit_pre_token
        self._light(following[following.index(lit) + 1] if lit in pre_tokens else pre_tokens[0])


_MOST_LABEL = 48


def merge_rows(state: ReplayState, width: int) -> Sequence[Row]:
    """Draw the current merge: the pair, the token, the numbers and the reason."""
    replay, step = state.replay, state.step
    if replay is None:
        return ()
    why: tuple[Sentence, ...] = ()
    if step is not None:
        why = (*replay.files(step.k), *replay.why(step.k).sentences)
    terms: Sentence = ()
    if state.frame is not None and step is not None and state.frame.number == step.k:
        if replay.has_counts:
            terms, *others = state.frame.reasons or ((),)
            why = (*why, *others)
        else:
            why = state.frame.reasons
    return card_rows(step, why, state.position, replay.n_bytes, width, terms, state.lit_pre_token)


def lesson_rows(state: ReplayState, width: int) -> Sequence[Row]:
    """Draw the text of a lesson, and at the end whether the merges match the textbook."""
    lesson, replay = state.lesson, state.replay
    if lesson is None or replay is None:
        return ()
    rows = flow(words_of(lesson.say(state.position.n_done)), width)
    if state.position.n_done < replay.n_merges:
        return rows
    return flow(words_of(lesson.verdict(replay.tokenizer.merges), "good"), width) + rows


def origin_rows(state: ReplayState, width: int) -> Sequence[Row]:
    """Draw the parts of the current merge's token."""
    if state.replay is None:
        return ()
    if state.step is None:
        return flow(
            words_of("A merge joins two tokens into one. They are shown here.", "dim"), width
        )
    return list(tree_rows(lineage(state.replay.tokenizer, state.step.new_id), width, ToToken))


def card_rows(
    step: MergeStep | None,
    why: Sequence[Sequence[str | bytes]],
    position: Position,
    n_bytes: int | None,
    width: int,
    terms: Sentence = (),
    lit: bytes = b"",
) -> list[Row]:
    """Draw a merge: the pair and the token, the numbers, and why it was this pair.

    Args:
        step: The merge; None at the start.
        why: The reason for this pair, as sentences of words and tokens.
        position: Which frame is shown.
        n_bytes: The bytes of the corpus, None if there is none.
        width: Columns of a row.
        terms: The terms of its count; clicking a pre-token highlights it in the corpus.
        lit: The pre-token that is lit up.
    """
    if step is None:
        corpus = "" if n_bytes is None else f" The corpus is {n_bytes:,} tokens long."
        return flow(words_of(f"The start: every byte is one token.{corpus}"), width)
    reasons: list[Word] = [
        [
            span._replace(role="result" if span.action == Highlight(lit) else span.role)
            for span in word
        ]
        for word in sentence_words(terms, Highlight)
    ]
    reasons += [word for sentence in why for word in sentence_words(sentence)]
    numbers = _numbers(step)
    return [
        *flow(_equation(step, position), width),
        *(flow(numbers, width) if numbers else ()),
        *flow(reasons, width),
    ]


def _equation(step: MergeStep, position: Position) -> Iterator[Word]:
    token = Span(_label(step.token), "result" if position.merged else "made", _copy(step.token))
    if step.is_reached:
        left = Span(_label(step.left), "made" if position.merged else "left", ToToken(step.left_id))
        right = Span(
            _label(step.right), "made" if position.merged else "right", ToToken(step.right_id)
        )
        yield (left, Span(" + "), right)
        yield (Span("→ "), token)
    else:
        yield (token,)
    yield (
        Span(" id ", "dim"),
        Span(str(step.new_id), "link", Copy(str(step.new_id), "the token id")),
    )
    yield (Span(f" {pluralize(len(step.token), 'byte')}", "dim"),)


def _numbers(step: MergeStep) -> list[Word]:
    """Return the numbers of a merge, separated by commas."""
    if step.count is None:
        return []
    words: list[list[Span]] = [[Span("count ", "dim"), Span(f"{step.count:,}", "heading")]]
    if step.n_replaced not in (None, step.count):
        words.append([Span("replaced ", "dim"), Span(f"{step.n_replaced:,}")])
    if step.n_tied is not None and step.n_tied > 1:
        words.append([Span(f"tie of {step.n_tied:,} pairs", "warning")])
    elif step.margin is not None and step.runner_up is not None:
        share = step.margin / max(step.count, 1)
        words.append([Span("ahead by ", "dim"), Span(f"{step.margin:,} ({share:.1%})")])
    if step.n_tokens_before is not None and step.n_tokens_after is not None:
        tokens = f"{step.n_tokens_before:,} → {step.n_tokens_after:,}"
        words.append([Span("tokens ", "dim"), Span(tokens)])
    return [[*word, Span("," if word is not words[-1] else "", "dim")] for word in words]


def _label(token: bytes) -> str:
    return fit(label_of(token), _MOST_LABEL)


def _copy(token: bytes) -> Copy:
    return Copy(token.decode("utf-8", "replace"), "the token text")


def paint_candidate(row: Candidate, width: int) -> list[Span]:
    """Draw a candidate for the next merge: mark, pair, bar, count, the merge of the pair.

    The length of the bar is the count relative to the first candidate's.
    """
    pair = row.pair
    mark = "▸ " if pair.is_next else "  "
    count = f"{pair.count:,}"
    later = "" if pair.is_next or row.number is None else f"merge {row.number:,}"
    room = width - len(mark) - row.count_width - 2
    later_width = 13 if room >= 40 else 0
    room -= later_width
    pair_width = max(8, min(room * 2 // 5, 26))
    bar_width = room - pair_width - 1
    label = column(f"{token_label(pair.left)} + {token_label(pair.right)}", pair_width)
    role: Role = "accent" if pair.is_next else "dim"
    cells: list[Span] = [Span(mark, "accent"), Span(label, "heading" if pair.is_next else "text")]
    if bar_width > 2:
        cells += [Span(" "), Span(bar_text(row.share, 1, bar_width).ljust(bar_width), role)]
    cells.append(Span(f" {count:>{row.count_width}} ", "heading" if pair.is_next else "text"))
    if later_width:
        cells.append(Span(f"{later:>{later_width}}", "dim"))
    return cells


def paint_merge(step: MergeStep, width: int) -> list[Span]:
    """Draw a row of the list of merges."""
    pair = (step.left, step.right) if step.is_reached else None
    return merge_cells(step.k, step.token, pair, step.count, width)


def merge_text(step: MergeStep) -> str:
    """Return a line to copy: number, parts, token, id and count of a merge."""
    parts = f"{step.left!r} + {step.right!r} -> {step.token!r}"
    count = "" if step.count is None else f", count {step.count}"
    return f"merge {step.k}: {parts}, id {step.new_id}{count}"
