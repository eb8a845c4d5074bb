"""Which part of a record is its text."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_NAMED = 8


def choice_of(kind: str, names: Iterable[str]) -> str:
    """Name the fields or columns that there are, and how one of them is chosen."""
    some = ", ".join(map(repr, [*names][:_MOST_NAMED]))
    return f"its {kind}s are {some}: choose one with --field (in the app: Field, column)"
