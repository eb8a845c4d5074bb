"""Whether a regex that takes too long on a stretch of text is an error, and where the text begins.

Both are known to the caller far above and needed far below (see `tokviz.pretokenize.guard`), and
differ from thread to thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tokviz.errors import PatternError

_tolerated: ContextVar[list[PatternError] | None] = ContextVar("tolerated", default=None)
_part: ContextVar[tuple[str, int]] = ContextVar("part", default=("", 0))


@contextmanager
def tolerant() -> Iterator[list[PatternError]]:
    """Let stretches of text on which a regex takes too long be gaps, within this block and thread.

    Yields:
        A list that grows by an error for each of them, none of which is raised.
    """
    found: list[PatternError] = []
    token = _tolerated.set(found)
    try:
        yield found
    finally:
        _tolerated.reset(token)


def tolerated() -> list[PatternError] | None:
    """Give the list for errors; None if they are to be raised."""
    return _tolerated.get()


def count_from(offset: int, part: str) -> None:
    """Say where in a longer text a part begins that this thread splits next; errors name it."""
    _part.set((part, offset))


def offset_of(text: str) -> int:
    """Give where a text begins in the longer one that it is a part of: what `count_from` said."""
    part, offset = _part.get()
    return offset if text is part else 0
