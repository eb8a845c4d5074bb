from __future__ import annotations

import pytest

from tests.formats.samples import trained
from tests.tui.dialogs.conftest import OpenDialog
from tests.tui.waiting import settle
from tokviz.tui.actions import key_label
from tokviz.tui.app import TokvizApp, actions_on, explained_on, gestures_on
from tokviz.tui.dialogs.help import Entry, HelpDialog, help_rows, help_sections
from tokviz.tui.screens.registry import SCREENS
from tokviz.workspace.session import Opened, Session, ShowScreen


def page_of(sections: dict[str, list[Entry]], width: int) -> str:
    """Read the page."""
    return "\n".join("".join(span.text for span in row) for row in help_rows(sections, width))


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
def test_every_action_and_gesture_of_the_screen_and_the_app_is_explained(screen: str) -> None:
    sections = help_sections(actions_on(screen), gestures_on(screen))
    entries = [entry for section in sections.values() for entry in section]
    titles = [entry.title for entry in entries]
    assert sorted(titles) == sorted(
        [action.title for action in actions_on(screen)]
        + [gesture.gesture for gesture in gestures_on(screen)]
    )


def test_another_screen_shows_no_actions_of_the_tokens_screen() -> None:
    sections = help_sections(actions_on("train"), gestures_on("train"))
    entries = [entry for section in sections.values() for entry in section]
    assert "Quit" in [entry.title for entry in entries]
    assert "Find text" not in [entry.title for entry in entries]


@pytest.mark.parametrize("width", [12, 18, 36, 70, 95, 96, 120])
def test_page_fits_its_width_and_holds_every_key(width: int) -> None:
    sections = help_sections(explained_on("tokens"), gestures_on("tokens"))
    page = page_of(sections, width)
    assert max(len(line) for line in page.splitlines()) <= width
    for action in explained_on("tokens"):
        for key in action.keys:
            assert key_label(key) in " ".join(page.split())


def test_a_long_title_does_not_run_into_what_it_explains() -> None:
    explained = explained_on("tokens")
    long = [found for found in explained if len(found.title) > 30]
    assert long
    page = page_of(help_sections(explained, ()), 120)
    for found in long:
        first = found.help.split()[0]
        assert found.title + first not in page
        assert any(f"  {first} " in line for line in page.splitlines())


@pytest.mark.parametrize("key", ["escape", "q", "question_mark", "f1"])
async def test_each_of_the_usual_keys_closes_it(open_dialog: OpenDialog, key: str) -> None:
    async with open_dialog(HelpDialog(actions_on("tokens"), gestures_on("tokens"))) as pilot:
        await pilot.press(key)
        assert pilot.result is None


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12), (20, 5)])
async def test_it_scrolls_to_its_end_and_closes_by_mouse(
    open_dialog: OpenDialog, size: tuple[int, int]
) -> None:
    async with open_dialog(HelpDialog(actions_on("tokens"), gestures_on("tokens")), size) as pilot:
        assert pilot.shows("Why?")
        top = pilot.screen_lines()
        await pilot.press("end")
        assert pilot.shows("the same everywhere.") or pilot.shows("everywhere.")
        await pilot.press("home")
        assert pilot.screen_lines() == top
        await pilot.press("down")
        assert pilot.screen_lines() != top
        await pilot.click_text("Esc")
        assert pilot.result is None


OTHERS_TOO = {"ctrl+pageup", "ctrl+pagedown", "ctrl+backspace", "alt+backspace", "alt+delete"}
"""Textual's second keys for what the help lists; terminals keep the first two for tabs."""
MOVING = {"up", "down", "left", "right", "pageup", "pagedown", "home", "end"}


def spelled(key: str) -> str:
    """Leave out the shift by which a moving key selects."""
    *modifiers, name = key.split("+")
    return "+".join([*(m for m in modifiers if m != "shift" or name not in MOVING), name])


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
async def test_every_key_of_every_part_of_a_screen_is_in_its_help(
    screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every part that can have the keyboard, in every panel; ours and Textual's own."""
    first = ShowScreen(screen)
    app = TokvizApp(Session(Opened("hello"), trained(), remember=False, first=first))
    explained = {key for found in explained_on(screen) for key in found.keys}
    missing = set()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for _ in range(7):
            parts = [app.screen, *app.screen.query("*")]
            missing |= {
                f"{type(part).__name__}: {key}"
                for part in parts
                if part is app.screen or part.focusable
                for holder in (part, *(one for one in part.ancestors if one in parts))
                for key, bindings in holder._bindings.key_to_bindings.items()
                if not key.startswith(("super+", "ctrl+shift+"))
                and spelled(key) not in explained | OTHERS_TOO
            }
            await pilot.press("f2")
            await settle(pilot)
    assert not missing


@pytest.mark.parametrize("size", [(40, 12), (80, 10)])
async def test_no_frame_of_a_dialog_in_a_small_terminal_has_a_border(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = TokvizApp(Session(Opened("hello"), trained(), remember=False))
    frames: list[str] = []

    def drawn() -> None:
        if isinstance(app.screen, HelpDialog):
            frames.append("".join(strip.text for strip in app.screen._compositor.render_strips()))

    monkeypatch.setattr(app, "post_display_hook", drawn)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot)
    assert "Esc close" in frames[-1]
    assert not [frame for frame in frames if "╭─ Help" in frame]
