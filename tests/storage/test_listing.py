from __future__ import annotations

import os
from pathlib import Path

import pytest

from tokviz.errors import InputFileError
from tokviz.storage.listing import (
    FolderEntry,
    check_readable,
    cleaned_path,
    completion,
    filter_entries,
    home_label,
    read_folder,
    size_label,
    split_typed,
    time_label,
    typed_path,
)


def names(entries: list[FolderEntry]) -> list[str]:
    return [entry.name for entry in entries]


def test_folders_come_first_and_each_kind_by_name(tmp_path: Path) -> None:
    for name in ("b.txt", "A.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    for name in ("zoo", "Ants"):
        (tmp_path / name).mkdir()
    assert names(read_folder(tmp_path)) == ["Ants", "zoo", "A.txt", "b.txt", "c.txt"]


def test_sizes_are_known_for_files_only(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "d").mkdir()
    assert [(entry.name, entry.size) for entry in read_folder(tmp_path)] == [("d", None), ("a", 5)]


def test_broken_link_and_undecodable_name_are_listed(tmp_path: Path) -> None:
    os.symlink(tmp_path / "nowhere", tmp_path / "link")
    with open(os.fsencode(tmp_path) + b"/caf\xe9", "wb"):
        pass
    assert names(read_folder(tmp_path)) == ["caf\udce9", "link"]


def test_reading_a_folder_can_be_stopped(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"{number}").touch()
    answers = iter([False, True])
    assert len(read_folder(tmp_path, lambda: next(answers))) == 256


@pytest.mark.parametrize(
    ("name", "reason"), [("missing", "no such folder"), ("file", "not a folder")]
)
def test_a_path_that_is_not_a_folder_is_an_error(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputFileError, match=reason):
        read_folder(tmp_path / name)


def test_names_that_start_with_the_text_come_first() -> None:
    entries = [FolderEntry(name, False) for name in ("a_note", "Notes", "other")]
    assert names(filter_entries(entries, "note", hidden=False)) == ["Notes", "a_note"]


def test_hidden_entries_are_shown_on_request() -> None:
    entries = [FolderEntry(name, False) for name in (".git", "git")]
    assert names(filter_entries(entries, "", hidden=False)) == ["git"]
    assert names(filter_entries(entries, "", hidden=True)) == [".git", "git"]
    assert names(filter_entries(entries, ".g", hidden=False)) == [".git"]


@pytest.mark.parametrize(
    ("typed", "folder", "name"),
    [
        ("", "/home/ann", ""),
        ("no", "/home/ann", "no"),
        ("texts/no", "/home/ann/texts", "no"),
        ("texts/", "/home/ann/texts", ""),
        ("/etc/ho", "/etc", "ho"),
        ("/", "/", ""),
        ("..", "/home", ""),
        ("../b", "/home", "b"),
        ("~/x", "/root-of-ann", "x"),
        ("~", "/root-of-ann", ""),
    ],
)
def test_typed_text_is_a_folder_and_the_beginning_of_a_name(
    monkeypatch: pytest.MonkeyPatch, typed: str, folder: str, name: str
) -> None:
    monkeypatch.setenv("HOME", "/root-of-ann")
    assert split_typed(typed, Path("/home/ann")) == (Path(folder), name)


@pytest.mark.parametrize(
    ("pasted", "path"),
    [
        ("'/a b/c.txt'", "/a b/c.txt"),
        ('"/a b/c.txt"', "/a b/c.txt"),
        ("file:///a%20b/c.txt", "/a b/c.txt"),
        (r"/a\ b/c.txt", "/a b/c.txt"),
        ("/a/c.txt\n", "/a/c.txt"),
        ("it's", "it's"),
        ("'", "'"),
    ],
)
def test_path_from_another_program_is_understood(pasted: str, path: str) -> None:
    assert cleaned_path(pasted) == path


def test_typed_path_may_be_relative_absolute_or_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    base = Path("/x/y")
    assert typed_path("a/../b", base) == Path("/x/y/b")
    assert typed_path("/q", base) == Path("/q")
    assert typed_path("~/q", base) == Path("/h/q")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("no", "notes"),
        ("notes.", "notes.md"),
        ("cor", "corpora/"),
        ("COR", "corpora/"),
        ("zzz", "zzz"),
        ("/data/no", "/data/notes"),
        ("..", "../"),
        ("~", "~/"),
    ],
)
def test_completion_goes_as_far_as_it_is_certain(typed: str, completed: str) -> None:
    entries = [
        FolderEntry("corpora", True),
        FolderEntry("notes.md", False),
        FolderEntry("notes2.md", False),
    ]
    assert completion(typed, entries, Path("/home/ann")) == completed


def test_text_files_are_distinguished_from_binary(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("words")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "empty").touch()
    assert check_readable(tmp_path / "text")
    assert check_readable(tmp_path / "empty")
    assert not check_readable(tmp_path / "binary")


def test_pipe_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputFileError, match="device or pipe"):
        check_readable(tmp_path / "pipe")


def test_file_over_the_limit_is_refused_without_reading_it(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(300_000_000)
    with pytest.raises(InputFileError, match="300,000,000 bytes are too many"):
        check_readable(tmp_path / "huge")


def test_name_too_long_for_the_system_is_an_error_not_a_crash(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="too long"):
        check_readable(tmp_path / ("x" * 5000))


@pytest.mark.parametrize(
    ("size", "label"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (9_950, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_sizes_are_short(size: int | None, label: str) -> None:
    assert size_label(size) == label


def test_absurd_time_is_empty() -> None:
    assert time_label(1e300) == ""
    assert time_label(None) == ""
    assert len(time_label(0)) == 16


def test_home_is_shortened_only_where_it_is_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert home_label(Path("/home/ann/x")) == "~/x"
    assert home_label(Path("/home/anna/x")) == "/home/anna/x"
