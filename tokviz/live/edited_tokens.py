"""Effects of an edit on the tokens around it: which change, and which hand down their hues."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from tokviz.live.changes import Change
from tokviz.live.chunks import Chunk, OldTokens
from tokviz.text.snapshots import n_same

_MOST_COMPARED = 1 << 16
"""Up to this many bytes, an edit computes which tokens changed; beyond, all count as changed."""

_MOST_RUNS = 64
"""Maximum number of runs from which a pending chunk recalls its hues."""


def byte_offset(chunks: list[Chunk], char: int) -> int:
    """Return the byte offset of a character, both counted from the start of the first chunk."""
    byte = 0
    for chunk in chunks:
        if char <= chunk.n_chars:
            return byte + chunk.byte_of_char(char)
        char -= chunk.n_chars
        byte += chunk.n_bytes
    return byte


def changed_tokens(old: list[Chunk], new: list[Chunk], start: int, end: int) -> Change:
    """Return the byte range that an edit of the bytes start to end changed, tokens included.

    It covers the edit and all tokens around it whose id, hue or position changed.
    """
    n_old, n_new = (sum(chunk.n_bytes for chunk in chunks) for chunks in (old, new))
    if n_old > _MOST_COMPARED or any(chunk.tokens is None for chunk in (*old, *new)):
        return Change(0, n_old, n_new)
    before, now = _columns(old, 0), _columns(new, 0)
    n_before = min(map(n_same, before, now))
    start = min(start, now[2][n_before - 1] if n_before else 0)
    before, now = _columns(old, -n_old), _columns(new, -n_new)
    n_after = min(n_same(a[::-1], b[::-1]) for a, b in zip(before, now, strict=True))
    kept = -now[2][-n_after] if n_after else 0
    kept = min(kept, n_old - end)
    return Change(start, max(start, n_old - kept), max(start, n_new - kept))


def _columns(chunks: list[Chunk], byte: int) -> tuple[list[int], list[int], list[int]]:
    """Return the ids, hues and first bytes of all tokens, counting bytes from `byte`."""
    ids: list[int] = []
    hues: list[int] = []
    starts: list[int] = []
    for chunk in chunks:
        assert chunk.tokens is not None
        ids += chunk.tokens.ids
        hues += chunk.tokens.hues
        starts += map(byte.__add__, chunk.tokens.borders[:-1])
        byte += chunk.n_bytes
    return ids, hues, starts


def runs_around(old: list[Chunk], start: int, end: int, n_new_bytes: int) -> list[OldTokens]:
    """Collect the tokens that an edit leaves alone, at their positions after it.

    Args:
        old: The chunks before the edit.
        start: Byte offset of the edit.
        end: Byte offset after the removed text.
        n_new_bytes: Length of the new chunks, in bytes.
    """
    before: list[OldTokens] = []
    after: list[OldTokens] = []
    byte = 0
    for chunk in old:
        known = chunk.tokens
        if start <= byte and byte + chunk.n_bytes <= end:
            runs: tuple[OldTokens, ...] = ()
        else:
            runs = chunk.runs if known is None else (OldTokens(known, 0, len(known.ids), 0),)
        for run in runs:
            if kept := run.moved(byte).clip(0, start):
                before.append(kept)
            if kept := run.moved(byte).clip(end, byte + chunk.n_bytes):
                after.append(kept)
        byte += chunk.n_bytes
    return before + [run.moved(n_new_bytes - byte) for run in after]


def hand_down(runs: list[OldTokens], chunks: list[Chunk]) -> None:
    """Assign to each new chunk the part of the runs that lies in it."""
    if len(runs) > _MOST_RUNS:
        runs = runs[: _MOST_RUNS // 2] + runs[-_MOST_RUNS // 2 :]
    starts = list(accumulate((chunk.n_bytes for chunk in chunks), initial=0))
    for run in runs:
        number = bisect_right(starts, run.start) - 1
        while number < len(chunks) and starts[number] < run.end:
            if kept := run.clip(starts[number], starts[number + 1]):
                chunks[number].runs += (kept.moved(-starts[number]),)
            number += 1
