from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokviz.errors import InputFileError, OutputFileError
from tokviz.storage import files


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


def test_a_link_in_a_circle_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputFileError, match="symbolic links"):
        files.write_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no owners")
def test_owner_and_group_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    owner = (1234, 2345) if os.geteuid() == 0 else (os.getuid(), os.getgid())
    os.chown(path, *owner)
    path.chmod(0o660)
    files.write_file(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (*owner, 0o660)
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="has no extended attributes")
def test_attributes_stay_and_the_time_is_new(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.tokviz", b"mine")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    os.utime(path, (1, 1))
    files.write_file(path, b"new")
    assert os.getxattr(path, "user.tokviz") == b"mine"
    assert path.stat().st_mtime > 1


def test_hard_links_share_the_new_content(tmp_path: Path) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_bytes(b"old and longer")
    os.link(path, other)
    for content in (b"new", b"new and much longer than before"):
        files.write_file(path, content)
        assert path.samefile(other)
        assert other.read_bytes() == content
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


def test_a_file_whose_owner_cannot_be_kept_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    number = path.stat().st_ino
    monkeypatch.setattr(os, "chown", refuse)
    files.write_file(path, b"new")
    assert (path.stat().st_ino, path.read_bytes()) == (number, b"new")
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_hard_links_get_the_old_content_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    path, other = tmp_path / "a.txt", tmp_path / "b.txt"
    path.write_bytes(b"precious")
    os.link(path, other)
    fsync, n_calls = os.fsync, 0

    def fail_in_place(descriptor: int) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 2:  # the first is for the temporary file
            raise failure
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_in_place)
    with pytest.raises((OutputFileError, KeyboardInterrupt)):
        files.write_file(path, b"new and longer")
    assert other.read_bytes() == b"precious"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


def test_a_read_only_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"precious")
    path.chmod(0o444)
    with pytest.raises(OutputFileError, match="is read-only"):
        files.write_file(path, b"new")
    assert path.read_bytes() == b"precious"
    files.write_file(path, b"new", replace_read_only=True)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_content_that_fails_in_the_middle_changes_nothing(
    tmp_path: Path, failure: type[BaseException]
) -> None:
    def content() -> Iterator[bytes]:
        yield b"half"
        raise failure

    (tmp_path / "old").write_bytes(b"precious")
    for name in ("old", "new"):
        with pytest.raises((OutputFileError, KeyboardInterrupt)):
            files.write_file(tmp_path / name, content())
    assert (tmp_path / "old").read_bytes() == b"precious"
    assert os.listdir(tmp_path) == ["old"]


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


def test_writing_into_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match="its folder does not exist"):
        files.write_file(tmp_path / "no" / "a", b"")


def test_private_files_are_private(tmp_path: Path) -> None:
    files.write_file(tmp_path / "a", b"", private=True)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_binary_is_distinguished_from_text() -> None:
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
