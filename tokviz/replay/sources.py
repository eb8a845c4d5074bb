"""What is replayed or compared: a training, a vocabulary, or the tokenizer at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.formats.run import is_run

if TYPE_CHECKING:
    from tokviz.replay.replay import Replay
    from tokviz.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Source:
    """Something to replay.

    Attributes:
        name: What to call it.
        opens: What `open_merges` takes: a path, a built-in name, a tokenizer or a replay.
    """

    name: str
    opens: str | Tokenizer | Replay


def source_named(opens: str) -> Source:
    """Take a path, or the name of a built-in tokenizer."""
    return Source(Path(opens).name or opens, opens)


def source_at_hand(tokenizer: Tokenizer, remembered: str) -> Source:
    """Name the tokenizer at hand; if it came from a run folder, that is what is replayed.

    Args:
        tokenizer: The tokenizer.
        remembered: The name or path of the tokenizer that was chosen last.
    """
    path = Path(remembered)
    if is_run(path) and path.resolve().name == tokenizer.name:
        return Source(tokenizer.name, str(path))
    return Source(tokenizer.name, tokenizer)
