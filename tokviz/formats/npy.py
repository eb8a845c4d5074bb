"""Writing NumPy's `.npy` and `.npz` files without NumPy, which takes long to import.

Source of the format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from tokviz.files import StrPath

if TYPE_CHECKING:
    import numpy.typing as npt

    Items = memoryview | npt.NDArray[Any]
    """Integers of one kind in a row."""

_ALIGNMENT = 64
_DATE = (1980, 1, 1, 0, 0, 0)  # as NumPy: the same arrays make the same file


def to_npy(items: Items) -> tuple[bytes, memoryview]:
    """Give the header of a `.npy` file and what follows it.

    Raises:
        TypeError: If the items are no integers of up to 64 bits in a row.
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


def write_npz(path: StrPath, arrays: Mapping[str, Items]) -> None:
    """Write a `.npz` file, not compressed."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, items in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True) as file:
                for part in to_npy(items):
                    file.write(part)
