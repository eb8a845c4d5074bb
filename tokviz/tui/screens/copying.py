"""Copying, and saying where the copy went: what every screen with something to copy has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from textual import on

from tokviz.errors import TokvizError
from tokviz.listing import home_label
from tokviz.sentences import why
from tokviz.tui.messages import CopyRequested
from tokviz.tui.screens.base import Controller, TokvizScreen

if TYPE_CHECKING:
    from tokviz.tui.clipboard import CopyResult


class Copying(Controller):
    """Copies text to wherever the user can paste it from."""

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        message.stop()
        self.copy(message.text, message.what)

    def copy(self, text: str, what: str) -> None:
        """Copy in the background, and say where the copy went."""
        copy_from(self.screen, text, what)


def copy_from(screen: TokvizScreen, text: str, what: str) -> None:
    """Copy in the background, and let a screen say where the copy went."""

    async def copy_it() -> None:
        from tokviz.tui.clipboard import copy

        try:
            result = await copy(screen.app, text)
        except TokvizError as error:
            screen.say(why("Not copied", error), "error")
            return
        screen.say(copied(result, what))

    screen.run_worker(copy_it(), group="copy")


def copied(result: CopyResult, what: str) -> str:
    """Say where a copy went, and what is known of whether it arrived."""
    file = home_label(Path(result.file)) if result.file else ""
    kept = {
        "clipboard": f"The exact text is in {file}",
        "file": f"It is in {file}",
    }.get(result.method, f"If you cannot paste it, it is in {file}")
    places = {
        "clipboard": "",
        "terminal": f"{_ASKED.format('The terminal')} It does not say whether it did.",
        "tmux": f"{_ASKED.format('tmux')} It does so only if its option set-clipboard is on.",
        "file": "It is too long for the terminal to take.",
    }
    said = (f"Copied {what}.", places[result.method], result.lost, kept if file else "")
    return " ".join(filter(None, said))


_ASKED = "{} was asked to put it on the clipboard (by the control sequence OSC 52)."
