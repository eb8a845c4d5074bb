"""Run folders: a damaged one is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tokviz
from tokviz.formats.run import ABOUT


@pytest.mark.parametrize("change", [-1, 1])
def test_a_corpus_of_another_size_than_its_pre_tokens_is_refused(
    tmp_path: Path, change: int
) -> None:
    tokviz.train(["low lower"], 258).save(tmp_path / "run")
    path = tmp_path / "run" / ABOUT
    about = json.loads(path.read_text())
    about["corpus"]["n_bytes"] += change
    path.write_text(json.dumps(about))
    with pytest.raises(tokviz.InputFileError, match="the pre-tokens do not add up to the corpus"):
        tokviz.TrainingRun.load(tmp_path / "run")
