"""Reading the arrays of a run folder (see `tokviz.formats.run`), which anybody may have written."""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.errors import InputFileError
from tokviz.files import StrPath, input_error, refuse_pipe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def read_arrays(
    folder: StrPath, name: str, keys: Iterable[str] | None = None
) -> dict[str, npt.NDArray[np.generic]]:
    """Read arrays of `history.npz` or `pieces.npz`.

    What is read is no larger than its file, whatever it claims to be.

    Args:
        folder: The run folder.
        name: The file.
        keys: The names of the arrays; None for all.

    Raises:
        InputFileError: If the file is missing, a pipe or damaged, or lacks an array.
    """
    path = Path(folder) / name
    refuse_pipe(path)
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


_DAMAGES = (
    EOFError,
    MemoryError,
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
        raise ValueError(f"{member} is not a list of integers")
    return np.frombuffer(data, dtype, offset=stream.tell())
