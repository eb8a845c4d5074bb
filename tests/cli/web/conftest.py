"""A program that starts much faster than the app, where a test is not about the app."""

from __future__ import annotations

import sys

import pytest

ECHO = (sys.executable, "-c", "import os, tty; tty.setraw(0); os.write(1, b'ready')\n"
        "while data := os.read(0, 65536): os.write(1, data)")  # fmt: skip
"""A program as a terminal sees one, which starts much faster than the app."""


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a terminal give back what it gets."""
    from tokviz.cli.web import server

    monkeypatch.setattr(server, "APP", ECHO)
