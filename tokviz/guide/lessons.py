"""Lessons: tiny trainings to go through merge by merge, with a word on what to look at.

Each is a file in `assets/lessons/`; to add one, add a file. It says where it
comes from, and which merges its source has published: a lesson ends by comparing them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tokviz.formats.run import is_run
from tokviz.storage.assets import asset_path
from tokviz.storage.folders import state_folder
from tokviz.tokenizer.encoding.merging import Merge
from tokviz.training.settings import N_BYTES, SpecialIds
from tokviz.training.train import train


class Look(NamedTuple):
    """What to look at from a merge on: `at` is the number of merges made, `say` the words."""

    at: int
    say: str


class Lesson(NamedTuple):
    """A tiny training with words.

    Attributes:
        name: What it is called on the command line.
        title: What it is called in a list.
        source: Where it comes from.
        about: What one learns by it, in a sentence.
        corpus: The text that is learned from.
        text: A text to tokenize at every step; empty for none.
        split_pattern: How text is cut into pre-tokens.
        tie_break: The rule for ties.
        special_tokens: The special tokens.
        special_ids: Where their ids are; see `tokviz.training.settings.TrainSettings`.
        merges: The merges, as the source gives them.
        looks: What to look at, by rising number of merges.
    """

    name: str
    title: str
    source: str
    about: str
    corpus: str
    text: str
    split_pattern: str
    tie_break: str
    special_tokens: tuple[str, ...]
    special_ids: SpecialIds
    merges: tuple[Merge, ...]
    looks: tuple[Look, ...]

    def say(self, k: int) -> str:
        """Say what to look at after k merges."""
        return next((look.say for look in reversed(self.looks) if look.at <= k), "")

    def verdict(self, merges: Sequence[Merge]) -> str:
        """Compare learned merges with those of the source."""
        if tuple(merges) == self.merges:
            return f"Same as the textbook ✓ All {len(merges)} merges are those of {self.source}."
        pairs = zip(merges, self.merges, strict=False)
        same = next((k for k, (ours, theirs) in enumerate(pairs) if ours != theirs), len(merges))
        return f"Not as the textbook: merge {same + 1} differs from {self.source}."

    def ready(self) -> Path:
        """Train it, unless that has been done before, and give the folder of the run.

        Raises:
            OutputFileError: If the folder cannot be written.
        """
        folder = state_folder() / "lessons" / self.name
        if not is_run(folder):
            run = train(
                [self.corpus],
                N_BYTES + len(self.special_tokens) + len(self.merges),
                split_pattern=self.split_pattern,
                special_tokens=self.special_tokens,
                special_ids=self.special_ids,
                tie_break=self.tie_break,
            )
            run.save(folder)
        return folder


@cache
def lessons() -> dict[str, Lesson]:
    """Read the lessons, by name, in the order of their files."""
    return {
        lesson.name: lesson for lesson in map(_read, sorted(asset_path("lessons").glob("*.toml")))
    }


class Step(NamedTuple):
    """One of the first steps: what to do, what tells that it was done, and on which screen."""

    say: str
    until: str
    screen: str = ""


@cache
def first_steps() -> tuple[Step, ...]:
    """Read the first steps of a newcomer, in their order."""
    given = tomllib.loads(asset_path("words/tour.toml").read_text("utf-8"))
    return tuple(Step(**step) for step in given["step"])


def _read(path: Path) -> Lesson:
    """Read a lesson; the file is called NUMBER-NAME.toml."""
    given = tomllib.loads(path.read_text("utf-8"))
    given["special_tokens"] = tuple(given.get("special_tokens", ()))
    given["merges"] = tuple((left.encode(), right.encode()) for left, right in given["merges"])
    given["looks"] = tuple(Look(**look) for look in given.pop("look"))
    optional = {"text": "", "special_ids": "last"}
    return Lesson(name=path.stem.partition("-")[2], **optional | given)
