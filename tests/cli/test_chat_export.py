"""`tokviz chat --export`: files, counts, failures and interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.chat import originals
from tests.chat.conversations import turns

GOOD = {"messages": turns("Hi", "Hello")}
BAD = {"messages": [{"role": "assistant", "content": "first"}]}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"

    def write(*values):
        path.write_text("".join(json.dumps(value) + "\n" for value in values))
        return path

    return write


def test_a_dataset_is_exported_and_counted(tokviz, rows, tmp_path):
    out = tmp_path / "out.jsonl"
    done = tokviz("chat", rows(GOOD, GOOD), "-t", "gpt2", "--export", out, "--reasons")
    assert done.code == 0
    assert done.text == f"{out}: 2 rows, 14 tokens, 4 in the loss, mask from template\n"
    first, second = map(json.loads, out.read_text().splitlines())
    assert first["input_ids"] == [50257, 50258, 17250, 50259, 50260, 15496, 50261]
    assert first["labels"] == [-100] * 5 + [15496, 50261]
    assert first["reasons"][-1] == 6
    assert second["row"] == 2


def test_rows_that_fail_are_reported_and_the_code_is_2(tokviz, rows, tmp_path):
    out = tmp_path / "out.npz"
    done = tokviz("chat", rows(GOOD, BAD, "?"), "--export", out)
    assert done.code == 2
    assert "1 row, 7 tokens" in done.text and "2 rows failed and missing" in done.text
    assert "rows.jsonl: line 2: message 1" in done.err and "rows.jsonl: line 3" in done.err
    assert out.exists()


def test_rows_that_are_cut_off_are_reported(tokviz, rows, tmp_path):
    done = tokviz("chat", rows(GOOD), "--max-tokens", 3, "--export", tmp_path / "out.bin")
    assert "1 row cut off at 3 tokens" in done.text


def test_missing_special_tokens_and_a_guessed_mask_are_reported(tokviz, rows, tmp_path):
    template = tmp_path / "chat_template.jinja"
    template.write_text(originals.CHATML)
    options = ["-t", "gpt2", "--template", template, "--export", tmp_path / "out.parquet"]
    done = tokviz("chat", rows(GOOD), *options)
    assert "gpt2 lacks special tokens of the template: <|im_start|>, <|im_end|>" in done.err
    assert "mask from role spans" in done.text


def test_workers_export_the_same(tokviz, rows, tmp_path):
    path = rows(*[GOOD] * 2500)
    for number, more in enumerate(([], ["--workers", "1"])):
        assert tokviz("chat", path, "--export", tmp_path / f"{number}.jsonl", *more).code == 0
    assert (tmp_path / "0.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--export", "out.txt"], "use .jsonl, .parquet, .npz or .bin"),
        (["--export", "out.npz", "--lint"], "leave out other forms and files"),
        (["--export", "out.npz", "more.jsonl"], "all rows of one file"),
        (["--export", "rows.jsonl"], "is also an input"),
    ],
)
def test_wrong_options_are_an_error(tokviz, rows, tmp_path, options, reason):
    path = rows(GOOD)
    words = [tmp_path / word if word == "rows.jsonl" else word for word in options]
    done = tokviz("chat", path, *words)
    assert done.code and reason in done.err
    assert path.read_text() == json.dumps(GOOD) + "\n"


def test_an_interrupted_export_leaves_no_file(rows, tmp_path):
    path = rows(*[{"messages": turns("Hi " * 500, "Hello " * 500)}] * 20_000)
    folder = tmp_path / "out"
    folder.mkdir()
    command = [sys.executable, "-m", "tokviz", "chat", path, "--export", folder / "out.npz"]
    running = subprocess.Popen([*map(str, command)], start_new_session=True)
    descriptors = f"/proc/{running.pid}/fd"
    while running.poll() is None and not _writes_in(folder, descriptors):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    assert running.wait(20) == 130
    assert [*folder.iterdir()] == []


def _writes_in(folder, descriptors):
    try:
        links = [os.readlink(f"{descriptors}/{name}") for name in os.listdir(descriptors)]
    except OSError:
        return False
    return any(link.startswith(str(folder)) for link in links)
