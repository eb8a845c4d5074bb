"""Imports: the core does not import screen libraries, and commands import only what they need."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tokviz
import tokviz.tui

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
SCREENS = {"cli", "tui", "__main__"}
PACKAGE = Path(tokviz.__file__).parent
MODULES = (
    ".".join(("tokviz", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in PACKAGE.rglob("*.py")
)
CORE = sorted(
    name.removesuffix(".__init__")
    for name in MODULES
    if name.split(".")[1] not in {*SCREENS, "__init__"} and not name.endswith(".__main__")
)


def imported_by(code: str, *arguments: object) -> set[str]:
    """Return the top-level names of the modules that a new interpreter imports for some code."""
    script = code + "\nimport sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        check=True,
        text=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def run_command(*arguments: object) -> set[str]:
    code = "import sys; from tokviz.cli.main import main; assert main(sys.argv[1:]) == 0"
    return imported_by(code, *arguments)


def test_the_core_has_modules():
    assert {"tokviz.tokenizer.tokenizer", "tokviz.live.document", "tokviz.process.runner"} <= set(
        CORE
    )


def test_no_module_of_the_core_imports_a_screen_library():
    code = "\n".join(f"import {name}" for name in CORE)
    assert not imported_by(code) & {"textual", "rich"}


@pytest.mark.parametrize(
    "code",
    [
        "import tokviz",
        "import tokviz; tokviz.load('gpt-4').encode('hello world')",
        "import tokviz; tokviz.load('gpt-4').encode('hello world ' * 10_000)",
        "import tokviz.live.document",
        "import tokviz.process.runner",
        "import tokviz.tui.run",
        "import tokviz.text.glyphs",
    ],
)
def test_numpy_and_screen_libraries_wait_until_they_are_needed(code):
    assert not imported_by(code) & {"textual", "rich", "numpy"}


def test_import_tokviz_alone_imports_nothing_heavy():
    assert not imported_by("import tokviz") & {"regex", "tiktoken"}


def test_commands_import_neither_numpy_nor_a_screen_library(tmp_path):
    text, ids = tmp_path / "text", tmp_path / "ids"
    text.write_text("hello world")
    ids.write_text("15339 1917")
    heavy = {"textual", "rich", "numpy", "shtab", "asyncio"}
    assert not run_command("count", text) & (heavy | {"tiktoken"})
    assert not run_command("encode", text) & heavy
    assert not run_command("decode", ids) & heavy
    assert not run_command("tokenizers") & heavy


def test_a_short_training_imports_nothing_slow(tmp_path):
    text = tmp_path / "text"
    text.write_text("low lower lowest " * 9)
    imported = run_command("train", text, "-o", tmp_path / "run", "--vocab-size", 260)
    assert not imported & {"textual", "rich", "numpy", "dataclasses", "inspect", "_hashlib"}


def test_the_import_contract_names_every_package_of_the_core():
    contracts = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    (no_screen,) = [found for found in contracts if "screen library" in found["name"]]
    assert set(no_screen["source_modules"]) == {".".join(name.split(".")[:2]) for name in CORE}
    assert set(no_screen["forbidden_modules"]) == {"textual", "rich"}


def imports_of(module: str, modules: set[str]) -> set[str]:
    """Return the modules that a file imports, including those in functions and for types."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    found = set()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & (modules - {module})


def test_no_import_cycle_spans_packages():
    """Imports for types count here, unlike in the import contracts."""
    walked = pkgutil.walk_packages(tokviz.tui.__path__, "tokviz.tui.")
    folders = {
        found.name: found.name if found.ispkg else found.name.rpartition(".")[0] for found in walked
    }
    reached = {module: imports_of(module, set(folders)) for module in folders}
    assert len(reached) > 100 and "tokviz.tui.actions" in reached["tokviz.tui.app"]
    for through in folders:
        for targets in reached.values():
            if through in targets:
                targets |= reached[through]
    cycles = [
        (module, other)
        for module, targets in reached.items()
        for other in targets
        if module in reached[other] and folders[module] != folders[other]
    ]
    assert cycles == []
