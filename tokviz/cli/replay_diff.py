"""Comparison of trainings as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tokviz.compare.boundaries import Comparison
from tokviz.compare.trainings import NAMES, MergesDiff
from tokviz.share.replayed import pair_words
from tokviz.text.glyphs import safe, short_label
from tokviz.text.sentences import format_sentences, pluralize
from tokviz.training.replay.replay import Replay
from tokviz.training.replay.steps import MergeStep

_MOST_TOKENS = 20
_MOST_DISAGREEMENTS = 10
_COLUMN = 24


def diff_lines(diff: MergesDiff, effect: Comparison | None) -> Iterator[str]:
    """Yield the lines of a comparison of trainings."""
    for name, replay in zip(NAMES, diff.replays, strict=False):
        yield f"{name}  {_about(replay)}"
    for name, other in zip(NAMES[1:], (diff, *diff.more), strict=False):
        yield from _difference_lines(name, other)
    if diff.first_number is not None:
        yield from _nearby_merges(diff)
        for name, tokens in zip(NAMES, diff.only_in, strict=False):
            yield _tokens(name, tokens)
    if effect is not None:
        yield from _effect_lines(effect)


def _difference_lines(name: str, diff: MergesDiff) -> Iterator[str]:
    if diff.settings:
        yield "settings"
        yield from (f"  {topic}: A {safe(a)}, {name} {safe(b)}" for topic, a, b in diff.settings)
    difference = diff.first_difference
    if difference is None:
        yield f"All {diff.n_equal:,} merges are equal."
        return
    yield f"merges 1 … {diff.n_equal:,} are equal" if diff.n_equal else "no merge is equal"
    yield f"merge {difference.k:,}"
    yield f"  A  {_merge(difference.a)}"
    yield f"  {name}  {_merge(difference.b)}"
    yield f"  {format_sentences(difference.sentences, short_label)}"
    yield f"tokens in both: {diff.n_shared:,}"


def _nearby_merges(diff: MergesDiff) -> Iterator[str]:
    """Yield the merges around the first difference side by side."""
    yield "side by side"
    yield f"  {'':>7}  " + "".join(f"{name:<{_COLUMN}}" for name in NAMES[: len(diff.replays)])
    for k, steps in diff.rungs():
        cells = [
            f"{short_label(step.token)[: _COLUMN - 2]:<{_COLUMN}}" if step else "" for step in steps
        ]
        mark = "▸" if k == diff.first_number else " "
        yield f" {mark}{k:>7,}  {''.join(cells)}".rstrip()


def _about(replay: Replay) -> str:
    rule = "" if replay.tie_break is None else f", tie-breaking rule {replay.tie_break}"
    return f"{safe(replay.name)}: {pluralize(replay.n_merges, 'merge')}{rule}"


def _merge(step: MergeStep | None) -> str:
    if step is None:
        return "has no more merges"
    count = "" if step.count is None else f", count {step.count:,}"
    tied = f", {step.n_tied:,} pairs tied" if step.n_tied is not None and step.n_tied > 1 else ""
    return f"{pair_words(step)} → {short_label(step.token)}{count}{tied}"


def _tokens(name: str, tokens: list[bytes]) -> str:
    shown = " ".join(map(short_label, tokens[:_MOST_TOKENS]))
    more = " …" if len(tokens) > _MOST_TOKENS else ""
    return f"tokens in {name} only: {len(tokens):,}" + (f"  {shown}{more}" if tokens else "")


def _effect_lines(effect: Comparison) -> Iterator[str]:
    n = len(effect.spans)
    in_a, in_b = effect.counts
    yield f"text: {pluralize(in_a, 'token')} in A, {in_b:,} in B; {pluralize(n, 'disagreement')}"
    for index in range(min(n, _MOST_DISAGREEMENTS)):
        byte = int(effect.spans[index, 0])
        a, b = (" ".join(map(short_label, tokens)) for tokens in effect.tokens_in(index))
        yield f"  byte {byte:,}: A {a}   B {b}"
    if n > _MOST_DISAGREEMENTS:
        yield f"  … and {n - _MOST_DISAGREEMENTS:,} more"


def diff_record(diff: MergesDiff, effect: Comparison | None) -> dict[str, Any]:
    """Return the JSON record of a comparison of trainings."""
    difference = diff.first_difference
    record: dict[str, Any] = {
        "a": diff.a.name,
        "b": diff.b.name,
        "n_merges": [diff.a.n_merges, diff.b.n_merges],
        "n_equal": diff.n_equal,
        "settings": {topic: [a, b] for topic, a, b in diff.settings},
        "first_difference": None
        if difference is None
        else {
            "k": difference.k,
            "kind": difference.kind,
            "a": None if difference.a is None else step_record(difference.a),
            "b": None if difference.b is None else step_record(difference.b),
            "count_of_b_in_a": difference.count_in_a,
            "count_of_a_in_b": difference.count_in_b,
            "why": str(difference),
        },
        "n_shared": diff.n_shared,
        "only_in_a": [token.hex() for token in diff.only_in[0]],
        "only_in_b": [token.hex() for token in diff.only_in[1]],
    }
    if diff.more:
        record["more"] = [diff_record(other, None) for other in diff.more]
    if effect is not None:
        record["text"] = {
            "n_tokens": [*effect.counts],
            "byte_spans_that_differ": effect.spans.tolist(),
        }
    return record


def step_record(step: MergeStep) -> dict[str, Any]:
    """Return the JSON record of a merge, with bytes in hexadecimal."""
    runner_up = step.runner_up
    return {
        **asdict(step),
        "left": step.left.hex(),
        "right": step.right.hex(),
        "text": step.token.decode("utf-8", "backslashreplace"),
        "runner_up": None if runner_up is None else [runner_up.left_id, runner_up.right_id],
    }
