"""A run folder: a trained tokenizer with everything that is needed to replay its training.

| file | content |
|---|---|
| `tokenizer.json` | the tokenizer; loads in Hugging Face `tokenizers` |
| `run.json` | corpus, settings, versions, timings |
| `history.npz` | the arrays of `tokviz.bpe.history.TrainingHistory` |
| `pieces.npz` | the distinct pieces (`data`, `lengths`) and their `counts` |
| `token_lengths.npy` | the bytes of every token by id, 0 for special tokens, for bits per byte |

No file is a pickle, and none is read as one.
"""

from __future__ import annotations

import contextlib
import glob
import io
import json
import math
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokviz.errors import InputFileError, OutputFileError
from tokviz.files import input_error, read_file
from tokviz.formats.huggingface import load_tokenizer_json, to_tokenizer_json
from tokviz.formats.npy import write_npy, write_npz
from tokviz.pretokenize.patterns import get_split_pattern
from tokviz.tokenizer import Tokenizer

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokviz.formats.npy import Items

    Arrays = Mapping[str, npt.NDArray[np.generic]]

TOKENIZER, ABOUT, HISTORY, PIECES, TOKEN_LENGTHS = RUN_FILES = (
    "tokenizer.json",
    "run.json",
    "history.npz",
    "pieces.npz",
    "token_lengths.npy",
)
FORMAT_VERSION = 1

_MARK = "saving"
"""A file in the folder of a run that is being written."""


def is_run(folder: str | PathLike[str]) -> bool:
    """Tell whether a folder holds a training run."""
    return all((Path(folder) / name).is_file() for name in (TOKENIZER, ABOUT))


def check_target(folder: str | PathLike[str]) -> None:
    """Make sure that a run may be written to a folder, before work is spent on it.

    Raises:
        OutputFileError: If there is a file, or a folder that is neither empty nor a run.
    """
    target = Path(folder)
    try:
        if target.is_dir():
            if any(target.iterdir()) and not is_run(target):
                reason = "is a folder with other content: choose another one, or a new name"
                raise OutputFileError(folder, reason)
        elif os.path.lexists(target) and not target.is_symlink():
            raise OutputFileError(folder, "is a file, not a folder")
    except OSError as error:
        raise OutputFileError(folder, error.strerror or str(error)) from None


def write_run(
    folder: str | PathLike[str],
    tokenizer: Tokenizer,
    *,
    about: Mapping[str, Any],
    history: Mapping[str, Items],
    pieces: Mapping[str, Items],
    token_lengths: Items,
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
        os.chmod(temporary, 0o777 & ~_umask())
        new = Path(temporary)
        text = json.dumps(
            {"format": "tokviz run", "version": FORMAT_VERSION, **about},
            ensure_ascii=False,
            indent=1,
        )
        with _marked(new):
            (new / TOKENIZER).write_bytes(to_tokenizer_json(tokenizer))
            (new / ABOUT).write_bytes(text.encode("utf-8", "surrogateescape"))
            write_npz(new / HISTORY, history)
            write_npz(new / PIECES, pieces)
            write_npy(new / TOKEN_LENGTHS, token_lengths)
            for name in RUN_FILES:
                _sync(new / name)
        _swap(new, target)
        temporary = None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise OutputFileError(folder, reason or str(error)) from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _hidden(target: Path) -> str:
    """Begin the name of a folder beside a run."""
    return f".{target.name[:80]}."


@contextlib.contextmanager
def _marked(folder: Path) -> Iterator[None]:
    """Have a file in a folder that is locked as long as this process writes there."""
    if fcntl is None:
        yield
        return
    new, mark = folder / f"{_MARK}.new", folder / _MARK
    with open(new, "wb") as file:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(new, mark)
        yield
        for name in (new, mark):
            name.unlink(missing_ok=True)


def _remove_abandoned(target: Path) -> None:
    """Remove what processes have left that were killed while they saved a run."""
    if fcntl is None:
        return
    for mark in target.parent.glob(f"{glob.escape(_hidden(target))}*/{_MARK}"):
        with contextlib.suppress(OSError), open(mark, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(mark.parent, ignore_errors=True)


def _swap(new: Path, target: Path) -> None:
    """Put a new folder in the place of an old one, which comes back if that fails."""
    if not target.exists():
        os.rename(new, target)
        return
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{_hidden(target)}old."))
    old = aside / "run"
    try:
        os.rename(target, old)
        try:
            os.rename(new, target)
        except OSError:
            os.rename(old, target)
            raise
        for entry in old.iterdir():
            if entry.name not in RUN_FILES:
                os.rename(entry, target / entry.name)
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def load_run_tokenizer(folder: str | PathLike[str]) -> Tokenizer:
    """Load the tokenizer of a run folder.

    Raises:
        InputFileError: If the folder is no run, or damaged; it names the file.
    """
    about = read_about(folder)
    path = Path(folder)
    # Some patterns have the same regex under several names.
    settings = about.get("settings")
    asked = settings.get("split_pattern") if isinstance(settings, dict) else None
    pattern = get_split_pattern(asked) if isinstance(asked, str) else None
    tokenizer = load_tokenizer_json(
        path / TOKENIZER, name=path.resolve().name, known_pattern=pattern
    )
    tokenizer.source = f"training run {os.fspath(folder)}"
    return tokenizer


def read_about(folder: str | PathLike[str]) -> dict[str, Any]:
    """Read a run's `run.json`.

    Raises:
        InputFileError: If the folder is no run, of a later version, or damaged.
    """
    path = Path(folder) / ABOUT
    if Path(folder).is_dir() and not path.is_file():
        raise InputFileError(folder, f"is no training run: it holds no {ABOUT}")
    try:
        about = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise InputFileError(path, f"is damaged: {error}") from None
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


def read_arrays(
    folder: str | PathLike[str], name: str, keys: Iterable[str] | None = None
) -> dict[str, npt.NDArray[np.generic]]:
    """Read arrays of `history.npz` or `pieces.npz`.

    What is read is no larger than its file, whatever it claims to be.

    Args:
        folder: The run folder.
        name: The file.
        keys: The names of the arrays; None for all.

    Raises:
        InputFileError: If the file is missing or damaged, or lacks an array.
    """
    path = Path(folder) / name
    try:
        with zipfile.ZipFile(path) as file:
            members = file.namelist() if keys is None else [f"{key}.npy" for key in keys]
            return {member.removesuffix(".npy"): _read_array(file, member) for member in members}
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise input_error(path, error) from None
    except KeyError as error:
        raise InputFileError(path, f"is damaged: {error.args[0]}") from None
    except _DAMAGES as error:
        raise InputFileError(path, f"is damaged: {error}") from None


def stored_bytes(folder: str | PathLike[str], name: str, key: str) -> int:
    """Say how large an array of `history.npz` or `pieces.npz` is; 0 if it cannot be read."""
    try:
        with zipfile.ZipFile(Path(folder) / name) as file:
            return file.getinfo(f"{key}.npy").file_size
    except (KeyError, *_DAMAGES):
        return 0


_DAMAGES = (
    EOFError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    struct.error,
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged archive may raise."""


def _read_array(file: zipfile.ZipFile, member: str) -> npt.NDArray[np.generic]:
    """Read one list of integers that is stored as it is."""
    import numpy as np
    from numpy.lib import format as npy

    info = file.getinfo(member)
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member} is compressed")
    data = file.read(info)
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, is_fortran, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, is_fortran, dtype = npy.read_array_header_2_0(stream)
    else:
        raise ValueError(f"{member} is in an unknown form")
    n_bytes = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError(f"{member} holds Python objects, which are never read")
    if (
        len(shape) != 1
        or is_fortran
        or dtype.kind not in "iu"
        or n_bytes != len(data) - stream.tell()
    ):
        raise ValueError(f"{member} is no list of integers")
    return np.frombuffer(data, dtype, offset=stream.tell())
