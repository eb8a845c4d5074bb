"""Rows of a comparison of trainings or vocabularies, by pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tokviz.compare.trainings import NAMES
from tokviz.errors import TokvizError
from tokviz.text.glyphs import safe
from tokviz.text.sentences import pluralize
from tokviz.tui.widgets.card_rows import label_of, report_rows, sentence_words
from tokviz.tui.widgets.fit import fit
from tokviz.tui.widgets.spans import (
    Action,
    Row,
    RunAction,
    Span,
    ToMerge,
    ToToken,
    Word,
    flow,
    words_of,
)

if TYPE_CHECKING:
    from tokviz.compare import boundaries
    from tokviz.compare.trainings import MergesDiff
    from tokviz.training.replay.replay import Replay

_MOST_TOKENS = 200
_MOST_PLACES = 40
_MOST_LABEL = 32
_NUMBER = 9

NOTHING = (
    "Compare this training or vocabulary with another one, or with a merge file: CS336's, "
    "GPT-2's merges.txt, a tokenizer.json or tiktoken's ranks."
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of the replay with one or two other sources.

    Attributes:
        names: The names of the replay and the others.
        diff: The difference of their merges.
        effect: The difference in the user's text; None if it is unknown.
        revision: The revision of that text.
        report: The report of a check of the user's own merges; empty for another comparison.
    """

    names: tuple[str, ...]
    diff: MergesDiff
    effect: boundaries.Comparison | None = None
    revision: int = -1
    report: Sequence[str] = ()

    def with_text(self, text: str, parse_specials: bool, revision: int) -> Comparison:
        """Return the comparison with the effect on the user's text; takes a moment."""
        try:
            effect = self.diff.effect(text, parse_specials) if text else None
        except TokvizError:
            # One of the two has no token for a byte of the text.
            effect = None
        return replace(self, effect=effect, revision=revision)


def nothing_rows(width: int) -> list[Row]:
    """Draw the help of a missing comparison."""
    choose = Span("Press D to choose.", "link", RunAction("screen.compare"))
    return flow([*words_of(NOTHING, "dim"), (choose,)], width)


def waiting_rows(other: str, width: int) -> list[Row]:
    """Draw the notice of a pending comparison."""
    return flow(words_of(f"Comparing with {safe(other)}…", "dim"), width)


def comparison_rows(comparison: Comparison, at: int, width: int) -> list[Row]:
    """Draw a comparison: names, first difference and its reason, merges, text and tokens.

    Args:
        comparison: The comparison.
        at: The current merge, at which the others are drawn; 0 for none.
        width: Columns of a row.
    """
    diff, rows = comparison.diff, report_rows(comparison.report, width)
    rows += [()] if rows else []
    for letter, name in zip(NAMES, comparison.names, strict=False):
        rows += flow(((Span(f"{letter} ", "heading"), Span(safe(name))),), width)
    if len(comparison.names) == 2:
        third = Span("Compare with a third", "link", RunAction("screen.compare_with_third"))
        rows += flow([(third,)], width)
    for letter, one in zip(NAMES[1:], (diff, *diff.more), strict=False):
        for what, in_a, in_b in one.settings:
            words = f"{what}: {safe(in_a)} in A, {safe(in_b)} in {letter}"
            rows += flow(words_of(words, "dim"), width)
    if diff.first_number is not None:
        rows += [(), *_rung_rows(diff, at, width)]
    for letter, one in zip(NAMES[1:], (diff, *diff.more), strict=False):
        rows += [(), *_parting(one, letter, width)]
    if comparison.effect is not None:
        rows += [(), *_effect_rows(comparison.effect, width)]
    for letter, tokens, replay in zip(NAMES, diff.only_in, diff.replays, strict=False):
        title = f"only in {letter}"
        rows += [(), *_token_rows(title, tokens, replay, width, leads=replay is diff.a)]
    return rows


def _rung_rows(diff: MergesDiff, at: int, width: int) -> Iterator[Row]:
    """Draw the merges around a number side by side, and highlight differences."""
    column = max(4, (width - _NUMBER) // len(diff.replays))
    heads = "".join(f"{letter:<{column}}" for letter in NAMES[: len(diff.replays)])
    yield (Span(" " * _NUMBER + heads, "heading"),)
    for k, steps in diff.rungs(at):
        mark = "▸" if k == (at or diff.first_number) else " "
        number = f"{mark}{k:>{_NUMBER - 3},}  "
        go = ToMerge(min(k, diff.a.n_merges))
        spans = [Span(number, "link", go)]
        is_same = len({step and step.pair[:2] for step in steps}) == 1
        for step in steps:
            count = "" if step is None or step.count is None else f" {step.count:,}×"
            shown = "" if step is None else fit(label_of(step.token), column - len(count) - 1)
            spans.append(Span(shown, "dim" if is_same else "made", go))
            spans.append(Span(count + " " * (column - cell_len(shown + count)), "dim", go))
        yield tuple(spans)


def _parting(diff: MergesDiff, letter: str, width: int) -> Iterator[Row]:
    found = diff.first_difference
    if found is None:
        yield from flow(words_of(f"All {diff.n_equal:,} merges are equal.", "heading"), width)
        return
    go: Action = ToMerge(min(found.k, diff.a.n_merges))
    equal = (
        f"after {pluralize(diff.n_equal, 'equal one')}" if diff.n_equal else "the very first one"
    )
    yield from flow(
        (
            (Span(f"A and {letter} differ first at merge", "heading"),),
            (Span(f"{found.k:,}", "link", go), Span(",")),
            *words_of(f"{equal}.", "dim"),
        ),
        width,
    )
    for sentence in found.sentences:
        yield from flow(sentence_words(sentence), width)


def _effect_rows(effect: boundaries.Comparison, width: int) -> Iterator[Row]:
    n_a, n_b = effect.counts
    n_places = len(effect.spans)
    places = "they are equal" if not n_places else f"they differ in {n_places:,} places"
    if n_places == 1:
        places = "they differ in one place"
    yield from flow(
        (
            (Span("Your text:", "heading"),),
            *words_of(f"{n_a:,} tokens in A, {n_b:,} in B; {places}."),
        ),
        width,
    )
    for index in range(min(n_places, _MOST_PLACES)):
        in_a, in_b = effect.tokens_in(index)
        yield from flow((*_chips(in_a), (Span("│", "tree"),), *_chips(in_b)), width, (Span("  "),))
    if n_places > _MOST_PLACES:
        yield (Span(f"  … {n_places - _MOST_PLACES:,} more", "dim"),)


def _chips(tokens: Sequence[bytes]) -> list[Word]:
    return [
        (Span(fit(label_of(token), _MOST_LABEL), "token", None, index % 2),)
        for index, token in enumerate(tokens)
    ]


def _token_rows(
    title: str, tokens: Sequence[bytes], replay: Replay, width: int, *, leads: bool
) -> Iterator[Row]:
    """Draw the tokens of only one source; those of the replay link to their merges."""
    yield (Span(f"{pluralize(len(tokens), 'token')} {title}", "heading"),)
    words: list[Word] = []
    for token in tokens[:_MOST_TOKENS]:
        token_id = replay.tokenizer.token_id(token) if leads else None
        action = None if token_id is None else ToToken(token_id)
        words.append((Span(fit(label_of(token), _MOST_LABEL), "made", action),))
    if len(tokens) > _MOST_TOKENS:
        words += words_of(f"… {len(tokens) - _MOST_TOKENS:,} more", "dim")
    if words:
        yield from flow(words, width)
