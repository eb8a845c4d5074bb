"""Results of learners' trainers: every form is read, and nothing in a pickle is executed."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

import tokviz
from tokviz.errors import InputFileError
from tokviz.formats.learned import SAVE_AS_JSON, read_learned

MERGES = [(b"a", b"b"), (b"ab", b"\xff")]
VOCAB = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"ab\xff"}


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_pickles_of_vocabulary_and_merges_are_read(tmp_path: Path, protocol: int) -> None:
    vocab, merges, both = (tmp_path / name for name in ("vocab.pkl", "merges.pkl", "both.pkl"))
    vocab.write_bytes(pickle.dumps(VOCAB, protocol))
    merges.write_bytes(pickle.dumps(MERGES, protocol))
    both.write_bytes(pickle.dumps((VOCAB, MERGES), protocol))
    assert read_learned(merges, vocab) == read_learned(vocab, merges) == (MERGES, VOCAB, (), "")
    assert read_learned(both) == (MERGES, VOCAB, (), "")


class Harmful:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.file),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_other_pickles_are_refused_and_not_executed(tmp_path: Path, protocol: int) -> None:
    file = tmp_path / "merges.pkl"
    file.write_bytes(pickle.dumps([MERGES, Harmful(tmp_path / "made")], protocol))
    with pytest.raises(InputFileError, match=r"json\.dump") as refused:
        read_learned(file)
    assert "byte " in str(refused.value)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04",
        b"\x80\x04]r\xff\xff\xff\x7f.",
        b"\x80\x04K\x01K\x02e.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fa.",
        b"\x80\x04h\x07.",
        pickle.dumps({"vocab": 3, "merges": []}),
        pickle.dumps([(b"a", 3)]),
    ],
)
def test_damaged_pickles_are_errors(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "merges.pkl"
    file.write_bytes(data)
    with pytest.raises(InputFileError):
        read_learned(file)


def test_the_named_line_saves_a_file_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(SAVE_AS_JSON, {"json": json, "vocab": VOCAB, "merges": MERGES})
    assert read_learned("bpe.json")[:2] == (MERGES, VOCAB)


def test_files_of_other_programs_are_read(tmp_path: Path) -> None:
    run = tokviz.train(["low low lower newest"], 262, split_pattern="gpt2")
    for form, name in (("minbpe", "bpe.model"), ("huggingface", "tokenizer.json")):
        run.tokenizer.save(tmp_path / name, form)
        assert [*read_learned(tmp_path / name).merges] == run.tokenizer.merges
    lines = "\n".join(f"{left!r} {right!r}" for left, right in run.tokenizer.merges)
    (tmp_path / "mine.txt").write_text(lines)
    assert read_learned(tmp_path / "mine.txt") == (run.tokenizer.merges, None, (), "")


def test_rank_files_are_read(tmp_path: Path) -> None:
    run = tokviz.train(["low low lower newest"], 262, split_pattern="gpt2")
    run.tokenizer.save(tmp_path / "ranks.tiktoken", "tiktoken")
    mine = read_learned(tmp_path / "ranks.tiktoken")
    assert [*mine.merges] == run.tokenizer.merges
    assert mine.vocab == run.tokenizer.vocab


@pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("merges.txt", "vocab.json")])
def test_a_vocabulary_and_its_merges_are_read_in_either_order(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    run = tokviz.train(["low low lower newest"], 262, split_pattern="gpt2")
    run.tokenizer.save(tmp_path, "gpt2")
    mine = read_learned(*(tmp_path / name for name in names))
    assert [*mine.merges] == run.tokenizer.merges
    assert mine.vocab == run.tokenizer.vocab
