"""Figure of a merge: its description, its reason, and the tokens before and after it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tokviz.share.figure import Chip, Figure, FigurePart, chips_of
from tokviz.text.glyphs import safe, short_label
from tokviz.text.sentences import format_sentences, pluralize

if TYPE_CHECKING:
    from tokviz.training.replay.replay import PairCount, Replay
    from tokviz.training.replay.steps import MergeStep
    from tokviz.training.replay.text import ReplayText
    from tokviz.training.ties import TokenPair

MOST_PRE_TOKENS = 8
"""Number of pre-tokens shown of a corpus that is not tiny."""
ALL_PRE_TOKENS = 2_000
_N_CANDIDATES = 5


def step_facts(replay: Replay, k: int) -> Iterator[tuple[str, str]]:
    """Yield facts about merge k and the reason for it, as (topic, words)."""
    step = replay.step(k)
    yield f"merge {k:,} of {replay.n_merges:,}", step_words(step)
    yield "why", format_sentences(replay.why(k).sentences, short_label)
    if replay.has_counts:
        best = replay.state(k - 1).top_pairs(_N_CANDIDATES)
        yield "candidates", ", ".join(map(_candidate, best))
        yield from (("origin", format_sentences([sentence])) for sentence in replay.files(k))
        yield "corpus", f"{step.n_tokens_before:,} → {step.n_tokens_after:,} tokens"


def step_words(step: MergeStep) -> str:
    """Describe a merge: the pair and the new token."""
    made = f"{short_label(step.token)}  (id {step.new_id})"
    return f"{pair_words(step)} → {made}" if step.is_reached else made


def pair_words(pair: MergeStep | TokenPair | PairCount) -> str:
    """Return the labels of both tokens of a pair."""
    return f"{short_label(pair.left)} + {short_label(pair.right)}"


def _candidate(pair: PairCount) -> str:
    shown = f"{pair_words(pair)} {pair.count:,}"
    return f"[{shown}]" if pair.is_next else shown


def replay_figure(replay: Replay, k: int, text: ReplayText | None = None) -> Figure:
    """Show merge k, or the start if k is 0: the corpus and a text before and after it."""
    start = [("the start", f"{replay.n_merges:,} merges follow")]
    facts = [f"{name}: {words}" for name, words in (step_facts(replay, k) if k else start)]
    states = sorted({max(k - 1, 0), k})
    names = (f"before merge {k:,}", f"after merge {k:,}") if k else ("before the first merge",)
    parts = []
    if replay.has_counts:
        for name, at in zip(names, states, strict=True):
            parts.append(FigurePart(f"corpus {name}", _words(replay, at, k)))
    if text is not None:
        tokens = [text.at(at) for at in states]
        ends = [[0, *state.byte_ends.tolist()] for state in tokens]
        for name, state, own, other in zip(names, tokens, ends, reversed(ends), strict=True):
            chips = _chips(state.ids.tolist(), text.data, own, other)
            parts.append(FigurePart(f"text {name} · {pluralize(len(chips), 'token')}", chips))
    return Figure(safe(f"{os.path.basename(replay.name)} · {facts[0]}"), facts[1:], parts)


def _words(replay: Replay, at: int, k: int) -> list[Chip | str]:
    """Return pre-tokens of the corpus after `at` merges, of a large one those merge k changes."""
    if replay.is_tiny or not k:
        shown = replay.state(at).pre_tokens(
            0, ALL_PRE_TOKENS if replay.is_tiny else MOST_PRE_TOKENS
        )
    else:
        shown = replay.state(k - 1).pre_tokens_of_next(MOST_PRE_TOKENS)
    items: list[Chip | str] = []
    for pre_token in shown:
        if pre_token.data.isspace() and len(pre_token.data) == 1:
            continue  # it only separates words
        now, then = (
            (
                replay.pre_token(pre_token.index, one, pre_token.start)
                for one in (at, k if at < k else k - 1)
            )
            if k
            else (pre_token, pre_token)
        )
        count = f"{pre_token.count:,}×" if pre_token.count > 1 else ""
        items.append(f"{'   ' * bool(items)}{count}{'…' * (pre_token.start > 0)}")
        items += _chips(now.ids, now.data, [0, *now.byte_ends], [0, *then.byte_ends])
        items.append("…" * pre_token.is_cut)
    return [item for item in items if item]


def _chips(
    ids: Sequence[int], data: bytes, ends: Sequence[int], others: Sequence[int]
) -> list[Chip]:
    """Return chips of tokens; highlight those that differ on the other side of the merge.

    Args:
        ids: Their ids.
        data: Their bytes.
        ends: Their borders: 0 and the end of each token.
        others: The borders on the other side of the merge.
    """
    there = set(pairwise(others))
    mark = "made" if len(ends) < len(others) else "merged"
    notes = [("" if span in there else mark, "") for span in pairwise(ends)]
    tokens = (data[start:end] for start, end in pairwise(ends))
    return chips_of(ids, tokens, notes=notes)
