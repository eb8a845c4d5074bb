"""Writing a run folder (see `tokviz.formats.run`) in one step, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from tokviz.files import StrPath, exchange, output_error, umask
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.npy import write_npy, write_npz
from tokviz.formats.run import (
    ABOUT,
    FILES,
    FORMAT_VERSION,
    HISTORY,
    MARK,
    PIECES,
    RUN_FILES,
    SWAPPED,
    TOKEN_LENGTHS,
    TOKENIZER,
    check_target,
    finish_swap,
    finish_swaps,
)
from tokviz.locks import at_once, hold

if TYPE_CHECKING:
    from tokviz.formats.npy import Items
    from tokviz.tokenizer import Tokenizer


def write_run(
    folder: StrPath,
    tokenizer: Tokenizer,
    *,
    about: Mapping[str, Any],
    history: Mapping[str, Items],
    pieces: Mapping[str, Items],
    token_lengths: Items,
    files: Mapping[str, Items],
) -> None:
    """Write a run folder in one step: a temporary neighbour is filled, synced and renamed.

    A run that is there is replaced; files in its folder that belong to no run stay.

    Args:
        folder: The folder; folders above it are made.
        tokenizer: The trained tokenizer.
        about: What `run.json` says beside the version of the format.
        history: The columns of the history by name.
        pieces: `data` (uint8), `lengths` and `counts` (int64).
        token_lengths: The bytes of every token by id; int32.
        files: How often merges happened in which files; empty if that is not known.

    Raises:
        OutputFileError: If anything fails; what was there before is untouched.
    """
    check_target(folder)
    target = Path(os.path.realpath(folder))
    temporary: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target)
        temporary = tempfile.mkdtemp(dir=target.parent, prefix=_hidden(target))
        os.chmod(temporary, 0o777 & ~umask())
        new = Path(temporary)
        text = json.dumps(
            {"format": "tokviz run", "version": FORMAT_VERSION, **about},
            ensure_ascii=False,
            indent=1,
        )

        def write_others() -> None:
            # A name of a file may hold bytes that are no UTF-8: the escape is JSON's own.
            (new / ABOUT).write_bytes(text.encode("utf-8", "backslashreplace"))
            write_npz(new / HISTORY, history)
            write_npz(new / PIECES, pieces)
            write_npz(new / FILES, files)
            write_npy(new / TOKEN_LENGTHS, token_lengths)
            for name in RUN_FILES:
                if name != TOKENIZER:
                    _sync(new / name)

        with _marked(new), _beside(write_others):
            (new / TOKENIZER).write_bytes(to_tokenizer_json(tokenizer))
            _sync(new / TOKENIZER)
        _swap(new, target)
        temporary = None
    except (OSError, ValueError) as error:
        raise output_error(folder, error) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _hidden(target: Path) -> str:
    """Begin the name of a folder beside a run."""
    return f".{target.name[:50]}."


@contextlib.contextmanager
def _marked(folder: Path) -> Iterator[None]:
    """Have a file in a folder that is locked as long as this process writes there."""
    if sys.platform == "win32":  # where a folder of open files cannot be renamed
        yield
        return
    new, mark = folder / f"{MARK}.new", folder / MARK
    with open(new, "wb") as file:
        if hold(file):  # some file systems have no locks
            os.rename(new, mark)
        yield
        for name in (new, mark):
            name.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    """Remove what processes have left that were killed while they saved a run."""
    finish_swaps(target.parent)
    for mark in target.parent.glob(f"{glob.escape(_hidden(target))}*/{MARK}"):
        with contextlib.suppress(OSError), open(mark, "rb", opener=at_once) as file:
            if hold(file):
                shutil.rmtree(mark.parent, ignore_errors=True)


def _swap(new: Path, target: Path) -> None:
    """Put a new folder in the place of an old one, which comes back if that fails.

    Whoever is killed meanwhile leaves one of the two there, or what `finish_swaps` brings back.
    """
    if not target.exists():
        os.rename(new, target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{_hidden(target)}{SWAPPED}."))
    staged, old = (aside / place / target.name for place in ("new", "old"))
    try:
        with open(aside / MARK, "wb") as mark:
            hold(mark)
            for path in (staged, old):
                path.parent.mkdir()
            os.rename(new, staged)
            if not exchange(staged, target):
                os.rename(target, old)
                os.rename(staged, target)
    finally:
        finish_swap(aside)


@contextlib.contextmanager
def _beside(work: Callable[[], None]) -> Iterator[None]:
    """Have work done in a thread meanwhile; what went wrong there is raised here, at the end."""
    errors = list[Exception]()

    def do() -> None:
        try:
            work()
        except Exception as error:
            errors.append(error)

    thread = Thread(target=do)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if errors:
        raise errors[0]


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
