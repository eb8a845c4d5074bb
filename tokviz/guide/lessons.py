"""Lessons: tiny trainings, shown merge by merge with comments.

Each is a file in `assets/lessons/`; to add one, add a file. It names its source and the merges that
the source has published, which the lesson compares with its own at the end.
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
    """A comment, shown when `at` merges are done."""

    at: int
    say: str


class Lesson(NamedTuple):
    """A tiny training with comments.

    Attributes:
        name: The name on the command line.
        title: The title in lists.
        source: The publication that the example is from.
        about: The subject of the lesson in one sentence.
        corpus: The text to train on.
        text: A text to tokenize at every step; may be empty.
        split_pattern: The split pattern.
        tie_break: The tie-breaking rule.
        special_tokens: The special tokens.
        special_ids: The position of their ids; see `tokviz.training.settings.TrainSettings`.
        merges: The merges that the source has published.
        looks: The comments, in ascending order of merges.
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
        """Return the comment for k merges."""
        return next((look.say for look in reversed(self.looks) if look.at <= k), "")

    def verdict(self, merges: Sequence[Merge]) -> str:
        """Compare learned merges with the published ones, in a sentence."""
        if tuple(merges) == self.merges:
            return f"Same as the textbook ✓ All {len(merges)} merges match {self.source}."
        pairs = zip(merges, self.merges, strict=False)
        same = next((k for k, (ours, theirs) in enumerate(pairs) if ours != theirs), len(merges))
        return f"Not as in the textbook: merge {same + 1} differs from {self.source}."

    def ready(self) -> Path:
        """Train it if needed, and return the run folder.

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
    """Read the lessons by name, in the order of their files."""
    return {
        lesson.name: lesson for lesson in map(_read, sorted(asset_path("lessons").glob("*.toml")))
    }


class Step(NamedTuple):
    """A step of the tour.

    Attributes:
        say: The instruction.
        until: The condition that ends the step; see `assets/words/tour.toml`.
        screen: The id of the screen for the step; empty for any.
    """

    say: str
    until: str
    screen: str = ""


@cache
def first_steps() -> tuple[Step, ...]:
    """Read the steps of the tour in order."""
    tour = tomllib.loads(asset_path("words/tour.toml").read_text("utf-8"))
    return tuple(Step(**step) for step in tour["step"])


def _read(path: Path) -> Lesson:
    """Read a lesson from a file named NUMBER-NAME.toml."""
    fields = tomllib.loads(path.read_text("utf-8"))
    fields["special_tokens"] = tuple(fields.get("special_tokens", ()))
    fields["merges"] = tuple((left.encode(), right.encode()) for left, right in fields["merges"])
    fields["looks"] = tuple(Look(**look) for look in fields.pop("look"))
    optional = {"text": "", "special_ids": "last"}
    return Lesson(name=path.stem.partition("-")[2], **optional | fields)
