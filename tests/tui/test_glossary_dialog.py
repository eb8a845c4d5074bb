from __future__ import annotations

from textual.events import Click

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.pick import GlossaryDialog
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings


def place_of(app: TokvizApp, words: str) -> tuple[int, int]:
    lines = [strip.text for strip in app.screen._compositor.render_strips()]
    return next((line.index(words), y) for y, line in enumerate(lines) if words in line)


async def test_a_word_is_explained_by_a_click_where_it_is_shown_and_by_key() -> None:
    settings = Settings(tokenizer="gpt2", panel="token")
    session = Session(Opened("my merges, 7"), tokviz.load("gpt2"), settings, remember=False)
    app = TokvizApp(session)

    def explained() -> str:
        return app.screen.rows.row.value

    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen.is_ready)
        await settle(pilot)
        # In a panel, in the status line; it is underlined under the mouse.
        for words, name in (
            ("merge  ", "merge"),
            ("lossless", "lossless"),
            ("bytes/tok", "bytes per token"),
        ):
            await pilot.hover(offset=place_of(app, words))
            await pilot.click(offset=place_of(app, words))
            await until(pilot, lambda: isinstance(app.screen, GlossaryDialog))
            await settle(pilot)
            assert explained() == name
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, TokensScreen))
        # Not in the user's text, and not where a click does something else.
        for words in ("merges", "special tokens: parsed", "Token"):
            await pilot.click(offset=place_of(app, words))
            await settle(pilot)
            assert isinstance(app.screen, TokensScreen)
        # Nor where the screen ends, since the terminal became smaller just then.
        app.screen.post_message(Click(app.screen, 5, 60, 0, 0, 1, False, False, False, 5, 60))
        await settle(pilot)
        assert not isinstance(app.screen, GlossaryDialog)

        # By key: first the words that the widget with the keyboard shows, then all others.
        app.screen.editor.move_cursor((0, 11))
        app.screen.panels.current.focus()
        await settle(pilot)
        await pilot.press("ctrl+l", "g")
        await until(pilot, lambda: isinstance(app.screen, GlossaryDialog))
        await settle(pilot)
        assert explained() in ("id", "token")
        await pilot.press(*"pre-tok")
        await settle(pilot)
        assert explained() == "pre-token"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TokensScreen))
