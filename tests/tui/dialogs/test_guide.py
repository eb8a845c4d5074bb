from __future__ import annotations

import asyncio
from functools import partial

from textual import events
from textual._slug import slug
from textual.containers import VerticalScroll
from textual.widgets import Label, Markdown
from textual.widgets.markdown import MarkdownFence

import tokviz
from tests.tui.waiting import WAIT, settle, until
from tokviz.guide import PAGES, anchor, page, sections, title
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.base import About
from tokviz.tui.dialogs.guide import GuideDialog
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.dialogs.why import WhyDialog
from tokviz.workspace.session import Opened, Session


def heading_at_top(app: TokvizApp) -> str:
    for view in app.screen.query(VerticalScroll):
        found = [block for block in view.query("MarkdownH2") if block.region.y >= view.region.y]
        return str(found[0].render()) if found and view.scroll_offset.y else ""
    return ""


def test_links_to_headings_are_written_here_as_where_the_page_is_shown() -> None:
    titles = {part.title for part in sections()}
    assert [title for title in titles if anchor(title) != slug(title)] == []


def test_what_the_search_shows_has_no_marks_of_markdown() -> None:
    texts = {(part.page, part.title): part.text for part in sections()}
    assert texts["tokens", "What is this character?"].startswith("Shift+F7, or I in that answer,")
    assert "tiktoken · a rank file and a small .tokviz file beside it" in " ".join(texts.values())
    assert "printf 'hello world' | tokviz encode" in texts["commands", "Command line"]
    assert [text for text in texts.values() if "](" in text or "```" in text or "|--" in text] == []


async def test_no_page_is_read_before_it_is_looked_into() -> None:
    app = TokvizApp(Session(Opened("text"), tokviz.load("gpt2"), remember=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        page.cache_clear()
        app.action_guide()
        await until(pilot, lambda: isinstance(app.screen, GuideDialog))
        assert page.cache_info().currsize == 1


async def test_the_guide_opens_where_you_are_and_leads_on() -> None:
    app = TokvizApp(Session(Opened("text"), tokviz.load("gpt2")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f1", "g")
        await until(pilot, lambda: isinstance(app.screen, GuideDialog))
        shown = app.screen.query_one(Markdown)

        def is_at(name: str) -> bool:
            return title(name) in shown.source.partition("\n")[0]

        assert is_at("tokens")
        before = PAGES[PAGES.index("tokens") - 1]
        for key, name in (("left", before), ("right", "tokens"), ("right", "why")):
            await pilot.press(key)
            await until(pilot, partial(is_at, name))
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await pilot.press(*"counts, ties", "enter")
        await until(pilot, lambda: is_at("replay"))
        view = app.screen.query_one(VerticalScroll)
        await until(pilot, lambda: view.scroll_offset.y > 0)
        shown.post_message(Markdown.LinkClicked(shown, "tokens.md#what-is-this-character"))
        await until(pilot, lambda: is_at("tokens") and view.scroll_offset.y > 0)
        # All links of a page without the mouse.
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await pilot.press(*"Chat", "enter")
        await until(pilot, lambda: is_at("chat"))
        # Back the way that was taken, to the place where each page was left.
        await pilot.press("backspace")
        await until(pilot, lambda: is_at("tokens") and view.scroll_offset.y > 0)
        await pilot.press("backspace")
        await until(pilot, lambda: is_at("replay") and view.scroll_offset.y > 0)
        await pilot.press(*["backspace"] * 9)
        await until(pilot, lambda: is_at("tokens") and view.scroll_offset.y == 0)
        # What is looked for may stand in the middle of a section, which is shown from there.
        await pilot.press("slash")
        await until(pilot, lambda: isinstance(app.screen, PickDialog))
        await pilot.press(*"usual trap")
        await until(pilot, lambda: "usual trap" in str(app.screen.query_one(About).content))
        await pilot.press("enter")
        await until(pilot, lambda: is_at("why") and view.scroll_offset.y > 0)
        shown.post_message(Markdown.LinkClicked(shown, f"help:{PAGES[0]}"))
        await until(pilot, lambda: is_at(PAGES[0]))
        await pilot.press("left")
        await until(pilot, lambda: is_at(PAGES[-1]))
        opened: list[str] = []
        app.open_url = lambda url, **_: opened.append(url)
        shown.post_message(Markdown.LinkClicked(shown, "https://github.com/karpathy/minbpe"))
        await until(pilot, lambda: opened == ["https://github.com/karpathy/minbpe"])
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, GuideDialog))
        # In a panel it begins with what is said of that.
        await pilot.press("alt+m", "f5")
        await settle(pilot)
        await app.run_action("guide")
        await until(pilot, lambda: heading_at_top(app) == "Mask")
        await pilot.press("escape")
        await pilot.press("f5", "shift+f1")
        await until(pilot, lambda: isinstance(app.screen, WhyDialog))
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, GuideDialog))
        await settle(pilot)
        shown = app.screen.query_one(Markdown)
        assert is_at("why")


async def test_no_line_of_an_example_is_cut() -> None:
    app = TokvizApp(Session(Opened("text"), tokviz.load("gpt2")))
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(GuideDialog("chat"))
        await until(pilot, lambda: app.screen.query(MarkdownFence))
        await settle(pilot)
        fences = app.screen.query(MarkdownFence)
        assert any(max(map(len, fence.code.splitlines())) > 80 for fence in fences)
        for fence in fences:
            (words,) = fence.query(Label)
            assert words.region.width <= fence.region.width
            drawn = "".join(words.render_line(y).text for y in range(words.size.height))
            assert "".join(drawn.split()) == "".join(fence.code.split())


async def test_pages_that_are_turned_faster_than_they_are_drawn_leave_the_last_one() -> None:
    app = TokvizApp(Session(Opened("text"), tokviz.load("gpt2"), remember=False))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f1", "g")
        await until(pilot, lambda: isinstance(app.screen, GuideDialog))
        dialog, turned = app.screen, 0
        shown = dialog.query_one(Markdown)
        for _ in range(8):
            for _ in range(6):
                app.post_message(events.Key("p", "p"))
            turned -= 6
            answered = asyncio.Event()
            app.call_later(dialog.call_later, answered.set)
            await asyncio.wait_for(answered.wait(), WAIT)
        last = PAGES[(PAGES.index("tokens") + turned) % len(PAGES)]
        await until(pilot, lambda: title(last) in shown.source.partition("\n")[0])
        await settle(pilot)
        assert title(last) in str(dialog.query("MarkdownH1").first().render())
