"""Some hostile files, and the budget of the child that stops them."""

from __future__ import annotations

import random
import re
import sys

import pytest

import tokviz
from tests.robustness.hostile import FILES
from tests.robustness.hostile_files import cost_of, echoes_of
from tokviz.compare.trainings import open_merges
from tokviz.errors import LargeFileError
from tokviz.formats.budget import ask_first, before_large, budget
from tokviz.formats.subprocess_loader import load

QUICK = (
    "200,000 added tokens", "a huge rank", "a literal that nests", "a Replace bomb", "deep lists",
    "deep pre-tokenizers", "doubling merges", "long tokens", "many values", "padding",
    "tokens of one CRC", "a template that doubles", "a corpus cut off",
)  # fmt: skip
NAMES = ("a Unigram of 250,000", *random.Random(12).sample(QUICK, 2))


def test_there_are_sixty():
    assert len(FILES) >= 60


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_file_costs_no_more_than_its_budget(name, tmp_path):
    # The time is measured only by the program itself, on an idle machine.
    assert cost_of(name, tmp_path).faults(seconds=120) == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_letters_are_echoed_while_a_hostile_file_is_opened_and_ctrl_q_is_answered(tmp_path):
    echoes = echoes_of("a huge rank", tmp_path)
    assert len(echoes.letters) >= 50
    assert 0 < echoes.p99 <= max(echoes.letters)
    assert echoes.quit > 0


@pytest.mark.parametrize("name", ["a parquet that unpacks", "a corpus of parquet"])
def test_a_row_group_that_unpacks_to_too_much_is_refused(name, tmp_path):
    pytest.importorskip("pyarrow")
    cost = cost_of(name, tmp_path)
    assert cost.faults(seconds=120) == []
    assert "takes more than 400 MB of memory: write smaller row groups" in cost.end


def test_a_file_above_32_mb_is_told_of_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tokviz.formats.budget.LARGE_BYTES", 100)
    tokviz.load("gpt2").save(tmp_path / "large.json")
    told: list[str] = []
    with before_large(told.append):
        load(tmp_path / "large.json")
    [sentence] = told
    assert re.fullmatch(
        r"large.json has \d MB: reading it may take [\d,]+ s and [\d,]+ MB of memory", sentence
    )
    with before_large(ask_first), pytest.raises(LargeFileError, match=r"large.json has \d MB"):
        load(tmp_path / "large.json")


def test_what_takes_too_much_is_refused_with_the_budget(tmp_path, monkeypatch):
    monkeypatch.setattr("tokviz.formats.budget._MEMORY_MB", 64)
    path = FILES["a vocabulary of 5 MB"].write(tmp_path / "v")
    with pytest.raises(tokviz.InputFileError, match="takes more than 64 MB of memory to read"):
        load(path)


def test_the_file_of_a_well_known_model_is_read_without_a_question():
    """gpt-oss's has 27,868,174 bytes and takes 4 to 6 s of processor time."""
    assert budget(27_868_174).cpu_seconds >= 7
    assert budget(1 << 20).seconds == 5


def test_what_a_child_hands_over_is_what_was_in_the_file(tmp_path):
    tokenizer = tokviz.train(["the cat sat on the mat " * 20], 300, special_tokens=["<|x|>"])
    for file_format, name in (("huggingface", "t.json"), ("tiktoken", "t.tiktoken")):
        tokenizer.tokenizer.save(tmp_path / name, format=file_format)
        here, apart = tokviz.load(tmp_path / name), load(tmp_path / name)
        assert apart.vocab == here.vocab
        assert apart.merges == here.merges
        assert apart.split_pattern == here.split_pattern
        assert apart.special_tokens == here.special_tokens
        assert (apart.name, apart.source) == (here.name, here.source)
        assert apart.load_report == here.load_report
        assert apart.encode("the <|x|> mat é") == here.encode("the <|x|> mat é")
        ids = range(here.n_vocab)
        assert [apart.rank(i) for i in ids] == [here.rank(i) for i in ids]
        assert [apart.merge_of(i) for i in ids] == [here.merge_of(i) for i in ids]


def test_merges_and_runs_are_read_by_a_child_for_a_replay(tmp_path, monkeypatch):
    run = tokviz.train(["the cat sat on the mat " * 20], 300)
    run.save(tmp_path / "run")
    (tmp_path / "merges.txt").write_text("a b\nab c\n")
    assert open_merges(tmp_path / "merges.txt").tokenizer.merges == [(b"a", b"b"), (b"ab", b"c")]
    assert open_merges(tmp_path / "run").tokenizer.vocab == run.tokenizer.vocab
    monkeypatch.setattr("tokviz.formats.budget._MEMORY_MB", 8)
    for name in ("merges.txt", "run"):
        with pytest.raises(tokviz.InputFileError, match=r"takes more than 8 MB|cannot be read"):
            open_merges(tmp_path / name)


def test_what_takes_more_than_its_budget_is_read_further_where_somebody_hears_of_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tokviz.formats.budget._MEMORY_MB", 64)
    path = FILES["a vocabulary of 5 MB"].write(tmp_path / "v")
    told: list[str] = []
    with before_large(told.append):
        assert load(path).n_vocab == 250_256
    assert told == [
        "v.tiktoken takes more than 64 MB of memory to read, as few files of its size do: reading "
        "on may take 50 s of processor time and 256 MB of memory"
    ]
    with before_large(ask_first, told):
        assert load(path).n_vocab == 250_256
    monkeypatch.setattr("tokviz.formats.budget._FURTHER", (1, 1))
    with before_large(told.append), pytest.raises(tokviz.InputFileError, match="more than 64 MB"):
        load(path)
