"""What the first frame does not wait for is there as soon as somebody asks for it."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.tui.first_frame import imported_for_the_first_frame
from tokviz.tui.spared import LATE

imported = cache(imported_for_the_first_frame)


@cache
def users() -> dict[str, list[tuple[str, ast.Module, ast.ImportFrom]]]:
    """Find who takes something out of a module that is late: who, its tree, the import."""
    found: dict[str, list[tuple[str, ast.Module, ast.ImportFrom]]] = {name: [] for name in LATE}
    for name in imported():
        if name.partition(".")[0] not in ("textual", "rich", "platformdirs"):
            continue
        tree = ast.parse(Path(str(importlib.import_module(name).__file__)).read_bytes())
        for node in tree.body:  # not those in a function, which are late by themselves
            if isinstance(node, ast.ImportFrom) and node.module in LATE:
                found[str(node.module)].append((name, tree, node))
    return found


def uses(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Say where names are used other than in a call or an annotation."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    noted = {
        id(part)
        for node in ast.walk(tree)
        for note in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if note is not None
        for part in ast.walk(note)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names and id(node) not in called | noted:
            yield f"{node.id} in line {node.lineno}"


@pytest.mark.parametrize("module", [name for name in LATE if LATE[name]])
def test_libraries_only_call_what_is_late(module: str) -> None:
    assert users()[module], "nobody takes anything out of it any longer"
    for user, tree, node in users()[module]:
        names = {name.asname or name.name for name in node.names if name.name in LATE[module]}
        assert not [*uses(tree, names)], user


def test_a_use_that_is_no_call_is_seen() -> None:
    tree = ast.parse("def f(x: Table) -> Table:\n    return Table(x), isinstance(x, Table)\n")
    assert [*uses(tree, {"Table"})] == ["Table in line 2"]


def test_the_first_frame_waits_for_none_of_it() -> None:
    assert not imported() & LATE.keys()


LATER = """
import sys
from tokviz.tui.spared import LATE, import_folders, import_textual
import_folders()
import_textual()
assert not LATE.keys() & sys.modules.keys(), LATE.keys() & sys.modules.keys()
import textual.color, textual.design, textual.dom, textual.layout, textual.notifications
from platformdirs import unix
import logging, subprocess, traceback
tables = [textual.design.Table(), textual.dom.Tree("a"), textual.layout.Canvas(1, 1)]
assert len(textual.notifications.Notification("a").identity) == 36
assert traceback.textwrap.indent("a", " ") == " a" and unix.gettempdir()
assert subprocess.run(["echo", "a"], text=True, capture_output=True).stdout == "a\\n"
import difflib, locale, mimetypes, tempfile, uuid
import rich.panel, rich.table, rich.tree, textual.canvas, textual.command
assert [type(made) for made in tables] == [
    rich.table.Table, rich.tree.Tree, textual.canvas.Canvas
]
assert issubclass(textual.command.CommandPalette, textual.screen.ModalScreen)
assert all(sys.modules[name].__spec__ for name in LATE)
"""


def test_all_of_it_is_what_it_always_was() -> None:
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_nobody_foresaw_is_found_at_once() -> None:
    code = (
        "import sys; from tokviz.tui import spared; late = spared._later('tempfile')\n"
        "with spared._spared(late):\n"
        "    from tempfile import gettempdir, mkstemp\n"
        "    assert sys.modules['tempfile'] is not late\n"
        "assert 'tempfile' in sys.modules and mkstemp.__module__ == 'tempfile'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
