"""Plugins: the example of the guide is installed and used, and broken ones are left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import tokviz
from tokviz.errors import InputFileError
from tokviz.formats.recognize import FILE_FORMATS, FileFormat, recognize
from tokviz.storage import plugins
from tokviz.storage.plugins import Registry

PAGE = (Path(__file__).parent.parent / "tokviz" / "guide" / "plugins.md").read_text("utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example of the guide into a folder."""
    package, target = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("installed")
    for name, language in (("pyproject.toml", "toml"), ("tokviz_example.py", "py")):
        (block,) = re.findall(rf"(?s)```{language}\n(.*?)```", PAGE)
        (package / name).write_text(block)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, package], check=True, timeout=100)
    return target


def run(path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tokviz", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(path)}  # for child processes, too
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )


def test_a_split_pattern_of_a_plugin_is_trained_with(installed: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("One two. One two. Three!")
    options = "--vocab-size", "265", "--pattern", "sentences", "-o", tmp_path / "run"
    done = run(installed, "train", text, *options)
    assert (done.returncode, "Warning" in done.stderr) == (0, False), done.stderr
    encoded = run(installed, "encode", "--json", "-t", tmp_path / "run", text)
    assert b"One two. " in tokviz.load(tmp_path / "run").vocab.values()
    assert encoded.returncode == 0, encoded.stderr


def test_a_shape_and_a_policy_of_a_plugin_are_used(installed: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "Two and two?", "answer": "Four."}\n')
    done = run(installed, "chat", rows, "--trainers", "--template", "chatml", "-t", "qwen2")
    assert done.returncode == 0, done.stderr
    assert "answers-only" in done.stdout
    assert run(tmp_path, "chat", rows, "--trainers").returncode == 2


@pytest.fixture
def hex_file(tmp_path: Path) -> Path:
    """A file in the format of the example."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b"abc"]
    file = tmp_path / "tokens.hex"
    file.write_text("\n".join(["hexadecimal tokens", *(token.hex() for token in tokens)]))
    return file


def test_a_file_in_the_format_of_a_plugin_is_read_in_a_child(
    installed: Path, hex_file: Path
) -> None:
    encoded = run(installed, "encode", "-t", hex_file, "--text", "abcab<|end|>")
    assert (encoded.stdout, encoded.returncode) == ("257 256 258\n", 0), encoded.stderr
    hex_file.write_text(f"{hex_file.read_text()}\nxyz")
    failed = run(installed, "encode", "-t", hex_file, "--text", "a")
    assert failed.stderr.startswith(f"tokviz: {hex_file}: the plugin 'hex' failed: ValueError: ")


def test_a_file_in_the_format_of_a_plugin_is_checked(
    installed: Path, hex_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setitem(FILE_FORMATS, "hex", import_module("tokviz_example").HEX)
    assert recognize(hex_file) == "list of tokens in hexadecimal"
    assert tokviz.load(hex_file).source == f"list of tokens in hexadecimal {hex_file}"
    with pytest.raises(InputFileError, match="has its own split pattern"):
        tokviz.load(hex_file, split_pattern="gpt2")
    hex_file.write_text(f"{hex_file.read_text()}\n6162")
    with pytest.raises(InputFileError, match="line 260: b'ab' is a token already, at line 258"):
        tokviz.load(hex_file)


def test_plugins_recognize_files_that_tokviz_does_not_and_failing_ones_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("unknown")
    failing = FileFormat("failing", lambda head: bool(1 / 0))
    monkeypatch.setitem(FILE_FORMATS, "failing", failing)
    with pytest.warns(UserWarning, match=r"'failing' \(tokviz.formats\) cannot .* ZeroDivision"):
        assert recognize(file) is None
    monkeypatch.setitem(FILE_FORMATS, "failing", failing._replace(fits=lambda head: True))
    assert recognize(file) == "failing"
    file.write_text('{"version": "1.0", "model": {"type": "BPE"}}')
    assert recognize(file) == "Hugging Face tokenizer"


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package whose plugins cannot be used, except one."""
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[tokviz.numbers]\nbad = broken_plugin:NONE\nraises = broken_plugin.nothing\n"
        "text = broken_plugin:TEXT\nown = broken_plugin:SEVEN\nseven = broken_plugin:SEVEN\n"
    )
    (tmp_path / "broken_plugin.py").write_text("TEXT, SEVEN = 'text', 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugins._has_plugins.cache_clear()
    yield
    plugins._has_plugins.cache_clear()


def test_a_plugin_that_cannot_be_used_is_named_and_left_out(broken: None) -> None:
    numbers = Registry("tokviz.numbers", int, {"own": 1})
    assert numbers["own"] == 1
    with pytest.warns(UserWarning) as warned:
        assert dict(numbers) == {"own": 1, "seven": 7}
    messages = [str(warning.message) for warning in warned]
    assert len(messages) == 4
    assert all("of the package broken is left out" in message for message in messages)
    assert ("seven" in numbers, numbers.get("bad"), len(numbers)) == (True, None, 2)
