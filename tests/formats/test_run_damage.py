"""Damaged and mixed-up run folders: a clear error, and nothing is written."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tokviz
from tokviz.errors import TokvizError
from tokviz.formats import run as run_folder
from tokviz.formats import run_arrays
from tokviz.training.replay import replay as replay_module
from tokviz.training.replay.replay import Replay

TEXT = "low low low low low lower lower widest widest widest" + " newest" * 6
CHANGES = 400


@pytest.fixture(scope="module")
def run() -> tokviz.TrainingRun:
    return tokviz.train([TEXT], 300, special_tokens=["<|a|>"], special_ids="first")


@pytest.fixture
def folder(run, tmp_path) -> Path:
    run.save(tmp_path / "run")
    return tmp_path / "run"


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def write(folder: Path, name: str, arrays: dict[str, np.ndarray]) -> None:
    np.savez(folder / name, **arrays)


def refused(folder: Path, words: str = "") -> None:
    before = content(folder)
    with pytest.raises(TokvizError, match=words) as caught:
        Replay.open(folder)
    assert str(folder) in str(caught.value)
    assert content(folder) == before


def arrays(folder: Path, name: str) -> dict[str, np.ndarray]:
    return {key: array.copy() for key, array in run_arrays.read_arrays(folder, name).items()}


@pytest.mark.parametrize("column", ["left_id", "runner_up_left"])
def test_a_history_that_merges_a_special_token_after_the_bytes_is_refused(tmp_path, column):
    specials = ["<|a|>", "<|b|>"]
    run = tokviz.train([TEXT], 300, special_tokens=specials, special_ids="after-bytes")
    run.save(tmp_path / "run")
    Replay.open(tmp_path / "run")
    history = arrays(tmp_path / "run", "history.npz")
    history[column][3] = 257
    write(tmp_path / "run", "history.npz", history)
    refused(tmp_path / "run", "merge 4 is invalid")


@pytest.mark.parametrize(
    ("column", "index", "value"),
    [
        ("left_id", 0, 5_000),
        ("left_id", 0, -1),
        ("left_id", 0, 0),
        ("left_id", 3, 260),
        ("right_id", 2, 2**31 - 1),
        ("new_id", 4, 257),
        ("count", 1, 0),
        ("count", 1, -3),
        ("count", 1, 2**62),
        ("n_tied", 1, 0),
        ("runner_up_left", 1, 9_999),
        ("runner_up_right", 1, -7),
        ("runner_up_count", 1, 2**40),
        ("runner_up_count", 1, -1),
        ("n_tokens", 2, 0),
        ("n_tokens", 2, 10**9),
    ],
)
def test_a_history_that_makes_no_sense_is_refused(folder, column, index, value) -> None:
    history = arrays(folder, "history.npz")
    history[column][index] = value
    write(folder, "history.npz", history)
    refused(folder, r"(history\.npz: is damaged|does not fit)")


def test_numbers_that_do_not_fit_their_column_are_refused(folder) -> None:
    history = arrays(folder, "history.npz")
    history["left_id"] = history["left_id"].astype(np.int64) + 2**32
    write(folder, "history.npz", history)
    refused(folder, "too large")


@pytest.mark.parametrize("dtype", [float, complex, bool, "U5", "S3", "M8[s]", "i4,i4"])
def test_columns_of_another_kind_are_refused(folder, dtype) -> None:
    history = arrays(folder, "history.npz")
    history["count"] = np.zeros(len(history["count"]), dtype)
    write(folder, "history.npz", history)
    refused(folder, "not a list of integers")


@pytest.mark.parametrize("name", ["history.npz", "pieces.npz"])
def test_a_missing_column_is_refused(folder, name) -> None:
    columns = arrays(folder, name)
    columns.popitem()
    write(folder, name, columns)
    refused(folder, "damaged")


@pytest.mark.parametrize("name", ["history.npz", "pieces.npz"])
def test_python_objects_are_never_read(folder, name) -> None:
    columns = arrays(folder, name)
    key = next(iter(columns))
    columns[key] = np.array([object()] * len(columns[key]))
    np.savez(folder / name, allow_pickle=True, **columns)
    refused(folder, "Python objects|damaged")


def test_a_compressed_archive_is_not_unpacked(folder) -> None:
    np.savez_compressed(folder / "pieces.npz", **arrays(folder, "pieces.npz"))
    refused(folder, "is compressed")


def test_a_header_that_promises_terabytes_takes_no_memory(folder) -> None:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<i8", "fortran_order": False, "shape": (2**45,)}
    )
    with zipfile.ZipFile(folder / "pieces.npz", "w") as file:
        for key in ("data", "lengths", "counts"):
            file.writestr(f"{key}.npy", stream.getvalue())
    refused(folder, "not a list of integers")


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("lengths", lambda lengths: lengths[:-1]),
        ("lengths", lambda lengths: lengths * 0),
        ("lengths", lambda lengths: -lengths),
        ("counts", lambda counts: -counts),
        ("counts", lambda counts: counts * 0),
        ("counts", lambda counts: counts * 2**60),
        ("counts", lambda counts: counts + 1),
        ("data", lambda data: data[:-1]),
        ("data", lambda data: data.astype(np.int64)),
        ("data", lambda data: data[::-1].copy()),
        ("data", lambda data: data.reshape(1, -1)),
    ],
)
def test_pre_tokens_that_make_no_sense_are_refused(folder, key, change) -> None:
    pre_tokens = arrays(folder, "pieces.npz")
    write(folder, "pieces.npz", pre_tokens | {key: change(pre_tokens[key])})
    refused(folder, "damaged|do not fit|does not fit")


@pytest.mark.parametrize("name", ["history.npz", "pieces.npz", "tokenizer.json"])
@pytest.mark.parametrize("text", ["abababcb " * 9, TEXT.replace("new", "old")])
def test_files_of_another_run_are_refused(folder, name, text, tmp_path) -> None:
    tokviz.train([text], 300, special_tokens=["<|a|>"], special_ids="first").save(tmp_path / "b")
    (folder / name).write_bytes((tmp_path / "b" / name).read_bytes())
    refused(folder, "does not fit|do not add up")


def test_a_tokenizer_with_other_special_tokens_is_refused(folder, tmp_path) -> None:
    tokviz.train([TEXT], 300, special_tokens=["<|b|>"], special_ids="first").save(tmp_path / "b")
    (folder / "tokenizer.json").write_bytes((tmp_path / "b" / "tokenizer.json").read_bytes())
    refused(folder, "has other special tokens")


def test_a_tokenizer_with_a_token_that_no_merge_makes_is_refused(folder) -> None:
    content = json.loads((folder / "tokenizer.json").read_bytes())
    vocab = content["model"]["vocab"]
    vocab["unheard"] = max(vocab.values()) + 1
    (folder / "tokenizer.json").write_text(json.dumps(content))
    refused(folder, "has tokens that no merge makes")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "update tokviz"),
        ({"version": "new"}, "damaged: its version is 'new'"),
        ({"version": None}, "damaged"),
        ({"format": "other"}, "does not describe a training run"),
        ({"settings": []}, "holds no 'settings'"),
        ({"settings": {"vocab_size": 3}}, "damaged"),
        ({"seconds": {}}, "damaged"),
        ({"corpus": "here"}, "holds no 'corpus'"),
        ({"corpus": {"files": 3}}, "damaged"),
    ],
)
def test_a_run_json_of_another_kind_is_refused(folder, change, words) -> None:
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(folder, words)


@pytest.mark.parametrize(
    ("key", "value"),
    [("vocab_size", 1), ("tie_break", "best"), ("special_ids", "middle"), ("special_tokens", [""])],
)
def test_settings_that_no_training_has_are_refused(folder, key, value) -> None:
    path = folder / "run.json"
    about = json.loads(path.read_text())
    about["settings"][key] = value
    path.write_text(json.dumps(about))
    refused(folder, "damaged")


@pytest.mark.parametrize("name", run_folder.RUN_FILES[:4])
def test_no_change_of_bytes_gets_past(folder, name, monkeypatch) -> None:
    """Changed, removed, duplicated and truncated bytes: an error, or exactly the same replay."""
    # What the child would do, without a new one for every change.
    monkeypatch.setattr(replay_module, "load", run_folder.read_run_tokenizer)
    path = folder / name
    good = path.read_bytes()
    whole = Replay.open(folder)
    rng = random.Random(name)
    n_refused = 0
    for _ in range(CHANGES):
        data = bytearray(good)
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randint(1, 40)]
        elif kind == 2:
            data[at:at] = data[at : at + rng.randint(1, 40)]
        else:
            del data[at:]
        path.write_bytes(bytes(data))
        try:
            replay = Replay.open(folder)
            replay.state(replay.n_merges // 2).top_pairs()
        except TokvizError:
            n_refused += 1
        else:
            assert replay.n_merges == whole.n_merges
    assert n_refused > 0
