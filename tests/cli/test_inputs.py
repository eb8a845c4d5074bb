"""Inputs from named pipes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Thread

import pytest

from tokviz.cli import inputs
from tokviz.errors import InputFileError, TokvizError
from tokviz.storage.files import read_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_that_nobody_writes_to_is_named(
    pipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[object] = []
    monkeypatch.setattr(inputs, "WAITED_SECONDS", 0.0)
    monkeypatch.setattr(inputs, "report", told.append)

    def write() -> None:
        while not told:
            time.sleep(0.001)
        pipe.write_bytes(b"late")

    Thread(target=write, daemon=True).start()
    assert b"".join(inputs.read_blocks(str(pipe))) == b"late"
    assert told == [
        f"{pipe} is a pipe: waiting for a program to write to it. Press Ctrl+C to cancel."
    ]


def test_a_pipe_that_is_written_to_is_read_without_a_word(tokviz, pipe: Path) -> None:
    Thread(target=pipe.write_bytes, args=(b"hello world",), daemon=True).start()
    done = tokviz("count", pipe)
    assert done.text.split() == ["2", "11", "11", "5.50", str(pipe)]
    assert not done.err


def test_what_is_read_into_the_app_is_no_pipe(pipe: Path) -> None:
    with pytest.raises(InputFileError, match="is a pipe"):
        read_file(pipe)


@pytest.mark.parametrize("command", ["train", "chat"])
def test_a_corpus_and_conversations_may_come_through_a_pipe(
    tokviz, pipe: Path, command: str
) -> None:
    row = b'{"messages": [{"role": "user", "content": "Hi"}]}\n'
    Thread(target=pipe.write_bytes, args=(row * 9,), daemon=True).start()
    more = ["--vocab-size", 260, "-o", pipe.parent / "run"] if command == "train" else []
    done = tokviz(command, pipe, *more, timeout=60)
    assert done.code == 0, done.err


TOO_LONG = "a" * 3000 + "/"


@pytest.mark.parametrize(
    "arguments",
    [
        ("encode", "--text", "x", "-t", TOO_LONG),
        ("compare", "--text", "x", "-t", "gpt2", "-t", TOO_LONG),
        ("tokenizers", TOO_LONG),
        ("replay", TOO_LONG),
        ("chat", "--template", TOO_LONG),
        ("chat", "--template", TOO_LONG[:-1]),
        ("web", "--folder", TOO_LONG),
        ("count", TOO_LONG),
    ],
)
def test_a_path_that_is_too_long_is_named_as_such(tokviz, arguments: tuple[str, ...]) -> None:
    done = tokviz(*arguments)
    assert done.code in (1, 2)
    assert done.err.startswith("tokviz: ")
    assert "aaa" in done.err, "it says which path it is"
    assert "unknown tokenizer" not in done.err


def test_an_input_that_is_read_whole_has_a_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_FILE_BYTES", 4)
    assert inputs.read_whole([b"ab", b"cd"], ": too long") == b"abcd"
    with pytest.raises(TokvizError, match="more than 4 bytes: too long"):
        inputs.read_whole([b"ab", b"cd", b"e"], ": too long")
