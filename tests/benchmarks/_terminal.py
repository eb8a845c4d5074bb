"""What the benchmarks start on a pseudo-terminal, and what they look for there."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from tests.screen import Background  # noqa: E402
from tests.terminal import Terminal  # noqa: E402

HERE = Path(__file__).resolve().parent
SIZE = (120, 40)
CACHE = "TOKVIZ_BENCHMARK_CACHE"
"""The variable that names a folder of caches to begin with; a new machine has none."""
TOKEN_COLOURS: frozenset[Background] = frozenset(
    {
        (0x1F, 0x3A, 0x5F),
        (0x5A, 0x3A, 0x1C),
        (0x1F, 0x4A, 0x33),
        (0x55, 0x2A, 0x45),
        (0x3D, 0x34, 0x70),
        (0x1D, 0x4A, 0x4F),
    }
)
"""The token backgrounds of the dark theme."""

TOKEN_COLOUR = re.compile(
    b"48;2;(?:"
    + b"|".join(b"%d;%d;%d" % rgb for rgb in sorted(filter(None, TOKEN_COLOURS)))
    + rb")(?!\d)"
)

CTRL_HOME, CTRL_END = b"\x1b[1;5H", b"\x1b[1;5F"
PAGE_UP, PAGE_DOWN = b"\x1b[5~", b"\x1b[6~"
RIGHT = b"\x1b[C"
F2 = b"\x1bOQ"
PASTE_START, PASTE_END = b"\x1b[200~", b"\x1b[201~"


def tokviz_command(*arguments: str) -> list[str]:
    """Return the command that starts the app."""
    return [sys.executable, "-m", "tokviz", *arguments]


def peer_command(script: str, *arguments: str) -> list[str]:
    """Return the command that starts a small program of this folder."""
    return [sys.executable, str(HERE / script), *arguments]


def on_terminal(command: Sequence[str], folder: Path, **settings: object) -> Terminal:
    """Start a program in a new home below a folder, so that no run meets another's settings."""
    home = Path(tempfile.mkdtemp(prefix="home-", dir=folder))
    if settings:
        path = home / "config" / "tokviz" / "config.toml"
        path.parent.mkdir(parents=True)
        # What these settings hold looks the same in TOML.
        path.write_text(
            "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        )
    # What a machine makes once, such as the code of compiled loops, its programs have in common.
    variables = {**environment(home), "XDG_CACHE_HOME": f"{folder}/cache"}
    return Terminal(*command[1:], environment=variables, size=SIZE)


def shows_coloured(terminal: Terminal, text: str) -> bool:
    """Tell whether some row of the screen holds this text and token backgrounds."""
    screen = terminal.screen()
    return any(
        text in line and screen.backgrounds(row) & TOKEN_COLOURS
        for row, line in enumerate(screen.lines())
    )


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder for the documents and homes of a script, removed at the end."""
    with tempfile.TemporaryDirectory(
        prefix="tokviz-benchmark-", ignore_cleanup_errors=True
    ) as name:
        if CACHE in os.environ:
            shutil.copytree(os.environ[CACHE], f"{name}/cache")
        yield Path(name)


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a modern terminal whose user has no settings yet."""
    inherited = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV")
    return {
        **{name: os.environ[name] for name in inherited if name in os.environ},
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "HOME": str(home),
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_CACHE_HOME": f"{home}/cache",
        "XDG_DATA_HOME": f"{home}/data",
        "XDG_STATE_HOME": f"{home}/state",
    }
