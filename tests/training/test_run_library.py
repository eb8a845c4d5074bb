from __future__ import annotations

import os
from pathlib import Path

import pytest

import tokviz
from tokviz.errors import TokvizError, UnknownTokenizerError
from tokviz.storage.listing import time_label
from tokviz.training.run_library import (
    Run,
    delete_run,
    list_runs,
    place_of,
    rename_run,
    restore_run,
    runs_folder,
    with_runs,
)


def keep_run(name: str, when: float = 0) -> Path:
    """Train a tokenizer of 258 tokens and save it as the app does."""
    folder = runs_folder() / name
    tokviz.train(["abab" * 9], 258).save(folder)
    os.utime(folder, (when, when))
    return folder


def names() -> list[str]:
    return [run.name for run in list_runs()]


def test_runs_are_listed_newest_first_and_damaged_ones_too() -> None:
    assert list_runs() == []
    keep_run("old", 1)
    (keep_run("bad", 2) / "run.json").write_text("{")
    os.utime(runs_folder() / "bad", (2, 2))
    keep_run("new", 3)
    (runs_folder() / "other").mkdir()
    new, bad, old = list_runs()
    assert [run.name for run in (new, bad, old)] == ["new", "bad", "old"]
    assert bad.n_vocab is None and bad.facts == ("damaged",)
    assert new.n_vocab == 258


def test_a_run_tells_pattern_rule_for_ties_corpus_and_date(tmp_path: Path) -> None:
    (tmp_path / "war.txt").write_text("abab" * 600)
    learned = tokviz.train(tmp_path / "war.txt", 258, tie_break="lexicographic")
    learned.save(runs_folder() / "war")
    (run,) = list_runs()
    assert run.facts == ("gpt4", "ties: lexicographic", "war.txt, 2.4 kB")
    assert run.words.endswith(time_label(run.when))


def test_a_run_goes_by_its_name_behind_built_in_ones_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = keep_run("mine")
    assert place_of("mine") == str(folder)
    keep_run("gpt2")
    assert place_of("gpt2") == "gpt2"
    (tmp_path / "mine").touch()
    assert place_of("mine") == "mine"
    for name in ("none", "", "..", ".deleted", "a/b", "hf:a/b", "\0", "x" * 5000):
        assert place_of(name) == name


def test_an_unknown_name_offers_the_nearest_run_first() -> None:
    keep_run("gtp2-mine")
    error = with_runs(UnknownTokenizerError("gtp2-mina", ["gpt2"]), list_runs())
    assert error.hint == "did you mean gtp2-mine or gpt2?"


def test_a_run_is_renamed_with_its_folder() -> None:
    folder = keep_run("mine")
    assert rename_run(folder, "yours") == folder.with_name("yours")
    assert names() == ["yours"]
    assert tokviz.load(place_of("yours")).name == "yours"
    assert rename_run(folder.with_name("yours"), "yours") == folder.with_name("yours")


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "gpt-4o", "other", "x" * 5000])
def test_what_cannot_be_its_name_is_refused_and_the_run_stays(name: str) -> None:
    folder = keep_run("mine", 1)
    keep_run("other", 2)
    with pytest.raises(TokvizError):
        rename_run(folder, name)
    assert names() == ["other", "mine"]


def test_what_was_deleted_last_comes_back() -> None:
    first, second = keep_run("first", 1), keep_run("second", 2)
    delete_run(first)
    assert names() == ["second"]
    restore_run(first)
    assert names() == ["second", "first"]
    delete_run(first)
    delete_run(second)
    assert names() == []
    with pytest.raises(TokvizError):
        restore_run(first)
    restore_run(second)
    assert names() == ["second"]
    assert tokviz.load(str(second)).n_vocab == 258


def test_a_run_that_is_there_again_is_not_overwritten_by_what_comes_back() -> None:
    folder = keep_run("mine")
    delete_run(folder)
    keep_run("mine")
    with pytest.raises(TokvizError, match="there is already a run with this name"):
        restore_run(folder)
    assert isinstance(list_runs()[0], Run)
