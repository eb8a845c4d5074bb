"""What every message for the user keeps to, read from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokviz

HOUSE = Path(tokviz.__file__).parent
ROOMS = sorted(
    path.relative_to(HOUSE).as_posix()
    for path in (*HOUSE.iterdir(), *HOUSE.glob("tui/*/"))
    if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")) and path.name != "tui")
)
"""All of the house; the rooms of the app one by one."""


def modules(room: str) -> Iterator[ast.Module]:
    place = HOUSE / room
    for path in [place] if place.suffix else sorted(place.rglob("*.py")):
        yield ast.parse(path.read_text("utf-8"))


def literals(module: ast.Module) -> Iterator[str]:
    """Give the texts of a module that are no docstrings."""
    nodes = list(ast.walk(module))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value


@pytest.mark.parametrize("room", ROOMS)
def test_what_is_not_something_is_not_said_to_be_no_such_thing(room: str) -> None:
    wrong = re.compile(r"\b(is|are) no (?!longer\b|such\b|merge\b|linker\b)")
    said = [text for module in modules(room) for text in literals(module)]
    assert [text for text in said if wrong.search(text) and "there " not in text.lower()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_reason_follows_a_colon_not_a_stop(room: str) -> None:
    """Reasons begin in lower case: "Not trained: the train job failed."."""
    wrong = [
        ast.unparse(node)
        for module in modules(room)
        for node in ast.walk(module)
        if isinstance(node, ast.JoinedStr)
        for before, value in zip(node.values, node.values[1:], strict=False)
        if isinstance(before, ast.Constant)
        and str(before.value).endswith(". ")
        and re.search("error|reason|said", ast.unparse(value))
    ]
    assert wrong == []
