"""A run folder: a trained tokenizer with everything that is needed to replay its training.

| file | content |
|---|---|
| `tokenizer.json` | the tokenizer; loads in Hugging Face `tokenizers` |
| `run.json` | corpus, settings, versions, timings |
| `history.npz` | the arrays of `tokviz.bpe.history.TrainingHistory` |
| `pieces.npz` | the distinct pieces (`data`, `lengths`) and their `counts` |
| `files.npz` | how often merges happened in the largest files: see `tokviz.bpe.blame` |
| `token_lengths.npy` | the bytes of every token by id, 0 for special tokens, for bits per byte |

No file is a pickle, and none is read as one. `tokviz.formats.run_writer` writes it,
`tokviz.formats.run_arrays` reads the arrays.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokviz.errors import InputFileError, OutputFileError
from tokviz.files import StrPath, writing
from tokviz.locks import at_once, hold
from tokviz.pretokenize.patterns import get_split_pattern

if TYPE_CHECKING:
    from tokviz.tokenizer import Tokenizer

TOKENIZER, ABOUT, HISTORY, PIECES, FILES, TOKEN_LENGTHS = RUN_FILES = (
    "tokenizer.json",
    "run.json",
    "history.npz",
    "pieces.npz",
    "files.npz",
    "token_lengths.npy",
)
FORMAT_VERSION = 1
MARK = "saving"
"""A file in the folder of a run that is being written, locked by who does."""
SWAPPED = "old"
"""What stands in the name of a folder in which a run waits that takes another one's place."""

_SOURCE = "training run "
"""What the source of a run's tokenizer begins with, in words."""

_MAX_ABOUT_BYTES, _MAX_ABOUT_VALUES = 32 << 20, 1_000_000
"""The names of all files of a corpus stand in `run.json`, which is read without a child."""


def is_run(folder: StrPath) -> bool:
    """Tell whether a folder holds a training run."""
    return all(os.path.isfile(Path(folder) / name) for name in (TOKENIZER, ABOUT))


def finish_swaps(parent: Path) -> None:
    """Finish what was interrupted where a run took another one's place; it is one of the two."""
    for mark in parent.glob(f".*.{SWAPPED}.*/{MARK}"):
        with suppress(OSError), open(mark, "rb", opener=at_once) as file:
            if hold(file):
                finish_swap(mark.parent)


def finish_swap(aside: Path) -> None:
    """Bring a run back that has no successor, else leave it only what belongs to no run."""
    import shutil

    for run in aside.glob("*/*"):
        target = aside.parent / run.name
        if run.parent.name == "old" and not target.exists():
            os.rename(run, target)
            continue
        for entry in run.iterdir():
            if entry.name not in RUN_FILES:
                os.rename(entry, target / entry.name)
        # Before the mark goes, by which the rest would be found.
        shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


def counting_folder(folder: Path) -> Path:
    """Name the folder where workers keep what they have counted for a run."""
    return folder.with_name(f"{folder.name}.counting")


def check_target(folder: StrPath) -> None:
    """Make sure that a run may be written to a folder, before work is spent on it.

    Raises:
        OutputFileError: If there is a file, also in place of one of the folders above it, or a
            folder that is neither empty nor a run.
    """
    target = Path(folder)
    with writing(folder):
        if target.is_dir():
            if any(target.iterdir()) and not is_run(target):
                reason = "is a folder with other content: choose another one, or a new name"
                raise OutputFileError(folder, reason)
        elif os.path.lexists(target) and not target.is_symlink():
            raise OutputFileError(folder, "is a file, not a folder")
    above = next(filter(os.path.exists, target.parents), target)
    if not os.path.isdir(above):
        raise OutputFileError(above, "is a file, not a folder")


def load_run_tokenizer(folder: StrPath) -> Tokenizer:
    """Load the tokenizer of a run folder.

    Raises:
        InputFileError: If the folder is no run, or damaged; it names the file.
    """
    from tokviz.formats.huggingface import load_tokenizer_json

    about = read_about(folder)
    path = Path(folder)
    # Some patterns have the same regex under several names.
    settings = about.get("settings")
    asked = settings.get("split_pattern") if isinstance(settings, dict) else None
    pattern = get_split_pattern(asked) if isinstance(asked, str) else None
    tokenizer = load_tokenizer_json(
        path / TOKENIZER, name=path.resolve().name, known_pattern=pattern
    )
    tokenizer.source = f"{_SOURCE}{os.path.abspath(folder)}"
    return tokenizer


def run_of(tokenizer: Tokenizer) -> str:
    """Give the folder of the run that a tokenizer was loaded from; empty if it was not."""
    source = tokenizer.source
    return source.removeprefix(_SOURCE) if source.startswith(_SOURCE) else ""


def read_about(folder: StrPath) -> dict[str, Any]:
    """Read a run's `run.json`.

    Raises:
        InputFileError: If the folder is no run, of a later version, or damaged.
    """
    from tokviz.json_file import read_json

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
