"""Whether a regex that takes too long on a stretch of text is an error, and where the text begins.

Both are known to the caller far above and needed far below (see `tokviz.pretokenize.guard`), and
differ from thread to thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


@contextmanager
def heard() -> Iterator[list[PatternError]]:
    """Give the errors of this block apart, too, where they are tolerated."""
    here: list[PatternError] = []
    above = _tolerated.get()
    token = _tolerated.set(None if above is None else here)
    try:
        yield here
    finally:
        _tolerated.reset(token)
        if above is not None:
            above.extend(here)


def report(errors: Iterable[PatternError]) -> None:
    """Note errors where they are tolerated.

    Raises:
        PatternError: The first of them, where they are not.
    """
    found = _tolerated.get()
    for error in errors:
        if found is None:
            raise error
        found.append(error)


def are_tolerated() -> bool:
    """Tell whether errors are noted rather than raised."""
    return _tolerated.get() is not None


def count_from(offset: int, part: str) -> None:
    """Say where in a longer text a part begins that this thread splits next; errors name it."""
    _part.set((part, offset))


def offset_of(text: str) -> int:
    """Give where a text begins in the longer one that it is a part of: what `count_from` said."""
    part, offset = _part.get()
    return offset if text is part else 0
