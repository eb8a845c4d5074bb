"""What there is to say about two trainings or vocabularies: rows of words, by pure functions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a replay is compared with.

    Attributes:
        name: What to call the other one.
        first_number: The merge at which they part, None if they do not.
    """

    name: str
    first_number: int | None
