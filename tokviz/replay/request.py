"""What a Replay is asked to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

LADDER_BYTES = 1_000
"""A corpus up to this size is drawn anew for every merge, one below the other."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """What to replay, and where to begin.

    Attributes:
        source: A run folder, the name of a built-in tokenizer, or a file that holds a tokenizer.
        at: The number of merges to show first; None leaves it to the screen.
        text: A text to show as it is tokenized after so many merges (byte text); None for none.
        lesson: The name of the lesson that it is; empty for none.
        play: Whether it begins by itself, at a pace that can be followed.
        others: What to compare it with: sources too, or files of merges.
    """

    screen: ClassVar[str] = "replay"

    source: str
    at: int | None = None
    text: str | None = None
    others: tuple[str, ...] = ()
    lesson: str = ""
    play: bool = False
