from __future__ import annotations

from functools import partial

from textual.containers import VerticalScroll
from textual.widgets import Markdown

import tokviz
from tests.tui.waiting import settle, until
from tokviz.guide import PAGES, title
from tokviz.session import Opened, Session
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.guide import GuideDialog
from tokviz.tui.dialogs.pick import PickDialog


async def test_the_guide_opens_where_you_are_and_leads_to_every_page() -> None:
    app = TokvizApp(Session(Opened("text"), tokviz.load("gpt2")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f1", "g")
        await until(pilot, lambda: isinstance(app.screen, GuideDialog))
        shown = app.screen.query_one(Markdown)

        def is_at(name: str) -> bool:
            return title(name) in shown.source.partition("\n")[0]

        assert is_at("tokens")
        for name in (*PAGES[PAGES.index("tokens") + 1 :], PAGES[0], "tokens"):
            await pilot.press("right")
            await until(pilot, partial(is_at, name))
        await pilot.press("left")
        await until(pilot, lambda: is_at("start"))
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await pilot.press(*"counts, ties", "enter")
        await until(pilot, lambda: is_at("replay"))
        view = app.screen.query_one(VerticalScroll)
        await until(pilot, lambda: view.scroll_offset.y > 0)
        shown.post_message(Markdown.LinkClicked(shown, "why.md"))
        await until(pilot, lambda: is_at("why"))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, GuideDialog))
