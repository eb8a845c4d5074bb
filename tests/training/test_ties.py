"""A tie-breaking rule is one entry: these tests add one as the documentation describes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import tokviz
from tests.oracles import train as oracle
from tokviz.cli.main import main
from tokviz.text.sentences import Sentence
from tokviz.training import python_trainer
from tokviz.training.replay.replay import Replay
from tokviz.training.run import TrainingRun
from tokviz.training.ties import TIE_BREAKS, Pair, Position, TieBreak, TokenPair

TEXT = " ".join(random.Random(4).choices(["abab", "banana", "cab", "acacia", "bcbc"], k=60))
N_MERGES = 15


def _order(pair: Pair, tokens: list[bytes], position: Position) -> tuple[int, Position]:
    """Prefer the shortest token, then the first occurrence."""
    left, right = pair
    return len(tokens[left]) + len(tokens[right]), position


def _why(pair: TokenPair, second: TokenPair) -> Sentence:
    return (*pair.words, " is no longer than ", *second.words, ".")


SHORTEST = TieBreak("shortest", "the shortest token", "a test", _order, _why, needs_position=True)


@pytest.fixture(autouse=True)
def shortest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(TIE_BREAKS, "shortest", SHORTEST)
    yield


def trained() -> TrainingRun:
    return tokviz.train([TEXT], 256 + N_MERGES, split_pattern="gpt2", tie_break="shortest")


def ranking_after(run: TrainingRun, k: int) -> list[tuple[bytes, bytes]]:
    """Rank the pairs after k merges the slow way."""
    pre_tokens, counts = zip(*run.pre_token_counts.pre_tokens(), strict=True)
    tokens = [bytes([byte]) for byte in range(256)]
    corpus = [list(pre_token) for pre_token in pre_tokens]
    for left, right in run.tokenizer.merges[:k]:
        pair = tokens.index(left), tokens.index(right)
        corpus = [oracle.replace_pair(pre_token, pair, len(tokens)) for pre_token in corpus]
        tokens.append(left + right)
    stats = oracle.count_pairs(corpus, counts)  # in the order of the first occurrences
    ranking = sorted(stats, key=lambda p: (-stats[p], len(tokens[p[0]]) + len(tokens[p[1]])))
    return [(tokens[left], tokens[right]) for left, right in ranking]


@pytest.mark.parametrize("small_work", [python_trainer.SMALL_WORK, -1])
def test_a_new_rule_learns_what_it_says_at_any_size(
    small_work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_trainer, "SMALL_WORK", small_work)
    run = trained()
    assert run.engine == "python"
    assert int(run.history.n_tied.max()) > 1
    for k, merge in enumerate(run.tokenizer.merges):
        assert merge == ranking_after(run, k)[0]
    others = [tokviz.train([TEXT], 256 + N_MERGES, split_pattern="gpt2", tie_break=rule) for rule in
              ("first", "lexicographic", "smallest_id")]  # fmt: skip
    assert all(other.tokenizer.merges != run.tokenizer.merges for other in others)


def test_a_run_with_a_new_rule_is_read_again_and_replayed(tmp_path) -> None:
    trained().save(tmp_path / "run")
    replay = Replay.open(tmp_path / "run")
    assert replay.tie_break == "shortest"
    for k in (0, 1, 7, N_MERGES):
        pairs = replay.state(k).top_pairs(1_000)
        assert [(pair.left, pair.right) for pair in pairs] == ranking_after(trained(), k)
    tied = next(k for k in range(1, N_MERGES) if (replay.step(k).n_tied or 0) > 1)
    said = str(replay.why(tied))
    assert "The rule “shortest” takes the shortest token (as a test)." in said
    assert "is no longer than" in said


def test_the_command_line_knows_a_new_rule(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "corpus.txt").write_text(TEXT)
    assert main(["train", "--help"]) == 0
    assert "the shortest token (as a test)" in " ".join(capsys.readouterr().out.split())
    folder = str(tmp_path / "run")
    sizes = ["--vocab-size", str(256 + N_MERGES), "--pattern", "gpt2"]
    assert (
        main(["train", str(tmp_path / "corpus.txt"), "-o", folder, *sizes, "--ties", "shortest"])
        == 0
    )
    assert tokviz.load(folder).merges == trained().tokenizer.merges
