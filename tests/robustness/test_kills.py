"""A few of the kills; the long run is `python tests/robustness/kills.py 500`."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.robustness import kills
from tokviz.workspace.recovery_journal import RecoveryJournal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("number", [0, 1])
def test_a_kill_damages_nothing_and_what_was_typed_is_offered(number: int) -> None:
    assert kills.kill(3, number).wrong == []


def test_what_is_lost_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "autosaves", lambda home: [])
    monkeypatch.setattr(kills, "MOST_LOST", 0.0)
    outcome = kills.while_typing(tmp_path, random.Random(3))
    assert outcome.wrong == [f"{outcome.lost:.2f} s of typing are lost"]


@pytest.mark.parametrize("writer", kills.WRITERS, ids=lambda writer: writer.name)
def test_a_full_disk_damages_no_file_and_is_told(writer: kills.Writer) -> None:
    assert [wrong for wrong in kills.without_room(writer) if wrong] == []


def test_a_full_disk_leaves_the_journal_as_it_was() -> None:
    assert [wrong for wrong in kills.journal_without_room() if wrong] == []


def test_a_damaged_journal_is_found(tmp_path: Path) -> None:
    journal = RecoveryJournal(tmp_path)
    journal.set_text(["text"])
    journal.flush()
    journal.end()
    (file,) = tmp_path.glob("*.tokviz")
    file.write_bytes(file.read_bytes().replace(b"text", b"tent"))
    wrong: list[str] = []
    assert kills._texts(kills.autosaves_in(tmp_path), wrong) == []
    assert len(wrong) == 1
