"""The comparison of real tokenizer files reports equal ids, and a difference if there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.robustness import real_files


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a WordPiece tokenizer."""
    words = {"[UNK]": 0, "Hello": 1, "##o": 2, "world": 3, "H": 4, "##ello": 5}
    made = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    path.write_text(path.read_text() + " " * 1000)
    return path


def test_equal_ids_are_reported(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert real_files.main([str(file.parent), "50"]) == 0
    assert "50/50 equal, 0 gaps" in capsys.readouterr().out


def test_a_difference_is_reported(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(real_files, "reference", lambda path: lambda text: [1] * len(text))
    assert real_files.main([str(file.parent), "50"]) == 1
    assert "1 files, 1 with differences" in capsys.readouterr().out
