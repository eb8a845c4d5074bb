"""Packing with a search of all windows for each row, and with every token listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

Tokens = list[tuple[int, int]]
"""Tokens as (row, number of the token)."""
Pack = Callable[[list[Tokens], int], list[Tokens]]
"""Takes the tokens of rows and the context length; returns the tokens of each window."""


def by_batch(pack: Pack) -> Callable[[list[int], int, int], list[Tokens]]:
    """Make a function that takes lengths, the context length, and the rows to pack at a time."""

    @wraps(pack)
    def packed(lengths: list[int], context: int, batch_rows: int) -> list[Tokens]:
        rows = [[(row, token) for token in range(n)] for row, n in enumerate(lengths)]
        batches = (rows[first : first + batch_rows] for first in range(0, len(rows), batch_rows))
        return [window for batch in batches for window in pack(batch, context)]

    return packed


@by_batch
def one_each(rows: list[Tokens], context: int) -> list[Tokens]:
    return [row[:context] for row in rows if row]


@by_batch
def first_fit(rows: list[Tokens], context: int) -> list[Tokens]:
    windows: list[Tokens] = []
    for row in one_each.__wrapped__(rows, context):
        next(_fitting(windows, row, context)).extend(row)
    return windows


@by_batch
def best_fit(rows: list[Tokens], context: int) -> list[Tokens]:
    windows: list[Tokens] = []
    for row in sorted(one_each.__wrapped__(rows, context), key=len, reverse=True):
        fitting = [window for window in windows if len(window) + len(row) <= context]
        best = max(fitting, key=len) if fitting else []
        # The first of several with equal room is the one that has had it for longest.
        windows = [window for window in windows if window is not best]
        windows.append(best + row)
    return windows


@by_batch
def wrapped(rows: list[Tokens], context: int) -> list[Tokens]:
    tokens = [token for row in rows for token in row]
    return [tokens[at : at + context] for at in range(0, len(tokens), context)]


def _fitting(windows: list[Tokens], row: Tokens, context: int) -> Iterator[Tokens]:
    yield from (window for window in windows if len(window) + len(row) <= context)
    windows.append([])
    yield windows[-1]
