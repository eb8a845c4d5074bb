"""A dialog that Esc closes leaves the focus where it was before the click that opened it.

`test_every_action.py` checks the same for the dialogs that keys open.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.geometry import Offset

from tests.tui.mouse import click
from tests.tui.test_every_action import (
    PREPARE,
    Stage,
    close_by_escape,
    make_app,
    run,  # noqa: F401
    settle,
)
from tokviz.tui.dialogs.jump import targets
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.widgets.field import PushButton

SMALL, LARGE = (80, 24), (160, 50)


async def prepare(stage: Stage) -> None:
    """Show a screen that has not been changed; on the Tokens screen the Splits panel."""
    await PREPARE[stage.screen.SCREEN_ID](stage)
    if stage.screen.SCREEN_ID == "tokens":
        stage.screen.panels.show("splits")
    await settle(stage.pilot)


def clickable(stage: Stage) -> list[Offset]:
    """List the places where a click does something."""
    strips = stage.screen._compositor.render_strips()
    return [target.place for target in targets(stage.screen, strips)]


@pytest.mark.parametrize(
    ("screen_id", "size"), [("tokens", LARGE), *((kind.id, SMALL) for kind in SCREENS)]
)
async def test_every_dialog_that_a_click_opens_gives_the_focus_back(
    screen_id: str,
    size: tuple[int, int],
    run: str,  # noqa: F811
    tmp_path: Path,
    copied: list[str],
) -> None:
    app = make_app(screen_id, run)
    opened, wrong = set[str](), list[str]()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        stage = Stage(pilot, tmp_path, run, copied)
        await prepare(stage)
        for place in clickable(stage):
            focused, widget = app.focused, app.screen.get_widget_at(*place)[0]
            await click(pilot, place)
            await settle(pilot)
            if len(app.screen_stack) > 1:
                dialog = type(app.screen).__name__
                opened.add(dialog)
                await close_by_escape(stage)
                # The find bar ends in the text, at the match.
                if app.focused is not focused and dialog != "FindDialog":
                    wrong.append(f"{dialog} from {widget} at {place}: {app.focused}")
                    stage.screen.set_focus(focused)
            else:
                await stage.rest()
                await prepare(stage)
        del app.exit
    assert opened
    assert not wrong


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_after_the_menu_of_the_splits_panel_letters_go_to_the_text(
    size: tuple[int, int], tmp_path: Path, copied: list[str]
) -> None:
    app = make_app("tokens", "")
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        stage = Stage(pilot, tmp_path, "", copied)
        await prepare(stage)
        (more,) = stage.screen.query(PushButton)
        await click(pilot, more.region.offset)
        await settle(pilot)
        assert isinstance(app.screen, PickDialog)
        await stage.press("escape", "x")
        assert app.session.live.text.startswith("x")
        await stage.press("alt+i", "y")
        assert app.session.live.text.startswith("xy")
        del app.exit
