from __future__ import annotations

from pathlib import Path

import pytest

from tokviz.cli.main import main
from tokviz.guide.lessons import lessons


def test_lessons_are_listed_and_printed_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["lesson"]) == 0
    listed = capsys.readouterr().out
    assert all(lesson.about in listed for lesson in lessons().values())
    assert main(["lesson", "cs336", "--print"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "merge 5 of 12: w + est → west  (id 261)" in printed
    assert printed[-1].startswith("Same as the textbook ✓ All 12 merges")
    assert main(["lesson", "cs333"]) == 2
    assert "choose one of hugs, cs336, minbpe" in capsys.readouterr().err
