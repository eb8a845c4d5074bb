"""What a training is worth that does not see everything, and that it says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tokviz.bpe.convergence import convergence, convergence_lines
from tokviz.bpe.run import TrainingRun
from tokviz.cli.main import main

WORDS = st.sampled_from(["low", "lower", "newest", "widest", "aaaa", "aa", "é你", "x"])


@given(
    st.lists(WORDS, min_size=1, max_size=80),
    st.integers(2, 5),
    st.sampled_from(["first", "lexicographic", "smallest_id"]),
)
def test_merges_that_are_called_certain_are_those_of_the_whole(
    words: list[str], least: int, rule: str
) -> None:
    def train(approximate: int) -> TrainingRun:
        texts = iter([" ".join(words)])
        return tokviz.train(
            texts, 300, split_pattern="gpt2", tie_break=rule, approximate=approximate
        )

    whole, part = train(1), train(least)
    about = part.approximation
    assert whole.approximation is None
    assert about is not None
    assert part.tokenizer.merges[: about.n_sure] == whole.tokenizer.merges[: about.n_sure]
    assert part.piece_counts.n_bytes + about.n_bytes == whole.piece_counts.n_bytes
    kept = {piece: n for piece, n in whole.piece_counts.pieces() if n >= least}
    assert dict(part.piece_counts.pieces()) == kept


def test_counts_that_are_far_enough_apart_are_certain() -> None:
    text = "ab " * 50 + "cd " * 20 + "xy"
    run = tokviz.train(iter([text]), 260, split_pattern="whitespace", approximate=2)
    assert run.approximation == (2, 1, 2, 1, 2)


def test_a_run_says_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, folder = tmp_path / "a.txt", tmp_path / "run"
    corpus.write_text("low low low lower newest newest " * 3 + "once")
    options = ["-o", str(folder), "--vocab-size", "270", "--approximate", "2", "--json"]
    assert main(["train", str(corpus), *options]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["remarks"][0].startswith("approximate: without 2 different pieces (8 bytes)")
    run = TrainingRun.load(folder)
    assert run.approximation is not None
    assert run.approximation.line() == summary["remarks"][0]
    assert main(["replay", str(folder), "--print", "--at", "0"]) == 0
    assert f"  {summary['remarks'][0]}\n" in capsys.readouterr().out


def test_a_sample_of_everything_gives_everything() -> None:
    run = tokviz.train(iter([" ".join(f"word{number % 97}" for number in range(5000))]), 400)
    assert convergence(run, [1.0, 1e-9]) == [len(run.history), 0]
    assert "a sample of 1% of the text gives" in convergence_lines(run)[0]
