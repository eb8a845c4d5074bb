"""Where runs are kept: beside the other things that the app keeps, until the user copies one."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from tokviz.errors import OutputFileError
from tokviz.folders import state_folder

_TRY_SECONDS = 0.05
_MOST_TRIES = 300


def runs_folder() -> Path:
    """Name the folder of all runs, which need not exist yet.

    Raises:
        OutputFileError: If the user's state folder cannot be made.
    """
    return state_folder() / "runs"


def make_room(folder: Path) -> None:
    """Make the folder in which a run folder will be written.

    Raises:
        OutputFileError: If that fails.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputFileError(folder.parent, error.strerror or str(error)) from None


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
    leftovers = [folder, *folder.parent.glob(f".{glob.escape(folder.name)}.*")]
    for leftover in leftovers:
        shutil.rmtree(leftover, ignore_errors=True)


def copy_run(run: Path, target: Path) -> None:
    """Copy a run folder, in one step for whoever looks at the target.

    Raises:
        OutputFileError: If it fails; then nothing is left of the copy.
    """
    temporary = None
    try:
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:80]}."))
        copy = temporary / "run"
        shutil.copytree(run, copy)
        os.rename(copy, target)
    except OSError as error:
        raise OutputFileError(target, error.strerror or str(error)) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
