"""What can be replayed: the tokenizer at hand, trainings, and what ships with tokviz."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.errors import TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.formats.run import is_run, read_about
from tokviz.listing import size_label, time_label

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokviz.tokenizer import Tokenizer

_MOST_RUNS = 200


@dataclass(frozen=True, slots=True)
class Source:
    """Something to replay.

    Attributes:
        name: What to call it.
        about: What it is, in a few words.
        opens: What `Replay.open` takes: a path, a built-in name or a tokenizer.
    """

    name: str
    about: str
    opens: str | Tokenizer


def source_named(opens: str) -> Source:
    """Take a path, or the name of a built-in tokenizer."""
    return Source(Path(opens).name or opens, "", opens)


def source_at_hand(tokenizer: Tokenizer, remembered: str) -> Source:
    """Name the tokenizer at hand; if it came from a run folder, that is what is replayed.

    Args:
        tokenizer: The tokenizer.
        remembered: The name or path of the tokenizer that was chosen last.
    """
    path = Path(remembered)
    if is_run(path) and path.resolve().name == tokenizer.name:
        return Source(tokenizer.name, "the tokenizer at hand, with its training", str(path))
    return Source(tokenizer.name, "the tokenizer at hand", tokenizer)


def trained_sources(folder: Path, should_stop: Callable[[], bool] = lambda: False) -> list[Source]:
    """List the runs in a folder, the newest first."""
    found: list[tuple[float, Path]] = []
    try:
        for path in folder.iterdir():
            if should_stop():
                return []
            if not path.name.startswith(".") and is_run(path):
                found.append((path.stat().st_mtime, path))
    except OSError:
        return []
    found.sort(reverse=True)
    return [_trained(path, when) for when, path in found[:_MOST_RUNS]]


def _trained(path: Path, when: float) -> Source:
    try:
        about = read_about(path)
        n_merges, n_bytes = about["n_merges"], about["corpus"]["n_bytes"]
        words = f"{n_merges:,} merges over {size_label(n_bytes)}, {time_label(when)}"
    except (TokvizError, KeyError, TypeError, ValueError, json.JSONDecodeError):
        words = "damaged"
    return Source(path.name, words, str(path))


def builtin_sources() -> list[Source]:
    """List the tokenizers that ship with tokviz."""
    return [Source(found.name, found.title, found.name) for found in BUILTIN_TOKENIZERS]


def fitting(sources: list[Source], typed: str) -> list[Source]:
    """Find the sources whose name or description holds what was typed, in any case."""
    wanted = typed.casefold().split()
    return [
        source
        for source in sources
        if all(word in f"{source.name} {source.about}".casefold() for word in wanted)
    ]
