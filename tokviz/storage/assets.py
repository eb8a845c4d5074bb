"""Where the files that ship with tokviz are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def asset_path(name: str) -> Path:
    """Find a shipped file by its path below `assets/`, in a wheel as in a checkout."""
    installed = _PACKAGE / "assets" / name
    return installed if installed.exists() else _PACKAGE.parent / "assets" / name
