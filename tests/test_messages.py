"""Rules for all messages to users, checked in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokviz

PACKAGE = Path(tokviz.__file__).parent
PARTS = sorted(
    path.relative_to(PACKAGE).as_posix()
    for path in (*PACKAGE.iterdir(), *PACKAGE.glob("tui/*/"))
    if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")) and path.name != "tui")
)
"""All packages and modules; those of the app one by one."""


def modules(part: str) -> Iterator[ast.Module]:
    path = PACKAGE / part
    for file in [path] if path.suffix else sorted(path.rglob("*.py")):
        yield ast.parse(file.read_text("utf-8"))


def literals(module: ast.Module) -> Iterator[str]:
    """Yield the strings of a module that are not docstrings."""
    nodes = list(ast.walk(module))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize("part", PARTS)
def test_messages_say_is_not_a_and_not_is_no(part: str) -> None:
    wrong = re.compile(r"\b(is|are) no (?!longer\b|such\b|merge\b|linker\b)")
    strings = [text for module in modules(part) for text in literals(module)]
    assert [text for text in strings if wrong.search(text) and "there " not in text.lower()] == []


@pytest.mark.parametrize("part", PARTS)
def test_a_reason_follows_a_colon_not_a_stop(part: str) -> None:
    """Reasons start in lower case: "Not trained: the train job failed."."""
    wrong = [
        ast.unparse(node)
        for module in modules(part)
        for node in ast.walk(module)
        if isinstance(node, ast.JoinedStr)
        for before, value in zip(node.values, node.values[1:], strict=False)
        if isinstance(before, ast.Constant)
        and str(before.value).endswith(". ")
        and re.search("error|reason|said", ast.unparse(value))
    ]
    assert wrong == []
