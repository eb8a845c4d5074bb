"""Why a merge happened, in words."""

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
    """Why a merge happened.

    Attributes:
        sentences: What to tell the user.
    """

    sentences: tuple[Sentence, ...]

    def __str__(self) -> str:
        """Read the sentences, bytes as Python writes them."""
        return format_sentences(self.sentences)


def why_merged(step: MergeStep, tie_break: str | None) -> MergeReason:
    """Say why a merge happened when it did.

    Args:
        step: The merge.
        tie_break: The name of the rule of the training; None if it is not known.
    """
    if step.count is None:
        return MergeReason((_without_counts(step),))
    pair = step.pair.words
    overlaps = tuple(_overlaps(step))
    if step.n_tied is not None and step.n_tied > 1 and tie_break is not None:
        rule = get_tie_break(tie_break)
        tied = (*pair, f" occurs {times(step.count)}, as {_others(step.n_tied - 1)}.")
        wins = (f"The rule “{rule.name}” takes {rule.title} (as {rule.source}).",)
        compared = () if step.runner_up is None else (rule.why(step.pair, step.runner_up),)
        return MergeReason((tied, wins, *compared, *overlaps))
    if step.runner_up is None:
        alone = (*pair, f" occurs {times(step.count)}; no other pair is left.")
        return MergeReason((alone, *overlaps))
    ahead = f" occurs {times(step.count)}, more than any other pair; "
    follows = f" follows with {step.runner_up_count:,}, {step.margin:,} fewer."
    return MergeReason(((*pair, ahead, *step.runner_up.words, follows), *overlaps))


class Term(NamedTuple):
    """What a pre-token adds to the count of a pair.

    Attributes:
        pre_token: Its bytes.
        n_pre_tokens: How often it occurs in the corpus.
        n_pairs: How often the pair occurs in it, overlapping occurrences too.
    """

    pre_token: bytes
    n_pre_tokens: int
    n_pairs: int


def arithmetic(total: int, terms: Sequence[Term]) -> Sentence:
    """Say how a count comes about: "9 = 6 × newest + 3 × widest".

    Args:
        total: How often the pair occurs.
        terms: What pre-tokens add to that; the rest of the total comes from others.
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
    """Say which pair other rules for ties would have taken, where it is another one.

    Args:
        taken: The pair that was merged.
        others: The pair that each of the other rules takes.
    """
    for name, pair in others.items():
        if pair[:2] != taken[:2]:
            yield (f"The rule “{name}” would have merged ", *pair.words, ".")


def by_file(attribution: Attribution | None, k: int) -> Sentence:
    """Say which files a merge comes from, the largest share first.

    Args:
        attribution: What was kept of the files; None if nothing was.
        k: The number of the merge.
    """
    if attribution is None:
        return ("Which files it comes from was not kept by this training.",)
    parts = sorted(attribution.of(k), key=lambda part: -part.n)
    if not parts:
        return ("The corpus was a single file or text.",)
    if len(parts) == 1:
        return (f"All of it comes from {attribution.named(parts[0])}.",)
    shown = [
        f"{attribution.named(part)} ({part.n:,}, {part.share:.0%})" for part in parts[:N_FILES]
    ]
    more = " and others" if len(parts) > N_FILES else ""
    return (f"It comes from {', '.join(shown)}{more}.",)


def in_text(step: MergeStep, n_places: int, n_before: int, n_after: int) -> Sentence:
    """Say what a merge does to the user's text, for a vocabulary whose corpus is not known."""
    if not step.is_reached:
        return _without_counts(step)
    if not n_places:
        return (*step.pair.words, " does not occur in your text at this point.")
    tokens = f" occurs {times(n_places)} in your text: {n_before:,} → {n_after:,} tokens."
    return (*step.pair.words, tokens)


def _overlaps(step: MergeStep) -> Iterator[Sentence]:
    """Say why fewer pairs are replaced than occur, where that is so."""
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
            ": it is used where it is a whole pre-token, or never.",
        )
    unknown = " was recovered from the vocabulary; how often it occurred is not known."
    return *step.pair.words, unknown


def times(n: int) -> str:
    """Say how often."""
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def _others(n: int) -> str:
    return "does one other pair" if n == 1 else f"do {n:,} other pairs"
