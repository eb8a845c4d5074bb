"""Explanations of merges in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tokviz.text.sentences import Sentence, format_sentences
from tokviz.training.attribution import N_FILES, Attribution
from tokviz.training.replay.steps import MergeStep
from tokviz.training.ties import TokenPair, get_tie_break


@dataclass(frozen=True, slots=True)
class MergeReason:
    """The reason for a merge.

    Attributes:
        sentences: The explanation.
    """

    sentences: tuple[Sentence, ...]

    def __str__(self) -> str:
        """Return the sentences, with tokens as Python literals."""
        return format_sentences(self.sentences)


def why_merged(step: MergeStep, tie_break: str | None) -> MergeReason:
    """Explain why a merge happened when it did.

    Args:
        step: The merge.
        tie_break: Name of the tie-breaking rule of the training; None if unknown.
    """
    if step.count is None:
        return MergeReason((_without_counts(step),))
    pair = step.pair.words
    overlaps = tuple(_overlaps(step))
    if step.n_tied is not None and step.n_tied > 1 and tie_break is not None:
        rule = get_tie_break(tie_break)
        tied = (*pair, f" occurs {times_in_words(step.count)}, as {_others(step.n_tied - 1)}.")
        wins = (f"The rule “{rule.name}” takes {rule.title} (as {rule.source}).",)
        compared = () if step.runner_up is None else (rule.why(step.pair, step.runner_up),)
        return MergeReason((tied, wins, *compared, *overlaps))
    if step.runner_up is None:
        alone = (*pair, f" occurs {times_in_words(step.count)}; no other pair is left.")
        return MergeReason((alone, *overlaps))
    ahead = f" occurs {times_in_words(step.count)}, more than any other pair; "
    follows = f" follows with {step.runner_up_count:,}, {step.margin:,} fewer."
    return MergeReason(((*pair, ahead, *step.runner_up.words, follows), *overlaps))


class Term(NamedTuple):
    """The contribution of a pre-token to the count of a pair.

    Attributes:
        pre_token: Its bytes.
        n_pre_tokens: Its occurrences in the corpus.
        n_pairs: Occurrences of the pair in it, including overlapping ones.
    """

    pre_token: bytes
    n_pre_tokens: int
    n_pairs: int


def explain_count(total: int, terms: Sequence[Term]) -> Sentence:
    """Explain a count: "9 = 6 × newest + 3 × widest".

    Args:
        total: Occurrences of the pair.
        terms: Contributions of some pre-tokens; the rest of the total comes from others.
    """
    words: list[str | bytes] = [f"{total:,} = "]
    rest = total
    for term in terms:
        inside = f"{term.n_pairs} in " if term.n_pairs > 1 else ""
        words += [f"{term.n_pre_tokens:,} × {inside}", term.pre_token, " + "]
        rest -= term.n_pre_tokens * term.n_pairs
    words[-1] = f" + {rest:,} in other pre-tokens." if rest else "."
    return tuple(words)


def other_rules(taken: TokenPair, others: Mapping[str, TokenPair]) -> Iterator[Sentence]:
    """Name the tie-breaking rules that would have merged another pair.

    Args:
        taken: The pair that was merged.
        others: The pair that each other rule chooses.
    """
    for name, pair in others.items():
        if pair[:2] != taken[:2]:
            yield (f"The rule “{name}” would have merged ", *pair.words, ".")


def files_of_merge(attribution: Attribution | None, k: int) -> Sentence:
    """Name the files that a merge comes from, largest share first.

    Args:
        attribution: The attribution of the training, if it kept one.
        k: The merge number.
    """
    if attribution is None:
        return ("This training did not record which files a merge comes from.",)
    parts = sorted(attribution.of(k), key=lambda part: -part.n)
    if not parts:
        return ("The corpus was a single file or text.",)
    if len(parts) == 1:
        return (f"All of it comes from {attribution.label_of(parts[0])}.",)
    shown = [
        f"{attribution.label_of(part)} ({part.n:,}, {part.share:.0%})" for part in parts[:N_FILES]
    ]
    more = " and others" if len(parts) > N_FILES else ""
    return (f"It comes from {', '.join(shown)}{more}.",)


def effect_on_text(step: MergeStep, n_places: int, n_before: int, n_after: int) -> Sentence:
    """Describe the effect of a merge on the user's text, for a vocabulary with unknown corpus."""
    if not step.is_reached:
        return _without_counts(step)
    if not n_places:
        return (*step.pair.words, " does not occur in your text at this point.")
    tokens = f" occurs {times_in_words(n_places)} in your text: {n_before:,} → {n_after:,} tokens."
    return (*step.pair.words, tokens)


def _overlaps(step: MergeStep) -> Iterator[Sentence]:
    """Explain why fewer pairs are replaced than occur, if so."""
    replaced = step.n_replaced
    if replaced is not None and replaced != step.count:
        made = f"{replaced:,} replacement{'s' * (replaced != 1)}"
        yield (
            f"The merge makes {made}, not {step.count:,}: occurrences that overlap share a token, "
            "and a token is merged only once.",
        )


def _without_counts(step: MergeStep) -> Sentence:
    if not step.is_reached:
        return (
            "No merge makes ",
            step.token,
            ": it is used only as a whole pre-token, or never.",
        )
    unknown = " was recovered from the vocabulary; its count is unknown."
    return *step.pair.words, unknown


def times_in_words(n: int) -> str:
    """Return "once", "twice" or "3 times"."""
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def _others(n: int) -> str:
    return "does one other pair" if n == 1 else f"do {n:,} other pairs"
