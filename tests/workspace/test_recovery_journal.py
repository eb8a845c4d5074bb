"""Recovery of unsaved text after a crash."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokviz.live.document import LiveDocument
from tokviz.storage.files import file_state
from tokviz.text.bytetext import from_bytes
from tokviz.workspace import recovery_journal
from tokviz.workspace.recovery_journal import RecoverableText, RecoveryJournal

TEXT = "naïve\r\n\udcff\0\u2028你好"

CRASHING = """
import os, signal, sys
from pathlib import Path
from tokviz.text.bytetext import from_bytes
from tokviz.workspace.recovery_journal import RecoveryJournal
folder, source, *texts = sys.argv[1:]
keeper = RecoveryJournal(Path(folder))
for text in texts:
    keeper.set_text(from_bytes(bytes.fromhex(text)), Path(source) if source else None)
    assert keeper.flush() is None
os.kill(os.getpid(), signal.SIGKILL)
"""


def crash_with(folder: Path, *texts: str, source: str = "") -> None:
    """Kill a process after it has journaled one text after another."""
    data = [text.encode("utf-8", "surrogateescape").hex() for text in texts]
    done = subprocess.run([sys.executable, "-c", CRASHING, str(folder), source, *data], check=False)
    assert done.returncode != 1


def keep(keeper: RecoveryJournal, text: str | None) -> str | None:
    """Journal a text, given in parts."""
    keeper.set_text(text)
    return keeper.flush()


def left_in(folder: Path) -> list[RecoverableText]:
    """Return the recoverable texts that another process finds."""
    found = RecoveryJournal(folder).recoverable_texts()
    for leftover in found:
        leftover.lock.release()
    return found


def journals(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tokviz"))


def test_a_file_that_was_written_since_the_text_was_kept_has_changed(tmp_path: Path) -> None:
    source, folder = tmp_path / "a.txt", tmp_path / "kept"
    source.write_text("one")
    crash_with(folder, TEXT, source=str(source))
    (left,) = left_in(folder)
    assert left.state == file_state(source) is not None
    later = left.when.timestamp() + 2
    os.utime(source, (later, later))
    assert left.state is None


def test_text_of_a_killed_process_comes_back_exactly(tmp_path: Path) -> None:
    before = datetime.now().astimezone()
    crash_with(tmp_path, "at first", TEXT[:4], TEXT, source="notes.md")
    (left,) = left_in(tmp_path)
    assert (left.text(), left.damage) == (TEXT, "")
    assert left.n_bytes == len(TEXT.encode("utf-8", "surrogateescape"))
    assert left.source == Path.cwd() / "notes.md"
    assert before <= left.when <= datetime.now().astimezone()


def test_a_deletion_is_journaled(tmp_path: Path) -> None:
    journal = RecoveryJournal(tmp_path)
    for parts in (["some ", "text"], ["some "]):
        journal.set_text(parts)
        assert journal.flush() is None
    journal.end()
    (left,) = left_in(tmp_path)
    assert left.text() == "some "


def test_text_without_a_file_comes_back(tmp_path: Path) -> None:
    crash_with(tmp_path, "")
    (left,) = left_in(tmp_path)
    assert (left.text(), left.source, left.n_bytes) == ("", None, 0)


def test_a_running_session_keeps_its_text_to_itself(tmp_path: Path) -> None:
    mine, other = RecoveryJournal(tmp_path), RecoveryJournal(tmp_path)
    assert keep(mine, "mine") is None
    assert keep(other, "other") is None
    assert mine.recoverable_texts() == other.recoverable_texts() == []
    assert len(journals(tmp_path)) == 2
    other.end()
    assert [left.text() for left in mine.recoverable_texts()] == ["other"]


def test_only_one_session_is_offered_a_text_until_it_lets_go(tmp_path: Path) -> None:
    crash_with(tmp_path, "old")
    one, two = RecoveryJournal(tmp_path), RecoveryJournal(tmp_path)
    (left,) = one.recoverable_texts()
    assert two.recoverable_texts() == []
    left.lock.release()
    assert [left.text() for left in two.recoverable_texts()] == ["old"]


def test_all_texts_are_listed_the_newest_first_and_each_can_be_discarded(tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        crash_with(tmp_path, text)
    found = RecoveryJournal(tmp_path).recoverable_texts()
    assert [left.text() for left in found] == ["three", "two", "one"]
    found[1].discard()
    assert [left.text() for left in found if left.file.exists()] == ["three", "one"]
    found[0].discard()
    found[2].discard()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_what_is_not_wanted(tmp_path: Path) -> None:
    keeper = RecoveryJournal(tmp_path)
    keep(keeper, "text")
    keep(keeper, "text, longer")
    assert len(journals(tmp_path)) == 1
    keep(keeper, None)
    assert journals(tmp_path) == []
    keep(keeper, "again")
    assert journals(tmp_path)
    keep(keeper, None)
    keeper.end()
    assert list(tmp_path.iterdir()) == []


def test_only_the_last_wish_counts(tmp_path: Path) -> None:
    keeper = RecoveryJournal(tmp_path)
    keeper.set_text(["one"])
    keeper.set_text(["two"])
    keeper.flush()
    assert keeper.flush() is None, "there is nothing left to do"
    keeper.end()
    assert [left.text() for left in left_in(tmp_path)] == ["two"]


def test_the_lock_of_a_process_that_left_nothing_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / "autosave-1-2.lock").touch()
    assert left_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_key_in_a_long_text_costs_a_few_bytes(tmp_path: Path) -> None:
    live, keeper = LiveDocument("some words and a line\n" * 100_000), RecoveryJournal(tmp_path)
    keep_live(keeper, live)
    (file,) = journals(tmp_path)
    for most in (20_000, 5_000):  # the first one makes a large chunk
        before = file.stat().st_size
        live.edit(1_000_000, 0, "x")
        keep_live(keeper, live)
        assert 0 < file.stat().st_size - before < most
    keeper.end()
    assert left_in(tmp_path)[0].text() == live.text


def keep_live(keeper: RecoveryJournal, live: LiveDocument) -> None:
    keeper.set_text(live.parts())
    assert keeper.flush() is None


def test_the_journal_does_not_grow_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery_journal, "MAX_RECORDS", 10)
    keeper = RecoveryJournal(tmp_path)
    for n in range(35):
        keep(keeper, "x" * n)
    assert journals(tmp_path)[0].read_bytes().count(b"\n") < 10
    monkeypatch.setattr(recovery_journal, "MAX_RECORDS", 1_000)
    monkeypatch.setattr(recovery_journal, "MAX_CHANGED_BYTES", 50)
    for n in range(200):
        keep(keeper, "ab"[n % 2] * 40)
    assert journals(tmp_path)[0].read_bytes().count(b"\n") < 4
    keeper.end()
    assert left_in(tmp_path)[0].text() == "b" * 40


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 9), st.binary(max_size=9)),
        max_size=9,
    )
)
def test_any_edits_come_back(edits: list[tuple[int, int, bytes]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        live = LiveDocument(TEXT, chunk_target=4)
        keeper = RecoveryJournal(folder)
        keep_live(keeper, live)
        for offset, n_removed, inserted in edits:
            start = min(offset, live.n_chars)
            live.edit(start, min(n_removed, live.n_chars - start), from_bytes(inserted))
            keep_live(keeper, live)
        keeper.end()
        expected = from_bytes(live.text.encode("utf-8", "surrogateescape"))
        assert [left.text() for left in left_in(folder)] == [expected]
    finally:
        shutil.rmtree(folder)


def test_a_journal_that_somebody_removed_is_written_anew(tmp_path: Path) -> None:
    keeper = RecoveryJournal(tmp_path)
    keep(keeper, "one")
    journals(tmp_path)[0].unlink()
    assert keep(keeper, "one two") is None
    keeper.end()
    assert [left.text() for left in left_in(tmp_path)] == ["one two"]


def test_a_full_disk_is_a_sentence_and_what_comes_next_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = RecoveryJournal(tmp_path)
    keep(keeper, "one")

    def fail(number: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        note = keep(keeper, "one two")
    assert note is not None
    assert "No space left" in note
    assert keep(keeper, "one two three") is None
    keeper.end()
    (left,) = left_in(tmp_path)
    assert (left.text(), left.damage) == ("one two three", "")


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("has no modes")
    folder = tmp_path / "new"
    keeper = RecoveryJournal(folder)
    keep(keeper, "secret")
    keep(keeper, "secrets")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in journals(folder)] == [0o600]


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    note = keep(RecoveryJournal(tmp_path / "file"), "text")
    assert note is not None
    assert note.startswith("Unsaved changes are not backed up: ")
    assert RecoveryJournal(tmp_path / "file").recoverable_texts() == []


def damaged(tmp_path: Path, damage: Callable[[bytes], bytes]) -> RecoverableText:
    """Journal "some text" and then "some more text", and damage the journal."""
    crash_with(tmp_path, "some text", "some more text")
    (file,) = journals(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    (left,) = left_in(tmp_path)
    assert file.exists()
    return left


@pytest.mark.parametrize("n_missing", [1, 4, 20, 100])
def test_a_record_that_is_not_whole_was_the_last_one(tmp_path: Path, n_missing: int) -> None:
    left = damaged(tmp_path, lambda data: data[:-n_missing])
    assert (left.text(), left.damage) == ("some text", "")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1] + b"\0",
        lambda data: data[:-40] + bytes(40) + b"\n",
        lambda data: data.replace(b'"removed": 0, "bytes": 5', b'"removed": 99, "bytes": 5'),
    ],
    ids=["byte", "zeros", "place"],
)
def test_what_is_before_the_damage_comes_back_and_the_damage_is_named(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    left = damaged(tmp_path, damage)
    assert left.text() == "some text"
    assert str(left.file) in left.damage
    assert "bytes are damaged" in left.damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: b"[]\n",
        lambda data: b"{}\n",
        lambda data: b"\x80\x04.\n",
        lambda data: data.replace(b'"version": 2', b'"version": 1'),
        lambda data: data.replace(b'"source": null', b'"source": 7'),
        lambda data: data.replace(b"some text", b"sOme text"),
    ],
    ids=["empty", "cut", "list", "object", "pickle", "version", "source", "text"],
)
def test_a_journal_that_cannot_be_read_is_named_and_left_alone(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    left = damaged(tmp_path, damage)
    assert not left.is_readable
    assert str(left.file) in left.damage


@pytest.mark.skipif(os.name == "nt", reason="has other pipes and links")
def test_a_journal_that_never_ends_is_not_read_and_many_are_taken_by_and_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_with(tmp_path, "some text")
    (journal,) = journals(tmp_path)
    (tmp_path / "autosave-1-link.tokviz").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "autosave-2-pipe.tokviz")
    (tmp_path / "autosave-3-folder.tokviz").mkdir()
    found = {left.file.name: left for left in left_in(tmp_path)}
    assert len(found) == 4
    assert [left.text() for left in found.values() if left.is_readable] == ["some text"]
    assert "is not a regular file" in found["autosave-1-link.tokviz"].damage

    monkeypatch.setattr(recovery_journal, "MAX_RECOVERABLE", 3)
    for number in range(5):
        shutil.copy(journal, tmp_path / f"autosave-4-{number}.tokviz")
    assert len(left_in(tmp_path)) == 3
    newest = tmp_path / "autosave-4-2.tokviz"
    os.utime(newest, ns=(2**62, 2**62))
    assert newest in [left.file for left in left_in(tmp_path)]
