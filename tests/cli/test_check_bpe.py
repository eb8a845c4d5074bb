"""`tokviz check-bpe`."""

from __future__ import annotations

import json
import pickle
import random
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND
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


def test_ids_of_an_encoder_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    merges = wrong_bpe.train(TEXT, 12)
    vocab = {byte: bytes([byte]) for byte in range(256)}
    vocab |= {256 + n: left + right for n, (left, right) in enumerate(merges)}
    mine, ids, corpus = (tmp_path / name for name in ("bpe.pkl", "ids.json", "corpus.txt"))
    mine.write_bytes(pickle.dumps((vocab, merges)))
    corpus.write_bytes(TEXT)
    words = ["check-bpe", str(mine), "--corpus", str(corpus), "--encode", str(ids)]
    right = wrong_bpe.encode(["that hat"], vocab, merges, [])
    ids.write_text(json.dumps({"that hat": right[0]}))
    assert main(words) == 0
    assert "encoder: 1 of 1 texts are equal" in capsys.readouterr().out
    ids.write_text(json.dumps({"that hat": wrong_bpe.encode(["that hat"], vocab, [], [])[0]}))
    assert main([*words, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["encoding"]
    assert found == {"n_equal": 0, "n_texts": 1, "mistakes": []}
    assert main(["check-bpe", *files(tmp_path)[1:], "--encode", str(ids)]) == 2
    assert "only with a vocabulary" in capsys.readouterr().err


def test_textbook_trainers_are_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*files(tmp_path), "--timing", "214"]) == 0
    printed = capsys.readouterr().out
    assert "your trainer took 214 s\nplain Python, 12 merges" in printed
    assert "the two changes that matter most: " in printed


def test_ctrl_c_prints_what_is_known_so_far(tmp_path: Path) -> None:
    letters = random.Random(1)
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(" ".join("".join(letters.choices("abcdefgh", k=8)) for _ in range(20_000)))
    (tmp_path / "merges.txt").write_text("h h\ng g\nf f\ne e\n")
    words = ["check-bpe", str(tmp_path / "merges.txt"), "--corpus", str(corpus), "--json"]
    with subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(5)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate()
    assert process.returncode == 130
    if errors:  # on a busy machine, the corpus was not read yet
        assert errors == b"tokviz: interrupted: stopped before the corpus was read\n"
    else:
        assert json.loads(printed)["complete"] is False
