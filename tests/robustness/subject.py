"""tokviz on a pseudo-terminal, with a separate home folder, under the test's control."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.terminal import Terminal

INSIDE = Path(__file__).with_name("inside.py")
MARK = "TOKVIZ_SUBJECT"
"""The environment variable that marks the processes started by a test."""


class Subject(Terminal):
    """A running tokviz, and all processes that it starts."""

    def __init__(
        self, home: Path, *arguments: str, variables: Mapping[str, str] | None = None, **how: Any
    ) -> None:
        """Start it.

        Args:
            home: The folder of its settings, runs and texts, which exists.
            arguments: The arguments of tokviz.
            variables: Additional environment variables.
            how: See `Terminal`.
        """
        self.mark = os.environ.get(MARK) or uuid.uuid4().hex
        self._folder = home / f"subject-{self.mark}"
        self._folder.mkdir()
        os.mkfifo(self._folder / "wishes")
        # Opened for reading too, so that opening does not wait for a reader.
        self._wishes = os.open(self._folder / "wishes", os.O_RDWR)
        self._n_wishes = 0
        variables = {**home_variables(home), **(variables or {}), MARK: self.mark}
        super().__init__(
            str(INSIDE), str(self._folder), *arguments, variables=variables, size=(120, 40), **how
        )

    def __exit__(self, *how: Any) -> None:
        super().__exit__(*how)
        os.close(self._wishes)

    @property
    def app_pid(self) -> int:
        """The process of the app itself."""
        return int((self._folder / "pid").read_text())

    def wish(self, name: str, *arguments: str) -> None:
        """Request an action."""
        os.write(self._wishes, ("\t".join((name, *arguments)) + "\n").encode())
        self._n_wishes += 1

    def until(self, *conditions: str) -> None:
        """Wait until all actions are done, and then until these conditions hold, one by one."""
        for condition in conditions:
            self.wish(condition)
        self.wait_for(self.has_obeyed)

    def until_written(self, words: bytes) -> None:
        """Wait until the app has written this to the terminal."""
        self.wait_for(lambda: words in self.output)

    def has_obeyed(self) -> bool:
        """Return whether all actions are done."""
        try:
            return (self._folder / "done").read_text().count("\n") == self._n_wishes
        except FileNotFoundError:
            return not self._n_wishes

    def quit(self) -> None:
        """Press Ctrl+Q until the app ends, and confirm discarding unsaved work."""
        deadline = time.monotonic() + 20
        # Yes to "not saved"; the last answer, "discard", to the question about a training.
        for keys in cycle((b"\x11", b"y\x1b[F\r")):
            if self.comes_true(self.has_ended, 0.5) or time.monotonic() > deadline:
                return
            self.type(keys)

    def processes(self) -> list[int]:
        """List the processes started by the app that are still running."""
        return list(marked(self.mark))

    def left_behind(self, seconds: float = 5.0) -> list[int]:
        """List the processes that do not end within some seconds."""
        self.comes_true(lambda: not self.processes(), seconds)
        return self.processes()


def home_variables(home: Path) -> dict[str, str]:
    """Return the variables that set the home folder; all share the compiled code."""
    names = {"CONFIG": "config", "DATA": "data", "STATE": "state"}
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folders = {f"XDG_{name}_HOME": str(home / folder) for name, folder in names.items()}
    return {"HOME": str(home), "XDG_CACHE_HOME": cache, "HF_HUB_OFFLINE": "1", **folders}


def marked(mark: str) -> Iterator[int]:
    """Yield the running processes that have a mark."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # A zombie has no environment.
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)
        except OSError:
            continue
