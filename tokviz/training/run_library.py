"""The trainings that are kept for the user: listed, found by name, copied, renamed, deleted.

Every list of tokenizers, in the app and on the command line, takes them from here.
"""

from __future__ import annotations

import difflib
import glob
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokviz.errors import OutputFileError, TokvizError, UnknownTokenizerError
from tokviz.formats.registry import is_builtin
from tokviz.formats.run import counting_folder, is_run, read_about
from tokviz.storage.files import writing
from tokviz.storage.folders import state_folder
from tokviz.storage.listing import size_label, time_label
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS

_TRY_SECONDS = 0.05
_MOST_TRIES = 300
_MOST_RUNS = 200
_LONGEST_NAME = 200
_TRASH = ".deleted"
"""Holds what was deleted last, beside the runs: where no list looks."""


@dataclass(frozen=True, slots=True)
class Run:
    """A training that is kept.

    Attributes:
        folder: Its folder, which `tokviz.load` takes.
        when: When it was saved, in seconds since the epoch.
        n_vocab: Its tokens, None if it is damaged.
        facts: Its pattern, its rule for ties, and its corpus, in words; what is wrong with it if
            it is damaged.
    """

    folder: str
    when: float
    n_vocab: int | None
    facts: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return os.path.basename(self.folder)

    @property
    def words(self) -> str:
        """Say what it is, without its name and size."""
        return " · ".join((*self.facts, time_label(self.when)))


def runs_folder() -> Path:
    """Name the folder of all runs, which need not exist yet.

    Raises:
        OutputFileError: If the user's state folder cannot be made.
    """
    return state_folder() / "runs"


def list_runs(should_stop: Callable[[], bool] = lambda: False) -> list[Run]:
    """List the runs, the newest first, damaged ones too."""
    found: list[tuple[float, Path]] = []
    try:
        for path in runs_folder().iterdir():
            if should_stop():
                return []
            if not path.name.startswith(".") and is_run(path):
                found.append((path.stat().st_mtime, path))
    except (OSError, OutputFileError):
        return []
    found.sort(reverse=True)
    return [_described(path, when) for when, path in found[:_MOST_RUNS]]


def _described(path: Path, when: float) -> Run:
    try:
        about = read_about(path)
        corpus, settings = about["corpus"], about["settings"]
        pattern = settings["split_pattern"]
        facts = (
            pattern if pattern in SPLIT_PATTERNS else "own regex",
            f"ties: {settings['tie_break']}",
            f"{corpus_words(corpus['files'])}, {size_label(corpus['n_bytes'])}",
        )
        return Run(str(path), when, int(about["n_vocab"]), facts)
    except (TokvizError, KeyError, TypeError, ValueError):
        return Run(str(path), when, None, ("damaged",))


def corpus_words(files: Sequence[Any]) -> str:
    """Name the files of a corpus in a word or two."""
    names = ["standard input" if name == "-" else Path(str(name)).name for name in files]
    if not names:
        return "texts from Python"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


# -- by name


def place_of(name: str) -> str:
    """Give what `tokviz.load` takes for a name: the folder, if it is that of a run.

    Built-in tokenizers and what lies in the working folder go first.
    """
    if is_builtin(name) or os.path.lexists(name) or not _may_be_called(name):
        return name
    try:
        folder = runs_folder() / name
    except OutputFileError:
        return name
    return str(folder) if is_run(folder) else name


def with_runs(error: UnknownTokenizerError, runs: Sequence[Run]) -> UnknownTokenizerError:
    """Let what says that a name is not known offer the nearest runs too."""
    near = difflib.get_close_matches(error.name, [run.name for run in runs], n=2)
    return UnknownTokenizerError(error.name, [*near, *error.suggestions])


def _may_be_called(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and not (name.startswith(".") or {*name} & {*"/\\\0"})


# -- writing, renaming, deleting


def make_room(folder: Path) -> None:
    """Make the folder in which a run folder will be written.

    Raises:
        OutputFileError: If that fails.
    """
    with writing(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)


def remove_run(folder: Path, is_written: Callable[[], bool] = lambda: False) -> None:
    """Remove whatever a training that was given up has written.

    Args:
        folder: The run folder, which need not exist.
        is_written: Tells whether somebody may still be writing; waited for, within reason.
    """
    for _ in range(_MOST_TRIES):
        threading.Event().wait(_TRY_SECONDS)
        if not is_written():
            break
    leftovers = [
        folder,
        counting_folder(folder),
        *folder.parent.glob(f".{glob.escape(folder.name)}.*"),
    ]
    for leftover in leftovers:
        shutil.rmtree(leftover, ignore_errors=True)


def copy_run(run: Path, target: Path) -> None:
    """Copy a run folder, in one step for whoever looks at the target.

    Raises:
        OutputFileError: If it fails; then nothing is left of the copy.
    """
    prefix = f".{target.name[:80]}."
    with (
        writing(target),
        tempfile.TemporaryDirectory(
            dir=target.parent, prefix=prefix, ignore_cleanup_errors=True
        ) as folder,
    ):
        copy = Path(folder) / "run"
        shutil.copytree(run, copy)
        os.rename(copy, target)


def rename_run(folder: Path, name: str) -> Path:
    """Call a run something else.

    Returns:
        Its folder from now on.

    Raises:
        TokvizError: If it cannot have that name.
        OutputFileError: If renaming fails.
    """
    if not _may_be_called(name):
        raise TokvizError(
            f"A name has 1 to {_LONGEST_NAME} characters, no slash, and does not begin with a dot."
        )
    if is_builtin(name):
        raise TokvizError(f"{name} is the name of a built-in tokenizer.")
    target = folder.with_name(name)
    if target != folder:
        _move(folder, target)
    return target


def delete_run(folder: Path) -> None:
    """Take a run away. `restore_run` brings it back, as long as no other one is deleted.

    Raises:
        OutputFileError: If that fails.
    """
    trash = folder.parent / _TRASH
    shutil.rmtree(trash, ignore_errors=True)
    make_room(trash / folder.name)
    _move(folder, trash / folder.name)


def restore_run(folder: Path) -> None:
    """Bring back the run that was deleted last.

    Raises:
        OutputFileError: If that fails.
    """
    _move(folder.parent / _TRASH / folder.name, folder)


def _move(folder: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise OutputFileError(target.name, "there is a run of that name")
    with writing(folder):
        os.rename(folder, target)
