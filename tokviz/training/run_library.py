"""The user's saved trainings: list, find by name, copy, rename, delete.

Every list of tokenizers, in the app and on the command line, includes them.
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
"""Hidden folder for the run that was deleted last."""


@dataclass(frozen=True, slots=True)
class Run:
    """A saved training.

    Attributes:
        folder: Its folder, which `tokviz.load` accepts.
        when: Time of saving, in seconds since the epoch.
        n_vocab: Number of its tokens, None if it is damaged.
        facts: Its split pattern, tie-breaking rule and corpus; "damaged" if it is damaged.
    """

    folder: str
    when: float
    n_vocab: int | None
    facts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the run."""
        return os.path.basename(self.folder)

    @property
    def words(self) -> str:
        """A description without name and size."""
        return " · ".join((*self.facts, time_label(self.when)))


def runs_folder() -> Path:
    """Return the folder of all runs, which may not exist yet.

    Raises:
        OutputFileError: If the user's state folder cannot be created.
    """
    return state_folder() / "runs"


def list_runs(should_stop: Callable[[], bool] = lambda: False) -> list[Run]:
    """List the runs, newest first, including damaged ones."""
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
    """Return a short label for the files of a corpus."""
    names = ["standard input" if name == "-" else Path(str(name)).name for name in files]
    if not names:
        return "texts from Python"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


# -- by name


def place_of(name: str) -> str:
    """Return the folder of a run for its name; other names are returned unchanged.

    Built-in tokenizers and files in the working directory have priority.
    """
    if is_builtin(name) or os.path.lexists(name) or not _may_be_called(name):
        return name
    try:
        folder = runs_folder() / name
    except OutputFileError:
        return name
    return str(folder) if is_run(folder) else name


def with_runs(error: UnknownTokenizerError, runs: Sequence[Run]) -> UnknownTokenizerError:
    """Return an error about an unknown name that also suggests runs with similar names."""
    near = difflib.get_close_matches(error.name, [run.name for run in runs], n=2)
    return UnknownTokenizerError(error.name, [*near, *error.suggestions], error.about)


def _may_be_called(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and not (name.startswith(".") or {*name} & {*"/\\\0"})


# -- writing, renaming, deleting


def make_room(folder: Path) -> None:
    """Create the parent folder of a run folder.

    Raises:
        OutputFileError: If that fails.
    """
    with writing(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)


def remove_run(folder: Path, is_written: Callable[[], bool] = lambda: False) -> None:
    """Remove everything that a canceled training has written.

    Args:
        folder: The run folder, which may not exist.
        is_written: Returns whether a process may still be writing; waits for it, up to a limit.
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
    """Copy a run folder atomically.

    Raises:
        OutputFileError: If that fails; then no part of the copy remains.
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
    """Rename a run.

    Returns:
        Its new folder.

    Raises:
        TokvizError: If the name is not allowed.
        OutputFileError: If renaming fails.
    """
    if not _may_be_called(name):
        raise TokvizError(
            f"A name has 1 to {_LONGEST_NAME} characters, no slash, and does not start with a dot."
        )
    if is_builtin(name):
        raise TokvizError(f"{name} is the name of a built-in tokenizer.")
    target = folder.with_name(name)
    if target != folder:
        _move(folder, target)
    return target


def delete_run(folder: Path) -> None:
    """Delete a run. `restore_run` restores it until another run is deleted.

    Raises:
        OutputFileError: If that fails.
    """
    trash = folder.parent / _TRASH
    shutil.rmtree(trash, ignore_errors=True)
    make_room(trash / folder.name)
    _move(folder, trash / folder.name)


def restore_run(folder: Path) -> None:
    """Restore the run that was deleted last.

    Raises:
        OutputFileError: If that fails.
    """
    _move(folder.parent / _TRASH / folder.name, folder)


def _move(folder: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise OutputFileError(target.name, "there is already a run with this name")
    with writing(folder):
        os.rename(folder, target)
