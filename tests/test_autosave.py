"""Unsaved text outlives a crash, and nothing else does."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from tokviz import autosave
from tokviz.autosave import Autosave
from tokviz.files import file_state, write_file

TEXT = "naïve\r\n\udcff\0\u2028你好"

CRASHING = """
import os, sys
from pathlib import Path
from tokviz.bytetext import from_bytes
from tokviz.autosave import Autosave
source = Path(sys.argv[3]) if len(sys.argv) > 3 else None
assert Autosave(Path(sys.argv[1])).write(from_bytes(bytes.fromhex(sys.argv[2])), source) is None
os._exit(9)
"""


def crash_with(folder: Path, text: str, *source: str) -> None:
    """Let a process that keeps this text die."""
    data = text.encode("utf-8", "surrogateescape").hex()
    done = subprocess.run([sys.executable, "-c", CRASHING, str(folder), data, *source], check=False)
    assert done.returncode == 9


def age(file: Path, **changes: object) -> None:
    """Rewrite parts of a file's header."""
    line, _, data = file.read_bytes().partition(b"\n")
    file.write_bytes(json.dumps({**json.loads(line), **changes}).encode() + b"\n" + data)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_file_that_was_written_since_the_text_was_kept_has_changed(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.txt", tmp_path / "kept"
    source.write_text("one")
    crash_with(folder, TEXT, str(source))
    recovered = Autosave(folder).pending()
    assert recovered is not None
    assert recovered.state == file_state(source) is not None
    later = recovered.when.timestamp() + 2
    os.utime(source, (later, later))
    assert recovered.state is None


def test_text_of_a_crashed_process_comes_back_exactly(tmp_path: Path) -> None:
    before = datetime.now().astimezone()
    crash_with(tmp_path, TEXT, "notes.md")
    recovered = Autosave(tmp_path).pending()
    assert recovered is not None
    assert recovered.text == TEXT
    assert recovered.source == Path.cwd() / "notes.md"
    assert before <= recovered.when <= datetime.now().astimezone()


def test_text_without_a_file_comes_back(tmp_path: Path) -> None:
    crash_with(tmp_path, "")
    recovered = Autosave(tmp_path).pending()
    assert recovered is not None
    assert (recovered.text, recovered.source) == ("", None)


def test_a_running_process_keeps_its_text_to_itself(tmp_path: Path) -> None:
    mine, other = Autosave(tmp_path), Autosave(tmp_path)
    assert mine.write("mine") is None
    assert other.write("other") is None
    assert mine.pending() is None
    assert len(files(tmp_path)) == 2


def test_a_new_process_with_the_old_id_is_another_one(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("needs /proc")
    crash_with(tmp_path, "old")
    (file,) = files(tmp_path)
    age(file, pid=os.getpid())
    recovered = Autosave(tmp_path).pending()
    assert recovered is not None
    assert recovered.text == "old"


def test_processes_of_another_machine_may_be_running(tmp_path: Path) -> None:
    crash_with(tmp_path, "far")
    (file,) = files(tmp_path)
    age(file, host="another machine")
    assert Autosave(tmp_path).pending() is None
    age(file, when="2020-01-01T00:00:00+00:00")
    assert Autosave(tmp_path).pending() is not None


def test_the_newest_text_comes_first_and_the_others_after_it(tmp_path: Path) -> None:
    for text in ("one", "two"):
        crash_with(tmp_path, text)
    keeper = Autosave(tmp_path)
    newest = keeper.pending()
    assert newest is not None
    assert newest.text == "two"
    keeper.discard(newest)
    older = keeper.pending()
    assert older is not None
    assert older.text == "one"
    keeper.discard(older)
    assert keeper.pending() is None
    assert files(tmp_path) == []


def test_clear_leaves_nothing(tmp_path: Path) -> None:
    keeper = Autosave(tmp_path)
    keeper.write("text")
    keeper.write("text, longer")
    assert len(files(tmp_path)) == 1
    keeper.clear()
    assert files(tmp_path) == []
    keeper.clear()


def test_text_cleared_while_it_is_written_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Autosave(tmp_path)

    def write_and_clear(path: Path, data: bytes, *, private: bool) -> None:
        write_file(path, data, private=private)
        keeper.clear()

    monkeypatch.setattr(autosave, "write_file", write_and_clear)
    assert keeper.write("text") is None
    assert files(tmp_path) == []


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("has no modes")
    folder = tmp_path / "new"
    Autosave(folder).write("secret")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in files(folder)] == [0o600]


def test_long_text_is_not_kept_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autosave, "MAX_BYTES", 3)
    keeper = Autosave(tmp_path)
    assert keeper.write("你") is None
    assert keeper.write("你a") == "Unsaved changes are not backed up: 4 bytes are more than 3."
    assert len(files(tmp_path)) == 1


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    note = Autosave(tmp_path / "file").write("text")
    assert note is not None
    assert note.startswith("Unsaved changes are not backed up. ")
    assert Autosave(tmp_path / "file").pending() is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data.partition(b"\n")[0],
        lambda data: b"[]\n",
        lambda data: b"{}\n",
        lambda data: b"\x80\x04.\n",
        lambda data: data.replace(b'"version": 1', b'"version": 2'),
        lambda data: data.replace(b'"source": null', b'"source": 7'),
    ],
)
def test_damaged_files_are_left_alone(tmp_path: Path, damage) -> None:
    crash_with(tmp_path, "text")
    (file,) = files(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    assert Autosave(tmp_path).pending() is None
    assert file.exists()
