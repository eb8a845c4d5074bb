"""Atomic writing of a run folder (see `tokviz.formats.run`)."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.run import (
    ABOUT,
    FILES,
    FORMAT_VERSION,
    HISTORY,
    MARK,
    PRE_TOKENS,
    RUN_FILES,
    STAGED,
    TOKEN_LENGTHS,
    TOKENIZER,
    check_target,
    finish_replacing,
    hidden,
    is_own_folder,
)
from tokviz.formats.run_arrays import write_npy, write_npz
from tokviz.storage.files import StrPath, copy_access, output_error, umask
from tokviz.storage.locks import at_once, hold

if TYPE_CHECKING:
    from tokviz.formats.run_arrays import Items
    from tokviz.tokenizer.tokenizer import Tokenizer


def write_run(
    folder: StrPath,
    tokenizer: Tokenizer,
    *,
    about: Mapping[str, Any],
    history: Mapping[str, Items],
    pre_tokens: Mapping[str, Items],
    token_lengths: Items,
    files: Mapping[str, Items],
) -> None:
    """Write a run folder: a temporary folder is filled, synced and renamed.

    The files of an existing run are replaced and keep their owner, group and permissions; the
    folder itself and other files in it stay. The complete new files are staged in the folder, so
    that an interrupted replacement can be finished (`finish_replacing`).

    Args:
        folder: The folder; its parents are created.
        tokenizer: The trained tokenizer.
        about: The content of `run.json` besides the version of the format.
        history: The columns of the history by name.
        pre_tokens: `data` (uint8), `lengths` and `counts` (int64).
        token_lengths: The bytes of every token by id; int32.
        files: The counts of merges by file; empty if unknown.

    Raises:
        OutputFileError: If anything fails. The old run is then untouched or, if the new files
            were already complete, replaced by the next read.
    """
    check_target(folder)
    target = Path(os.path.realpath(folder))
    temporary: str | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target)
        # Staged inside the folder if it exists, which may be on another file system.
        beside = target if target.is_dir() else target.parent
        temporary = tempfile.mkdtemp(dir=beside, prefix=hidden(target))
        new = Path(temporary)
        text = json.dumps(
            {"format": "tokviz run", "version": FORMAT_VERSION, **about},
            ensure_ascii=False,
            indent=1,
        )

        with _marked(new):
            (new / TOKENIZER).write_bytes(to_tokenizer_json(tokenizer))
            # A file name may have bytes that are not UTF-8, which ASCII escapes of JSON preserve.
            (new / ABOUT).write_bytes(text.encode("utf-8", "backslashreplace"))
            write_npz(new / HISTORY, history)
            write_npz(new / PRE_TOKENS, pre_tokens)
            write_npz(new / FILES, files)
            write_npy(new / TOKEN_LENGTHS, token_lengths)
            for name in RUN_FILES:
                with open(new / name, "rb") as file:
                    os.fsync(file.fileno())
        if not target.exists():
            os.chmod(new, 0o777 & ~umask())
            os.rename(new, target)
        else:
            check_target(target)
            for name in RUN_FILES:
                if (target / name).is_file():
                    copy_access(target / name, new / name)
            finish_replacing(target)
            os.rename(new, target / STAGED)
            finish_replacing(target)
        temporary = None
    except (OSError, ValueError) as error:
        raise output_error(folder, error) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _marked(folder: Path) -> Iterator[None]:
    """Keep a locked file in a folder while this process writes there."""
    if sys.platform == "win32":  # Windows cannot rename a folder of open files
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
    """Remove the temporary folders of killed processes that were writing this run."""
    for folder in (target.parent, target):
        for mark in folder.glob(f"{glob.escape(hidden(target))}*/{MARK}"):
            if is_own_folder(mark.parent):
                with contextlib.suppress(OSError), open(mark, "rb", opener=at_once) as file:
                    if hold(file):
                        shutil.rmtree(mark.parent, ignore_errors=True)
