"""Run folders: a trained tokenizer with all data to replay its training.

| file | content |
|---|---|
| `tokenizer.json` | the tokenizer; loads in Hugging Face `tokenizers` |
| `run.json` | corpus, settings, versions, timings |
| `history.npz` | the arrays of `tokviz.training.history.TrainingHistory` |
| `pieces.npz` | the distinct pre-tokens (`data`, `lengths`) and their `counts` |
| `files.npz` | how often merges happened in the largest files: see `tokviz.training.attribution` |
| `token_lengths.npy` | the bytes of every token by id, 0 for special tokens, for bits per byte |

No file is a pickle or is read as one. `tokviz.formats.run_writer` writes the folder,
`tokviz.formats.run_arrays` reads the arrays.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokviz.errors import InputFileError, OutputFileError
from tokviz.storage.files import StrPath, writing
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

TOKENIZER, ABOUT, HISTORY, PRE_TOKENS, FILES, TOKEN_LENGTHS = RUN_FILES = (
    "tokenizer.json",
    "run.json",
    "history.npz",
    "pieces.npz",
    "files.npz",
    "token_lengths.npy",
)
FORMAT_VERSION = 1
MARK = "saving"
"""A file in the folder of a run that is being written, locked by the writing process."""
STAGED = ".staged"
"""A folder in a run that holds the complete files that replace it."""

_SOURCE = "training run "
"""The prefix of `Tokenizer.source` for the tokenizer of a run."""

_MAX_ABOUT_BYTES, _MAX_ABOUT_VALUES = 32 << 20, 1_000_000
"""The largest `run.json`; it lists all files of the corpus and is read without a child process."""


def is_run(folder: StrPath) -> bool:
    """Return whether a folder holds a training run."""
    return all(os.path.isfile(Path(folder) / name) for name in (TOKENIZER, ABOUT))


def is_own_folder(path: StrPath) -> bool:
    """Return whether a path is a folder of the current user, and not a link to one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.geteuid())


def finish_replacing(folder: StrPath) -> None:
    """Move the staged files of a run into its folder.

    The staged files are complete, so any process may do this, at any time and repeatedly. Only
    the files of a run are moved, from the run's own subfolder: nothing else is touched.
    """
    staged = Path(folder) / STAGED
    if is_own_folder(staged):
        for name in RUN_FILES:
            with suppress(FileNotFoundError):
                os.replace(staged / name, Path(folder) / name)
        with suppress(OSError):
            os.rmdir(staged)


def hidden(target: Path) -> str:
    """Return the prefix of the temporary folders in which a run is written."""
    return f".{target.name[:50]}."


def counting_folder(folder: Path) -> Path:
    """Return the folder in which workers store their counts for a run."""
    return folder.with_name(f"{folder.name}.counting")


def check_target(folder: StrPath) -> None:
    """Check before a training that a run can be written to a folder.

    Raises:
        OutputFileError: If the path or one of its parents is a file, or the folder is neither empty
            nor a run.
    """
    target = Path(os.path.realpath(folder))
    with writing(folder):
        if target.is_dir():
            finish_replacing(target)
            others = (name for name in os.listdir(target) if not name.startswith(hidden(target)))
            if not is_run(target) and any(others):
                reason = "is a folder with other content: choose another one, or a new name"
                raise OutputFileError(folder, reason)
        elif os.path.lexists(target):
            raise OutputFileError(folder, "is a file, not a folder")
    above = next(filter(os.path.exists, target.parents), target)
    if not os.path.isdir(above):
        raise OutputFileError(above, "is a file, not a folder")


def read_run_tokenizer(folder: StrPath) -> Tokenizer:
    """Read the tokenizer of a run folder.

    Raises:
        InputFileError: If the folder is not a run, or damaged; it names the file.
    """
    # Not at the top, because training writes runs and does not read them.
    from tokviz.formats.hf_native import NeedsLibrary, read_tokenizer_json

    about = read_about(folder)
    path = Path(folder)
    # Some patterns have the same regex under several names.
    settings = about.get("settings")
    pattern_name = settings.get("split_pattern") if isinstance(settings, dict) else None
    pattern = get_split_pattern(pattern_name) if isinstance(pattern_name, str) else None
    tokenizer = read_tokenizer_json(
        path / TOKENIZER, name=path.resolve().name, known_pattern=pattern
    )
    if isinstance(tokenizer, NeedsLibrary):
        raise InputFileError(tokenizer.path, f"is not of this training: {tokenizer.reason}")
    tokenizer.source = f"{_SOURCE}{os.path.abspath(folder)}"
    return tokenizer


def run_of(tokenizer: Tokenizer) -> str:
    """Return the folder of the run that a tokenizer was loaded from, or ""."""
    source = tokenizer.source
    return source.removeprefix(_SOURCE) if source.startswith(_SOURCE) else ""


def read_about(folder: StrPath) -> dict[str, Any]:
    """Read a run's `run.json`, after completing a replacement that was interrupted.

    Raises:
        InputFileError: If the folder is not a run, of a later version, or damaged.
    """
    from tokviz.storage.json_file import read_json  # see read_run_tokenizer

    with suppress(OSError):
        finish_replacing(folder)
    path = Path(folder) / ABOUT
    if os.path.isdir(folder) and not os.path.isfile(path):
        raise InputFileError(folder, f"is not a training run: it holds no {ABOUT}")
    about = read_json(path, limit=_MAX_ABOUT_BYTES, values=_MAX_ABOUT_VALUES)
    if not isinstance(about, dict) or about.get("format") != "tokviz run":
        raise InputFileError(path, "does not describe a training run")
    version = about.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        reason = f"is of version {version}, this is {FORMAT_VERSION}: update tokviz"
        raise InputFileError(path, reason)
    if version != FORMAT_VERSION:
        raise InputFileError(path, f"is damaged: its version is {version!r}")
    for key in ("corpus", "settings", "seconds"):
        if not isinstance(about.get(key), dict):
            raise InputFileError(path, f"is damaged: it holds no {key!r}")
    return about
