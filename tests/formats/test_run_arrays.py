"""Arrays written without NumPy are the same as NumPy's."""

from __future__ import annotations

import io
from array import array
from typing import Any

import numpy as np
import pytest

from tokviz.formats.run_arrays import write_npy, write_npz

ARRAYS: list[Any] = [
    np.arange(-3, 9, dtype=np.int32),
    np.arange(5, dtype=np.int64),
    np.array([0, 255], np.uint8),
    np.array([], np.int64),
    np.arange(1_000_000, dtype=np.int64),
]


@pytest.mark.parametrize("items", ARRAYS, ids=lambda items: f"{items.dtype}-{len(items)}")
def test_a_file_is_the_same_as_by_numpy(items, tmp_path):
    write_npy(tmp_path / "a.npy", memoryview(items))
    expected = io.BytesIO()
    np.save(expected, items)
    assert (tmp_path / "a.npy").read_bytes() == expected.getvalue()


def test_an_archive_is_read_by_numpy(tmp_path):
    write_npz(tmp_path / "a.npz", {str(i): items for i, items in enumerate(ARRAYS)})
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert found.files == [str(i) for i in range(len(ARRAYS))]
        for i, items in enumerate(ARRAYS):
            assert found[str(i)].dtype == items.dtype
            assert found[str(i)].tolist() == items.tolist()


def test_the_same_arrays_make_the_same_archive(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_npz(tmp_path / name, {"x": memoryview(array("q", [1, 2]))})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("items", [np.zeros((2, 2), np.int32), np.zeros(2), np.zeros(8)[::2]])
def test_other_arrays_are_refused(items, tmp_path):
    with pytest.raises(TypeError, match="integers"):
        write_npy(tmp_path / "a.npy", items)
