"""Attribution of merges to files equals applying every merge in every file."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tests.oracles.pre_tokens import counted
from tests.oracles.train import replaced
from tokviz.errors import TokvizError
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
from tokviz.training import counting, python_trainer, regex_counter
from tokviz.training.attribution import Attribution
from tokviz.training.corpus import corpus as corpus_module
from tokviz.training.corpus import text_blocks
from tokviz.training.corpus.corpus import Corpus
from tokviz.training.replay.replay import Replay, files_of_merge
from tokviz.training.run import TrainingRun, load_attribution

APART = 4
REGEX = r"\p{L}+|\s+|\S"


def write_files(folder: Path, seed: int) -> dict[str, str]:
    """Write files of many sizes; two of them are empty or short."""
    chosen, texts = random.Random(seed), {}
    for number in range(9):
        text = "".join(chosen.choices(FRAGMENTS, k=chosen.choice([0, 1, 5, 60, 200])))
        path = folder / f"{number}.txt"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        texts[str(path)] = text
    return texts


def by_hand(texts: dict[str, str], run: TrainingRun, regex: str) -> list[dict[str | None, int]]:
    """Apply every merge in every file."""
    pattern, first = get_split_pattern(regex), run.settings.layout.first_byte
    pairs = [(left - first, right - first) for left, right in run.history.pairs()]
    apart = {run.sources[place] for place in Corpus([*map(Path, texts)]).tracked_files}
    merges: list[dict[str | None, int]] = [{} for _ in pairs]
    for file, text in texts.items():
        found = replaced(counted([text], pattern, ["<|endoftext|>"]), pairs)
        name = file if file in apart else None
        for merge, n in zip(merges, found, strict=True):
            if n:
                merge[name] = merge.get(name, 0) + n
    return merges


def kept(attribution: Attribution | None, n_merges: int) -> list[dict[str | None, int]]:
    assert attribution is not None
    return [{part.file: part.n for part in attribution.of(k)} for k in range(1, n_merges + 1)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("regex", "is_compiled"),
    [("gpt4", False), ("gpt4", True), (REGEX, False), (REGEX, True)],
    ids=["python", "compiled", "regex", "regex-processes"],
)
def test_every_merge_knows_its_files(tmp_path, monkeypatch, seed, regex, is_compiled):
    texts = write_files(tmp_path, seed)
    monkeypatch.setattr(corpus_module, "MOST_TRACKED_FILES", APART)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 300)
    monkeypatch.setattr(regex_counter, "BYTES_AT_ONCE", 300)
    if is_compiled:
        monkeypatch.setattr(counting, "SMALL_CORPUS_BYTES", -1)
        monkeypatch.setattr(counting, "SMALL_FOR_PROCESSES", -1)
        monkeypatch.setattr(counting, "n_processors", lambda: 2)
        monkeypatch.setattr(python_trainer, "SMALL_WORK", -1)
    run = tokviz.train([*map(Path, texts)], 420, split_pattern=regex, special_ids="first")
    assert run.engine == ("compiled" if is_compiled else "python")
    expected = by_hand(texts, run, regex)
    assert kept(run.attribution, len(expected)) == expected
    run.save(tmp_path / "run")
    assert run.attribution is not None
    again = TrainingRun.load(tmp_path / "run").attribution
    assert kept(again, len(expected)) == kept(run.attribution, len(expected))
    totals = {part.file: part for part in run.attribution.of_all()}
    for file, part in totals.items():
        shares = [merge.get(file, 0) / sum(merge.values()) for merge in expected]
        assert part.share == pytest.approx(sum(shares) / len(expected))
        assert part.n == sum(share == 1 for share in shares)


def test_one_file_or_typed_texts_keep_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest")
    for source in (tmp_path / "a.txt", ["low lower", "lowest"]):
        attribution = tokviz.train(source, 260).attribution
        assert attribution is not None
        assert attribution.of(1) == attribution.of_all() == []
        assert files_of_merge(attribution, 1) == ("The corpus was a single file or text.",)


def test_files_that_are_not_told_apart_are_named_or_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_module, "MOST_TRACKED_FILES", 1)
    for name, n in ("big", 9), ("small", 8), ("tiny", 7):
        (tmp_path / f"{name}.txt").write_text("low " * n)
    attribution = tokviz.train([tmp_path / "big.txt", tmp_path / "tiny.txt"], 257).attribution
    assert files_of_merge(attribution, 1) == (
        "It comes from big.txt (9, 56%), 1 smaller file (7, 44%).",
    )
    attribution = tokviz.train(tmp_path, 257).attribution
    said = "It comes from 2 smaller files together (15, 62%), big.txt (9, 38%)."
    assert files_of_merge(attribution, 1) == (said,), "the largest share first"


@pytest.mark.parametrize("vocab_size", [256, 300])
def test_files_without_a_merge_are_not_attributed(tmp_path, vocab_size):
    write_files(tmp_path, 0)
    run = tokviz.train(tmp_path, vocab_size, should_stop=lambda: vocab_size > 256)
    assert len(run.history) == 0
    assert run.attribution is not None and run.attribution.of_all() == []
    run.save(tmp_path / "run")
    assert TrainingRun.load(tmp_path / "run").tokenizer.vocab == run.tokenizer.vocab


def test_a_run_of_before_says_that_nothing_was_kept(tmp_path):
    write_files(tmp_path, 0)
    tokviz.train(tmp_path, 300).save(tmp_path / "run")
    assert load_attribution(tmp_path / "run") is not None
    (tmp_path / "run" / "files.npz").unlink()
    assert (
        TrainingRun.load(tmp_path / "run").attribution is load_attribution(tmp_path / "run") is None
    )
    assert "did not record" in str(Replay.open(tmp_path / "run").files(1))


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("files", lambda column: column * 0),
        ("files", lambda column: column + 100),
        ("files", lambda column: column[:-1]),
        ("lengths", lambda column: column - 1),
        ("lengths", lambda column: column * 2**40),
        ("merges", lambda column: column[::-1]),
        ("merges", lambda column: column - 1),
        ("merges", lambda column: column + 1),
        ("times", lambda column: column * 0),
        ("times", lambda column: column + 1),
        ("times", lambda column: column[:-1]),
        ("times", None),
    ],
)
def test_a_damaged_table_is_refused(tmp_path, column, change):
    for name, text in {"a": "low lower", "b": "lowest low"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    tokviz.train(tmp_path, 400).save(tmp_path / "run")
    path = tmp_path / "run" / "files.npz"
    arrays = dict(np.load(path).items())
    old = arrays.pop(column).astype(np.int64)
    if change is not None:
        arrays[column] = change(old)
    np.savez(path, **arrays)
    for load in (TrainingRun.load, load_attribution):
        with pytest.raises(TokvizError, match=r"files\.npz.* damaged"):
            load(tmp_path / "run")
