"""Ids in place of a text on the Tokens screen."""

from __future__ import annotations

from textual.events import Paste

import tokviz
from tests.tui.screens.test_tokens import make_app, screen_of
from tests.tui.waiting import settle
from tokviz.text import bytetext
from tokviz.tui.dialogs.insert import DecodeIdsDialog

GPT4 = tokviz.load("gpt-4")


async def test_pasted_ids_are_offered_to_be_decoded_by_a_click_and_undone() -> None:
    app = make_app("", name="gpt-4")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        assert "decodes" not in screen.status.text
        screen.editor.post_message(Paste("[15339,\n1917]\n"))
        await settle(pilot)
        assert screen.live.text == "[15339,\n1917]\n", "never by itself"
        assert "2 token ids? Alt+D decodes" in screen.status.text
        await pilot.click("#status", offset=(screen.status.text.index("Alt+D") + 1, 0))
        await settle(pilot)
        assert isinstance(app.screen, DecodeIdsDialog)
        await pilot.press("enter")
        await settle(pilot)
        assert screen.live.text == "hello world"
        assert "decodes" not in screen.status.text
        await pilot.press("ctrl+z")
        assert screen.live.text == "[15339,\n1917]\n"


async def test_typed_ids_are_offered_and_words_numbers_and_one_number_are_not() -> None:
    app = make_app("", name="gpt-4")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        for text, offered in (
            ("15339", False),
            ("15339 1917", True),
            ("15339 apples", False),
            ("[15339]", True),
            ("  1 2", True),
            ("1.5 2.5", False),
            ("1 " * 60_000, False),
            ("", False),
        ):
            screen.text.replace_all(text)
            await pilot.pause()
            assert ("decodes" in screen.status.text) == offered, text


async def test_selected_ids_are_replaced_and_others_stay() -> None:
    app = make_app("ids: 15339 1917!", name="gpt-4")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        screen.text.go_to(5, 15)
        await pilot.press("alt+d")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert screen.live.text == "ids: hello world!"
        await pilot.press("ctrl+z")
        assert screen.live.text == "ids: 15339 1917!"


async def test_ids_typed_in_the_dialog_go_where_the_cursor_is_and_bytes_stay_exact() -> None:
    app = make_app("ab", name="gpt-4")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = screen_of(app)
        screen.text.go_to(1)
        await pilot.press("alt+d")
        await settle(pilot)
        await pilot.press(*str(GPT4.token_id(b"\xff")))
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert bytetext.to_bytes(screen.live.text) == b"a\xffb"
