"""The tiny app on a pseudo-terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import DEADLINE_SECONDS, Terminal

TINY_APP = Path(__file__).with_name("tiny_app.py")
LAST_QUERY = b"\x1b[?2048$p"


class TinyProcess(Terminal):
    """The tiny app, and the lines that it logged."""

    def __init__(self, log: Path, *options: str, **settings: Any) -> None:
        self.log_file = log
        super().__init__(str(TINY_APP), str(log), *options, **settings)

    def log(self) -> list[str]:
        if not self.log_file.exists():
            return []
        return self.log_file.read_text(encoding="utf-8").splitlines()

    def wait_for_line(self, line: str) -> None:
        assert self.comes_true(lambda: line in self.log(), DEADLINE_SECONDS), self.log()

    def wait_until_ready(self) -> TinyProcess:
        self.wait_for(lambda: any(line.startswith("ready") for line in self.log()))
        # The answer to a query that is read later would stand in the midst of what is typed next.
        self.wait_for(lambda: LAST_QUERY in self.output)
        return self


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., TinyProcess]]:
    """Return a function that starts the tiny app and waits until it is ready."""
    if sys.platform == "win32":
        pytest.skip("needs pseudo-terminals")
    with ExitStack() as stack:

        def start_tiny(*options: str, **settings: Any) -> TinyProcess:
            process = TinyProcess(tmp_path / "log", *options, **settings)
            stack.enter_context(process)
            return process.wait_until_ready()

        yield start_tiny
