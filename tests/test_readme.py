"""Everything that the README shows is run, and everything that it lists exists."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import FOLDERS
from tokviz.cli.command import COMMANDS
from tokviz.formats.registry import BUILTIN_TOKENIZERS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


CONSOLE = [
    tuple(example.split("\n", 1))
    for block in blocks("console")
    for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory):
    """Runs a command line where `tokviz` is this checkout's; files stay for the next one."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "bin").mkdir()
    command = folder / "bin" / "tokviz"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tokviz "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
        **{name: str(folder / name) for name in FOLDERS},
    }
    environment.pop("TOKVIZ_TOKENIZER", None)
    (folder / "work").mkdir()

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder / "work",
            env=environment,
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""
        return done.stdout.decode()

    return run


@pytest.mark.parametrize(("line", "output"), CONSOLE, ids=[line for line, _ in CONSOLE])
def test_a_command_line_prints_what_the_readme_says(shell, line, output):
    printed = shell(line)
    assert [row.rstrip() for row in printed.splitlines()] == output.splitlines()


def test_every_command_has_an_example():
    lines = README.replace("$(tokviz", " tokviz")
    assert all(f"tokviz {name}" in lines for name in COMMANDS)


def test_the_python_examples_hold():
    examples = doctest.DocTestParser().get_doctest(
        "".join(blocks("python")), {}, "README.md", "README.md", 0
    )
    assert len(examples.examples) > 10
    result = doctest.DocTestRunner().run(examples)
    assert result.failed == 0


def test_there_is_one_line_to_run_it_and_one_to_test_it():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) == 2
    assert lines[0].endswith("/tokviz")
    assert lines[1].endswith("-m pytest")


def test_every_key_in_the_readme_does_what_it_says():
    from tokviz.tui.actions import key_label
    from tokviz.tui.app import actions_on

    rows = re.findall(r"^\| `([^`]+)` \| ([A-Z].*) \|$", README, re.MULTILINE)
    keys = {
        (key_label(key), action.title) for action in actions_on("tokens") for key in action.keys
    }
    assert len(rows) >= 15
    assert [row for row in rows if row not in keys] == []


def test_every_vocabulary_is_listed_with_its_source():
    for builtin in BUILTIN_TOKENIZERS:
        source = builtin.source.split(";")[0]
        assert f"| `{builtin.name}` | {builtin.n_tokens:,} | {source} |" in README


def test_every_path_in_the_readme_exists():
    paths = re.findall(r"`((?:tokviz|assets|tests|\.ci)/[\w./]+)`", README)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
