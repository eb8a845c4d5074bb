"""Words set in rows: what cards are made of, and what a click on a word does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from rich.cells import cell_len

from tokviz.tui.widgets.fit import fit


class Copy(NamedTuple):
    """Copy a text; `what` names it."""

    text: str
    what: str


class GoTo(NamedTuple):
    """Go to a token of the document."""

    token_index: int


class Step(NamedTuple):
    """Go to the next (1) or the previous (-1) of what stands in a row: places, tokens gone to."""

    step: int


class ToMerge(NamedTuple):
    """Go to a merge of a replay."""

    number: int


class ToToken(NamedTuple):
    """Go to a token, given by its id: to its page, or to the merge of a replay that makes it."""

    token_id: int


class Light(NamedTuple):
    """Light up a pre-token of the corpus of a replay."""

    pre_token: bytes


class ToFinding(NamedTuple):
    """Go to what a finding about a conversation is about, by its number in the list."""

    number: int


class Filter(NamedTuple):
    """Put a word such as `len:3` into a search, or take it out."""

    name: str
    value: str


class Search(NamedTuple):
    """Search for something, in place of what is searched for."""

    typed: str


class Do(NamedTuple):
    """Do one of the screen's actions; `call` is its call."""

    call: str


Action = Copy | GoTo | Step | ToMerge | ToToken | Light | ToFinding | Filter | Search | Do
Role = Literal[
    "text", "label", "heading", "dim", "token", "special", "made", "new", "link", "tree", "warning",
    "error", "bar", "good", "left", "right", "result",
]  # fmt: skip


class Span(NamedTuple):
    """A stretch of a row: its text, what it is, what a click on it does, its hue if it has one."""

    text: str
    role: Role = "text"
    action: Action | None = None
    hue: int = -1


Row = tuple[Span, ...]
Word = Sequence[Span]
"""Spans that stay on one row."""


def flow(words: Iterable[Word], width: int, indent: Sequence[Span] = ()) -> list[Row]:
    """Set words in rows, as many as fit, one space apart.

    Args:
        words: What to set. A span wider than a row is broken at its spaces, a word is cut.
        width: Columns of a row.
        indent: What stands before the first word; later rows are indented as far.
    """
    left = sum(cell_len(span.text) for span in indent)
    room = max(1, width - left)
    rows: list[list[Span]] = [list(indent)]
    used = 0
    for whole in chain.from_iterable(_broken(word, room) for word in words):
        word = _cut(whole, room)
        word_width = sum(cell_len(span.text) for span in word)
        if used and used + 1 + word_width > room:
            rows.append([Span(" " * left)] if left else [])
            used = 0
        if used:
            rows[-1].append(Span(" "))
            used += 1
        rows[-1].extend(word)
        used += word_width
    return [tuple(row) for row in rows]


def _broken(word: Word, room: int) -> list[Word]:
    """Break a span that is too wide at its spaces."""
    if len(word) != 1 or " " not in word[0].text or cell_len(word[0].text) <= room:
        return [word]
    return [(word[0]._replace(text=part),) for part in word[0].text.split(" ")]


def _cut(word: Word, room: int) -> Word:
    """Leave out what of a word does not fit."""
    kept: list[Span] = []
    for span in word:
        kept.append(span._replace(text=fit(span.text, room)))
        room -= cell_len(span.text)
        if room <= 0:
            break
    return kept


def words_of(text: str, role: Role = "text", action: Action | None = None) -> list[Word]:
    """Cut a sentence into words for `flow`."""
    return [(Span(word, role, action),) for word in text.split(" ")]
