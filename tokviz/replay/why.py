"""Why a merge happened, in words."""

from __future__ import annotations

from dataclasses import dataclass

from tokviz.bpe.ties import get_tie_break
from tokviz.replay.steps import MergeStep, TokenPair

Sentence = tuple[str | bytes, ...]
"""Words and tokens; a screen shows the bytes as it shows tokens."""


@dataclass(frozen=True, slots=True)
class MergeReason:
    """Why a merge happened.

    Attributes:
        sentences: What to tell the user.
        rule: The rule that broke a tie; None where there was none, or nothing is known.
    """

    sentences: tuple[Sentence, ...]
    rule: str | None = None

    def __str__(self) -> str:
        """Read the sentences, bytes as Python writes them."""
        return " ".join(
            "".join(part if isinstance(part, str) else repr(part)[1:] for part in sentence)
            for sentence in self.sentences
        )


def why_merged(step: MergeStep, tie_break: str | None) -> MergeReason:
    """Say why a merge happened when it did.

    Args:
        step: The merge.
        tie_break: The name of the rule of the training; None if it is not known.
    """
    if step.count is None:
        return MergeReason(_without_counts(step))
    pair: Sentence = (step.left, " + ", step.right)
    if step.n_tied is not None and step.n_tied > 1 and tie_break is not None:
        tied: Sentence = (*pair, f" occurs {_times(step.count)}, as {_others(step.n_tied - 1)}.")
        return MergeReason((tied, *_rule(step, tie_break)), tie_break)
    if step.runner_up is None:
        return MergeReason(((*pair, f" occurs {_times(step.count)}; no other pair is left."),))
    second = (step.runner_up.left, " + ", step.runner_up.right)
    ahead = f" occurs {_times(step.count)}, more than any other pair; "
    follows = f" follows with {step.runner_up_count:,}, {step.margin:,} fewer."
    return MergeReason(((*pair, ahead, *second, follows),))


def _without_counts(step: MergeStep) -> tuple[Sentence, ...]:
    if not step.is_reached:
        return (
            ("No merge makes ", step.token, ": it is used where it is a whole piece, or never."),
        )
    return (
        (
            step.left, " + ", step.right,
            " was recovered from the vocabulary; how often it occurred is not known.",
        ),
    )  # fmt: skip


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")


def _others(n: int) -> str:
    return "does one other pair" if n == 1 else f"do {n:,} other pairs"


def _rule(step: MergeStep, tie_break: str) -> tuple[Sentence, ...]:
    rule = get_tie_break(tie_break)
    wins: Sentence = (f"The rule “{rule.name}” takes {rule.title} (as {rule.source}).",)
    if step.runner_up is None:
        return (wins,)
    other = step.runner_up
    return (wins, _comparison(step, other, tie_break))


def _comparison(step: MergeStep, other: TokenPair, tie_break: str) -> Sentence:
    """Compare the two pairs as the rule does."""
    pair, second = (step.left, " + ", step.right), (other.left, " + ", other.right)
    if tie_break == "smallest_id":
        mine, theirs = (step.left_id, step.right_id), (other.left_id, other.right_id)
        return (*pair, f" has the ids {mine}, before {theirs} of ", *second, ".")
    if tie_break == "lexicographic":
        which, mine_, theirs_ = "left", step.left, other.left
        if mine_ == theirs_:
            which, mine_, theirs_ = "right", step.right, other.right
        return (
            *pair, " is greater than ", *second, f": its {which} token ", mine_,
            " sorts behind ", theirs_, ".",
        )  # fmt: skip
    return (*pair, " first occurs before ", *second, ".")
