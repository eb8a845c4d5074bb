"""Where a copy went, in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.listing import home_label

if TYPE_CHECKING:
    from tokviz.tui.clipboard import CopyResult


def copied(result: CopyResult, what: str) -> str:
    """Say where a copy went, and what is known of whether it arrived."""
    file = home_label(Path(result.file)) if result.file else ""
    kept = {
        "clipboard": f"The exact text is in {file}",
        "file": f"It is in {file}",
    }.get(result.method, f"If you cannot paste it, it is in {file}")
    places = {
        "clipboard": "",
        "browser": "The browser was asked to put the copy on the clipboard.",
        "terminal": f"{_ASKED.format('The terminal')} It does not say whether it did.",
        "tmux": f"{_ASKED.format('tmux')} It does so only if its option set-clipboard is on.",
        "file": "The copy is too long for the terminal to take.",
    }
    said = (f"Copied {what}.", places[result.method], result.lost, kept if file else "")
    return " ".join(filter(None, said))


_ASKED = "{} was asked to put the copy on the clipboard (by the control sequence OSC 52)."
