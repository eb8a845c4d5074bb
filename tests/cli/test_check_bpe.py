"""`tokviz check-bpe`."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from tests.oracles import wrong_bpe
from tokviz.cli.main import main

TEXT = b"the cat and the hat and that theme abc abc the"


def files(folder: Path, *wrong: str) -> list[str]:
    corpus, merges = folder / "corpus.txt", folder / "merges.pkl"
    corpus.write_bytes(TEXT)
    merges.write_bytes(pickle.dumps(wrong_bpe.train(TEXT, 12, *wrong)))
    return ["check-bpe", str(merges), "--corpus", str(corpus), "--ties", "lexicographic"]


def test_a_mistake_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files(tmp_path, "unweighted-counts")) == 1
    printed = capsys.readouterr().out
    assert "mistake: unweighted-counts: " in printed
    assert "reproduces all 12 merges" in printed
    assert main([*files(tmp_path, "unweighted-counts"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["mistakes"][0] == ["unweighted-counts"]


def test_correct_merges_are_identical(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files(tmp_path)) == 0
    assert capsys.readouterr().out.startswith("identical: 12 of 12 merges\n")


def test_three_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = files(tmp_path)
    assert main([*words[:2], words[1], words[1], *words[2:]]) == 2
    assert "at most two files" in capsys.readouterr().err
