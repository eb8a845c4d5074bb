"""The leader and a second key do what a keyboard or a terminal has no key for."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tui.actions import LEADER
from tokviz.tui.app import TokvizApp, actions_on
from tokviz.tui.dialogs.help import HelpDialog
from tokviz.tui.dialogs.more_keys import MoreKeys
from tokviz.tui.screens.registry import SCREENS
from tokviz.workspace.session import Opened, Session

NOT_EVERYWHERE = {"f1", "f10", "f11", "ctrl+right_square_bracket", "ctrl+backslash"}
"""GNOME Terminal and macOS take the first three; many keyboards need AltGr for the others."""


def make_app() -> TokvizApp:
    return TokvizApp(Session(Opened("hello"), tokviz.load("gpt2"), remember=False))


async def shown_lines(pilot: Pilot[None]) -> list[str]:
    await settle(pilot)
    return [strip.text for strip in pilot.app.screen._compositor.render_strips()]


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
def test_every_key_that_some_lack_has_a_companion_and_no_second_key_means_two_things(
    screen: str,
) -> None:
    actions = actions_on(screen)
    for found in actions:
        if NOT_EVERYWHERE.intersection(found.keys):
            assert found.second_keys(), found.id
    second = [key for found in actions for key in found.second_keys()]
    assert len(set(second)) == len(second)


@pytest.mark.parametrize("number", range(1, len(SCREENS) + 1))
async def test_a_digit_goes_to_a_screen_while_the_editor_has_the_keyboard(number: int) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(LEADER, str(number))
        await until(pilot, lambda: app.current_mode == SCREENS[number - 1].id)
        assert app.session.live.text == "hello"


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
async def test_a_digit_without_the_leader_stays_on_the_screen(screen: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        app.action_show_screen(screen)
        await until(pilot, lambda: app.current_mode == screen and app.screen.is_ready)
        await settle(pilot)
        for focused in (app.focused, None):
            app.screen.set_focus(focused)
            await pilot.press(*"123456")
            await settle(pilot)
            assert app.current_mode == screen


@pytest.mark.parametrize(
    ("second", "what"), [("question_mark", "help"), ("d", "theme"), ("n", "tokenizer")]
)
async def test_a_second_key_does_what_the_lacking_key_does(second: str, what: str) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        theme = app.theme
        await pilot.press(LEADER, second)
        await settle(pilot)
        done = {
            "help": isinstance(app.screen, HelpDialog),
            "theme": app.theme != theme,
            "tokenizer": app.session.tokenizer.name == "p50k_base",
        }
        assert [name for name, holds in done.items() if holds] == [what]
        assert app.session.live.text == "hello"


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_every_second_key_is_shown_whole_and_is_a_button(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(LEADER)
        lines = await shown_lines(pilot)
        seen = [*lines]
        if size == (40, 12):  # the arrows bring the rest into view
            for key in ("pagedown", "pagedown", "pageup", "pageup"):
                await pilot.press(key)
                seen += await shown_lines(pilot)
        for found in actions_on("tokens"):
            if found.second_keys():
                words = found.footer or found.title
                whole = f" {words[0].upper()}{words[1:]}"
                assert any(whole in line for line in seen), found.id
        row = next(y for y, line in enumerate(lines) if "4 Train" in line)
        await pilot.click(offset=(lines[row].index("4 Train") + 3, row))
        await until(pilot, lambda: app.current_mode == "train")


@pytest.mark.parametrize("closing", ["escape", "x", "click"])
async def test_anything_else_closes_it_and_does_nothing(closing: str) -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(LEADER)
        assert isinstance(app.screen, MoreKeys)
        if closing == "click":
            await pilot.click(offset=(20, 5))
        else:
            await pilot.press(closing)
        await until(pilot, lambda: not isinstance(app.screen, MoreKeys))
        assert (app.session.live.text, app.current_mode) == ("hello", "tokens")


async def test_where_tabs_have_no_room_the_word_for_them_opens_it() -> None:
    app = make_app()
    async with app.run_test(size=(40, 12)) as pilot:
        title = (await shown_lines(pilot))[0]
        await pilot.click(offset=(title.index("more") + 1, 0))
        await until(pilot, lambda: isinstance(app.screen, MoreKeys))


async def test_the_leader_twice_is_the_next_screen() -> None:
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(LEADER, LEADER)
        await until(pilot, lambda: app.current_mode == SCREENS[1].id)
        assert len(app.screen_stack) == 1
