"""Arrays of integers in `.npy` and `.npz` files: reads those of untrusted run folders, writes new.

Writing does not need NumPy, which is slow to import. Source of the format:
https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tokviz.errors import InputFileError
from tokviz.storage.files import StrPath, input_error, refuse_pipe

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Items = memoryview | npt.NDArray[Any]
    """A one-dimensional array of integers."""

_ALIGNMENT = 64
_DATE = (1980, 1, 1, 0, 0, 0)  # the same as NumPy's, so that equal arrays make equal files


def read_arrays(
    folder: StrPath, name: str, keys: Iterable[str] | None = None
) -> dict[str, npt.NDArray[np.generic]]:
    """Read arrays of `history.npz` or `pieces.npz`.

    An array is never larger than its file, whatever its header claims.

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
    except Exception as error:  # zipfile and NumPy raise many kinds
        raise InputFileError(path, f"is damaged: {error}") from None


def _read_array(file: zipfile.ZipFile, member: str) -> npt.NDArray[np.generic]:
    """Read one uncompressed list of integers."""
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


def to_npy(items: Items) -> tuple[bytes, memoryview]:
    """Return the header of a `.npy` file, and the data after it.

    Raises:
        TypeError: If the array is not one-dimensional, of integers of up to 64 bits.
    """
    view = items if isinstance(items, memoryview) else memoryview(cast(Any, items))
    if view.ndim != 1 or not view.c_contiguous or view.format not in set("bBhHiIlLqQ"):
        raise TypeError(f"no integers in a row: {view.format!r}")
    order = "|" if view.itemsize == 1 else "<" if sys.byteorder == "little" else ">"
    kind = "i" if view.format.islower() else "u"
    text = (
        f"{{'descr': '{order}{kind}{view.itemsize}', 'fortran_order': False, "
        f"'shape': ({len(view)},), }}"
    )
    text += " " * (-(10 + len(text) + 1) % _ALIGNMENT) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode(), view.cast("B")


def write_npy(path: StrPath, items: Items) -> None:
    """Write a `.npy` file."""
    with open(path, "wb") as file:
        file.writelines(to_npy(items))


def write_npz(file: StrPath | IO[bytes], arrays: Mapping[str, Items]) -> None:
    """Write a `.npz` file, not compressed."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, items in arrays.items():
            with archive.open(
                zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True
            ) as member:
                for part in to_npy(items):
                    member.write(part)
