r"""A merge as lines of text: the tokens before it, with the pair highlighted, and after it.

>>> before, after = frames(b"abab c", [1, 2, 3, 4, 5, 6], [2, 4, 5, 6])
>>> line(before), line(after)
('[a b] [a b] · c', '[ab] [ab] · c')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokviz.share.replayed import MOST_PRE_TOKENS, step_facts
from tokviz.text.glyphs import short_label
from tokviz.text.sentences import pluralize

if TYPE_CHECKING:
    from tokviz.training.replay.corpus import TokenizedPreToken
    from tokviz.training.replay.replay import Replay
    from tokviz.training.replay.text import ReplayText

_HIGHLIGHT, _END = "\x1b[1;7m", "\x1b[0m"
_MOST_TOKENS = 60
"""Number of tokens of a long text that are shown, around the first change."""
_TOKENS_BEFORE = 12


class Label(NamedTuple):
    """Label of a token, or of the tokens that are merged."""

    text: str
    is_highlighted: bool


def frames(
    data: bytes, ends_before: Iterable[int], ends_after: Iterable[int]
) -> tuple[list[Label], list[Label]]:
    """Return the labels of tokens before and after a merge.

    Args:
        data: The bytes of the tokens.
        ends_before: The ends of the tokens before the merge.
        ends_after: The ends of the tokens after it, a subset.
    """
    before: list[Label] = []
    after: list[Label] = []
    borders = iter(pairwise([0, *ends_before]))
    for start, end in pairwise([0, *ends_after]):
        parts = []
        for first, last in borders:
            parts.append(short_label(data[first:last]))
            if last == end:
                break
        is_highlighted = len(parts) > 1
        before.append(Label(" ".join(parts), is_highlighted))
        after.append(Label(short_label(data[start:end]), is_highlighted))
    return before, after


def line(shown: Sequence[Label], color: bool = False) -> str:
    """Join labels to a line, with highlighted ones in brackets."""
    marked = f"{_HIGHLIGHT}[{{}}]{_END}" if color else "[{}]"
    return " ".join(
        marked.format(text) if is_highlighted else text for text, is_highlighted in shown
    )


def step_lines(
    replay: Replay, k: int, text: ReplayText | None = None, color: bool = False
) -> Iterator[str]:
    """Yield lines about merge k: the pair, the reason, and the tokens before and after it."""
    (head, merge), *facts = step_facts(replay, k)
    yield f"{head}: {merge}"
    yield from (f"  {name:<11} {words}" for name, words in facts)
    if replay.has_counts:
        yield from _corpus_lines(replay, k, color)
    if text is not None:
        yield from _text_lines(text, k, color)


def _corpus_lines(replay: Replay, k: int, color: bool) -> Iterator[str]:
    """Yield the pre-tokens that the merge changes, or all of a tiny corpus."""
    state, n_pre_tokens = replay.state(k - 1), replay.n_pre_tokens or 0
    shown = (
        state.pre_tokens(0, n_pre_tokens)
        if replay.is_tiny
        else state.pre_tokens_of_next(MOST_PRE_TOKENS)
    )
    rows: dict[str, list[str]] = {"before": [], "after": []}
    for pre_token in shown:
        ends_after = replay.pre_token(pre_token.index, k, pre_token.start).byte_ends
        both = frames(pre_token.data, pre_token.byte_ends, ends_after)
        for column, frame in zip(rows.values(), both, strict=True):
            column.append(_pre_token(pre_token, frame, color))
    for name, column in rows.items():
        yield from _titled(name, ["   ".join(column)] if _all_once(shown) else column)


def _all_once(pre_tokens: Sequence[TokenizedPreToken]) -> bool:
    return all(pre_token.count == 1 for pre_token in pre_tokens)


def _pre_token(pre_token: TokenizedPreToken, shown: Sequence[Label], color: bool) -> str:
    times = "" if pre_token.count == 1 else f"  ×{pre_token.count:,}"
    row = line(_window(shown), color)
    return f"{'…' * (pre_token.start > 0)}{row}{'…' * pre_token.is_cut}{times}"


def _text_lines(text: ReplayText, k: int, color: bool) -> Iterator[str]:
    before, after = text.at(k - 1), text.at(k)
    yield f"  text        {len(before):,} → {pluralize(len(after), 'token')}"
    both = frames(text.data, before.byte_ends.tolist(), after.byte_ends.tolist())
    for name, shown in zip(("before", "after"), both, strict=True):
        yield from _titled(name, [line(_window(shown), color)])


def _titled(name: str, rows: Sequence[str]) -> Iterator[str]:
    for index, row in enumerate(rows):
        yield f"    {name if index == 0 else '':<9} {row}"


def _window(shown: Sequence[Label]) -> Sequence[Label]:
    """Cut a long row to the part around the first highlighted token."""
    if len(shown) <= _MOST_TOKENS:
        return shown
    highlighted = next(
        (index for index, (_, is_highlighted) in enumerate(shown) if is_highlighted), 0
    )
    first = max(0, min(highlighted - _TOKENS_BEFORE, len(shown) - _MOST_TOKENS))
    cut = list(shown[first : first + _MOST_TOKENS])
    more = Label("…", False)
    return [*[more] * (first > 0), *cut, *[more] * (first + _MOST_TOKENS < len(shown))]


def start_lines(replay: Replay, text: ReplayText | None = None) -> Iterator[str]:
    """Yield lines about the state before the first merge."""
    yield f"before merge 1 of {replay.n_merges:,}"
    if replay.has_counts:
        state = replay.state(0)
        n_pre_tokens = replay.n_pre_tokens or 0
        tokens = pluralize(state.n_tokens or 0, "token")
        yield f"  corpus      {tokens}, {pluralize(n_pre_tokens, 'distinct pre-token')}"
        shown = state.pre_tokens(0, n_pre_tokens if replay.is_tiny else MOST_PRE_TOKENS)
        rows = [_pre_token(p, frames(p.data, p.byte_ends, p.byte_ends)[1], False) for p in shown]
        yield from _titled("", ["   ".join(rows)] if _all_once(shown) else rows)
    if text is not None:
        ends = text.at(0).byte_ends.tolist()
        yield f"  text        {pluralize(len(ends), 'token')}"
        yield from _titled("", [line(_window(frames(text.data, ends, ends)[1]))])
