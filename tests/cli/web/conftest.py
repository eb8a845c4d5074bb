"""A program that replaces the app in tests of the server, because it starts faster."""

from __future__ import annotations

import sys

import pytest

ECHO = (sys.executable, "-c", "import os, tty; tty.setraw(0); os.write(1, b'ready')\n"
        "while data := os.read(0, 65536): os.write(1, data)")  # fmt: skip
"""A program that echoes its input."""


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the echo program instead of the app."""
    from tokviz.cli.web import server

    monkeypatch.setattr(server, "APP", ECHO)
