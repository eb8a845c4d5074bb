"""Everything that the README and the guide show is run, and everything that they list exists."""

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
from tokviz.guide import PAGES, page, sections, title

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = {name: (ROOT / "tokviz/guide" / f"{name}.md").read_text("utf-8") for name in PAGES}
TEXTS = {"README": README, **GUIDE}


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


CONSOLE = [
    (page, *example.split("\n", 1))
    for page, text in TEXTS.items()
    for block in blocks("console", text)
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

    def run(page: str, line: str) -> str:
        (folder / page).mkdir(exist_ok=True)
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder / page,
            env=environment,
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""
        return done.stdout.decode()

    return run


@pytest.mark.parametrize(
    ("page", "line", "output"), CONSOLE, ids=[f"{page}: {line}" for page, line, _ in CONSOLE]
)
def test_a_command_line_prints_what_is_said_of_it(shell, page, line, output):
    printed = shell(page, line)
    assert [row.rstrip() for row in printed.splitlines()] == output.splitlines()


def test_every_command_has_an_example():
    lines = "".join(TEXTS.values()).replace("$(tokviz", " tokviz")
    assert all(f"tokviz {name}" in lines for name in COMMANDS)


@pytest.mark.parametrize("page", [page for page in TEXTS if blocks("python", TEXTS[page])])
def test_the_python_examples_hold(page):
    text = "".join(blocks("python", TEXTS[page]))
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_there_is_one_line_to_run_it_and_one_to_test_it():
    lines = [line for block in blocks("sh", README) for line in block.splitlines()]
    assert len(lines) == 2
    assert lines[0].endswith("/tokviz")
    assert lines[1].endswith("-m pytest")


def test_every_key_in_the_guide_does_what_it_says():
    from tokviz.tui.actions import key_label
    from tokviz.tui.app import actions_on

    rows = re.findall(r"^\| `([^`]+)` \| ([A-Z].*) \|$", GUIDE["start"], re.MULTILINE)
    keys = {
        (key_label(key), action.title) for action in actions_on("tokens") for key in action.keys
    }
    assert len(rows) >= 15
    assert [row for row in rows if row not in keys] == []


def test_every_vocabulary_is_listed_with_its_source():
    for builtin in BUILTIN_TOKENIZERS:
        source = builtin.source.split(";")[0]
        assert f"| `{builtin.name}` | {builtin.n_tokens:,} | {source} |" in README


def test_every_path_that_is_named_exists():
    named = re.findall(r"`((?:tokviz|assets|tests|\.ci)/[\w./]+)`", "".join(TEXTS.values()))
    paths = [ROOT / path for path in named]
    folders = {name: ROOT if name == "README" else ROOT / "tokviz/guide" for name in TEXTS}
    for name, text in TEXTS.items():
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
        paths += [folders[name] / link for link in links]
    assert len(paths) > 20
    assert [path for path in paths if not path.exists()] == []


def test_every_page_has_a_title_and_can_be_printed():
    assert {path.stem for path in (ROOT / "tokviz/guide").glob("*.md")} == set(PAGES)
    assert {part.page for part in sections()} == set(PAGES)
    assert all(title(name) and page(name).startswith(f"# {title(name)}\n") for name in PAGES)


def test_every_screen_has_a_page():
    from tokviz.tui.screens.registry import SCREENS

    assert {kind.id for kind in SCREENS} <= set(PAGES)
