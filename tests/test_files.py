from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tokviz import files
from tokviz.errors import InputFileError, OutputFileError


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"nowhere\.txt: there is no such file"):
        files.read_file(tmp_path / "nowhere.txt")
    with pytest.raises(InputFileError, match="is a folder"):
        files.read_file(tmp_path)


def test_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"12345")
    with pytest.raises(InputFileError, match="5 bytes are too many"):
        files.read_file(path, limit=4)
    assert files.read_file(path, limit=5) == b"12345"


def test_written_bytes_are_exact_and_the_mode_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    files.write_file(path, b"new\r\n\0\xff")
    assert path.read_bytes() == b"new\r\n\0\xff"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    files.write_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"precious")

    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OutputFileError, match="No space left"):
        files.write_file(path, b"new")
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_writing_into_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="its folder does not exist"):
        files.write_file(tmp_path / "no" / "a", b"")


def test_private_files_are_private(tmp_path: Path) -> None:
    files.write_file(tmp_path / "a", b"", private=True)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_binary_is_told_from_text() -> None:
    assert files.looks_binary(b"\x7fELF\0\0")
    assert files.looks_binary(bytes(range(128, 256)) * 4)
    assert not files.looks_binary("plain text, 世界, one broken \ufffd".encode() + b"\xff")


@pytest.mark.skipif(os.name == "nt", reason="where one works cannot be deleted")
def test_a_path_is_made_full_where_the_working_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (files.absolute(), files.absolute("a/../b")) == (str(here), str(here / "b"))
    assert files.absolute("~/b") == str(tmp_path / "b")
    here.rmdir()
    assert (files.absolute(), files.absolute("b")) == (str(tmp_path), str(tmp_path / "b"))
    monkeypatch.setenv("HOME", "nowhere")
    assert files.absolute("b").endswith("nowhere/b")


NAMES = {"4-byte characters": "\U0001f600" * 63, "3-byte": "\u6587" * 85, "ASCII": "a" * 255}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_the_longest_names_can_be_written(tmp_path, name):
    files.write_file(tmp_path / name, b"x")
    assert (tmp_path / name).read_bytes() == b"x"
