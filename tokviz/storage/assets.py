"""Paths of the files that ship with tokviz."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def asset_path(name: str) -> Path:
    """Return the path of a shipped file, given below `assets/`, in a wheel or a checkout."""
    installed = _PACKAGE / "assets" / name
    return installed if installed.exists() else _PACKAGE.parent / "assets" / name
