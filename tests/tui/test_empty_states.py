"""Where there is nothing to show, a whole sentence says what would be there."""

from __future__ import annotations

import pytest

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.workspace.session import Opened, Session

SAID = {
    "alt+i": "Token ids appear here as you type.",
    "alt+t": "Move the cursor to a token",
    "alt+m": "See an example",
}


def shown(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("key", SAID)
async def test_an_empty_text_and_its_panels_say_what_to_do(key: str, size: tuple[int, int]) -> None:
    app = TokvizApp(Session(Opened("x"), tokviz.load("gpt2"), remember=False))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(key, "backspace", "delete")
        await settle(pilot)
        assert "Type, paste, or open a file (Ctrl+O)." in shown(app)
        # It may go on in the next row, behind the frame.
        await until(pilot, lambda: SAID[key] in " ".join(shown(app).replace("│", " ").split()))
        await pilot.press("x")
        await settle(pilot)
        assert "open a file (Ctrl" not in shown(app)
        assert key == "alt+m" or SAID[key] not in shown(app)
