"""The examples of the README and the guide run, and everything that they name exists."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tokviz
from tests.conftest import FOLDERS
from tokviz.cli.command import APP, COMMANDS, command_parser, load_command
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.guide import (
    MADE,
    PAGES,
    anchor,
    page,
    page_path,
    page_source,
    resolve_link,
    sections,
    title,
    with_links,
)

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = {name: page_source(name) for name in PAGES}
WRITTEN = {name: text for name, text in GUIDE.items() if name not in MADE}
TEXTS = {"README": README, **WRITTEN}
PLACES = {"README": "README.md"} | {name: page_path(name) for name in PAGES}


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def example(text: str) -> tuple[str, str]:
    """Split a session into command lines, continued in lines that start with >, and output."""
    line = re.match(r".*\n(?:>.*\n)*", text)
    assert line is not None
    return re.sub(r"^> ?", "", line[0], flags=re.MULTILINE), text[line.end() :]


CONSOLE = [
    (page, *example(text))
    for page, whole in TEXTS.items()
    for block in blocks("console", whole)
    for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory):
    """Runs command lines with the `tokviz` of this checkout, in a folder that they share."""
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
    ("page", "line", "output"),
    CONSOLE,
    ids=[f"{page}: {line.splitlines()[0]}" for page, line, _ in CONSOLE],
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
        owner = builtin.source.split(";")[0]
        line = f"| `{builtin.name}` | {builtin.n_tokens:,} | {owner} |"
        assert line in GUIDE["tokenizers"]


def test_every_path_that_is_named_exists():
    named = re.findall(r"`((?:tokviz|assets|tests|\.ci)/[\w./]+)`", "".join(TEXTS.values()))
    paths = [ROOT / path for path in named]
    for name, text in TEXTS.items():
        folder = (ROOT / PLACES[name]).parent
        paths += [folder / href for href in re.findall(r"\]\((?!https?:)([^)#]+)", text)]
    assert len(paths) > 20
    assert [path for path in paths if not path.exists()] == []


def test_every_link_of_a_page_leads_to_a_page_and_a_heading_of_it():
    anchors = {(part.page, anchor(part.title)) for part in sections()}
    followed = {
        (name, href): resolve_link(page_path(name), href)
        for name in PAGES
        for href in re.findall(r"\]\((?!https?:)([^)]+)\)", with_links(page(name)))
    }
    assert len(followed) > 20
    lost = [at for at, to in followed.items() if to is None or (to[1] and to not in anchors)]
    assert lost == []
    assert resolve_link(page_path("why"), "tokens.md#ids") == ("tokens", "ids")
    assert resolve_link(page_path("architecture"), "SECURITY.md") == ("security", "")
    assert resolve_link(page_path("why"), "../../LICENSE") is None


def test_every_command_option_and_key_that_is_named_exists():
    from tokviz.tui.actions import key_label
    from tokviz.tui.app import actions_everywhere

    helps = {name: load_command(name).help for name in (APP, *COMMANDS)}
    options = {name: {*command_parser(load_command(name))._option_string_actions} for name in helps}
    # Pages and commands have the same names.
    texts = [("README", README), *GUIDE.items(), *helps.items()]
    lost: list[tuple[str, ...]] = []
    for where, text in texts:
        for topic in re.findall(r"`tokviz help ([^`-][^`]*)`", text):
            lost += [(where, topic)] if topic not in PAGES else []
        named = re.findall(r"(?:`|^ *(?:\$ )?)tokviz ([a-z-]+)\b([^`|\n]*)", text, re.MULTILINE)
        for command, rest in named:
            known = options.get(command, options[APP])
            found = re.findall(r"(?<= )--[a-z][a-z-]*", rest.partition("   ")[0])
            lost += [(where, command, option) for option in found if option not in known]
    labels = {
        key_label(key)
        for listed in actions_everywhere().values()
        for action in listed
        for key in action.keys
    }
    for where, text in WRITTEN.items():
        keys = re.findall(r"`((?:(?:Ctrl|Alt|Shift)\+)+[^`]+|F\d+)`", text)
        lost += [(where, key) for key in keys if key not in labels]
    assert lost == []


def test_every_page_has_a_title_and_can_be_printed():
    written = {f"tokviz/guide/{path.name}" for path in (ROOT / "tokviz/guide").glob("*.md")}
    assert written == {path for path in map(page_path, PAGES) if path.startswith("tokviz/")} - {
        page_path(name) for name in MADE
    }
    assert {part.page for part in sections()} == set(PAGES)
    assert all(title(name) and page(name).startswith(f"# {title(name)}\n") for name in PAGES)


def test_every_screen_has_a_page_and_every_panel_a_heading_on_it():
    from tokviz.tui.screens.chat.views import VIEWS as CHAT_VIEWS
    from tokviz.tui.screens.compare.views import TITLES as COMPARE_VIEWS
    from tokviz.tui.screens.registry import SCREENS
    from tokviz.tui.screens.replay.views import VIEWS as REPLAY_VIEWS
    from tokviz.tui.screens.tokens.panels import PANELS
    from tokviz.tui.screens.vocabulary.pages import PAGES as VOCABULARY_PAGES

    assert {kind.id for kind in SCREENS} <= set(PAGES)
    panels = {
        "tokens": [kind.title for kind in PANELS],
        "compare": [*COMPARE_VIEWS.values()],
        "chat": [kind.title for kind in CHAT_VIEWS],
        "replay": [kind.title for kind in REPLAY_VIEWS],
        "vocabulary": [kind.title for kind in VOCABULARY_PAGES],
    }
    headings = {(part.page, part.title) for part in sections()}
    assert {(name, title) for name, titles in panels.items() for title in titles} <= headings


def test_the_references_name_every_command_and_every_public_name():
    assert all(f"\n## tokviz {name}\n" in GUIDE["reference"] for name in COMMANDS)
    assert all(f"\n### {name}\n" in GUIDE["api"] for name in tokviz.__all__)
    assert "from_files(\n    vocab_path: str | PathLike[str],\n" in GUIDE["api"]
    assert "ForwardRef" not in GUIDE["api"]
    assert re.findall(r"^### (.*)\n\n(?:```[^`]*```\n\n)?(?=#)", GUIDE["api"], re.MULTILINE) == []
