from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tests.tui.dialogs.conftest import OpenDialog
from tests.tui.waiting import until
from tokviz.live.find import FindQuery, Matches
from tokviz.tui.dialogs import find
from tokviz.tui.dialogs.find import FindDialog, FindResult

TEXT = "one two one\u200b Two one"


async def test_typing_shows_the_first_match_after_the_cursor(open_dialog: OpenDialog) -> None:
    seen: list[tuple[int, int]] = []
    dialog = FindDialog(TEXT, 4, None, lambda start, end: seen.append((start, end)))
    async with open_dialog(dialog) as pilot:
        await pilot.type("one")
        assert seen[-1] == (8, 11)
        assert pilot.shows("2 of 3")
        await pilot.press("enter")
        assert seen[-1] == (17, 20)
        await pilot.press("f3")
        assert seen[-1] == (0, 3)
        await pilot.press("up")
        assert seen[-1] == (17, 20)
        await pilot.press("escape")
        assert pilot.result == FindResult(FindQuery("one"), (17, 20))


async def test_nothing_typed_is_no_result(open_dialog: OpenDialog) -> None:
    async with open_dialog(FindDialog(TEXT)) as pilot:
        await pilot.press("escape")
        assert pilot.result is None


async def test_nothing_found_keeps_the_query_without_a_place(open_dialog: OpenDialog) -> None:
    async with open_dialog(FindDialog(TEXT)) as pilot:
        await pilot.type("three")
        assert pilot.shows("none")
        await pilot.press("enter", "escape")
        assert pilot.result == FindResult(FindQuery("three"), None)


async def test_last_query_is_offered_and_typing_replaces_it(open_dialog: OpenDialog) -> None:
    async with open_dialog(FindDialog(TEXT, 0, FindQuery("one"))) as pilot:
        assert pilot.shows("1 of 3")
        await pilot.type("two")
        await pilot.press("escape")
        assert pilot.result == FindResult(FindQuery("two"), (4, 7))


@pytest.mark.parametrize("how", ["key", "mouse"])
async def test_case_and_regex_are_switched_by_key_or_mouse(
    open_dialog: OpenDialog, how: str
) -> None:
    async with open_dialog(FindDialog(TEXT, 0, FindQuery("t.o"))) as pilot:
        assert pilot.shows("none")
        if how == "key":
            await pilot.press("f2", "f4")
        else:
            await pilot.click_text(".*")
            await pilot.click_text("Aa")
        assert pilot.shows("1 of 1")
        await pilot.press("escape")
        assert pilot.result == FindResult(FindQuery("t.o", regex=True, case=True), (4, 7))


async def test_broken_pattern_is_told_beside_the_field(open_dialog: OpenDialog) -> None:
    async with open_dialog(FindDialog(TEXT, 0, FindQuery("(", regex=True))) as pilot:
        assert pilot.shows("The pattern does not work")
        await pilot.type("one")
        assert not pilot.shows("The pattern does not work")


async def test_a_paste_without_end_is_not_taken(open_dialog: OpenDialog) -> None:
    async with open_dialog(FindDialog(TEXT)) as pilot:
        await pilot.type("one")
        for text in ("x" * 1_000_000, "x\n" * 20_000):
            await pilot.paste(text)
            assert pilot.shows("1 of 3")
        await pilot.press("escape")
        assert pilot.result == FindResult(FindQuery("one"), (0, 3))
    told = [note.message for note in pilot.app._notifications]
    assert told == [
        "Not pasted: 1,000,000 characters, this field takes 20,000.",
        "Not pasted: 80,000 characters, this field takes 20,000.",
    ]


async def test_pasted_invisible_character_becomes_a_visible_escape(
    open_dialog: OpenDialog,
) -> None:
    async with open_dialog(FindDialog(TEXT)) as pilot:
        await pilot.paste("one\u200b")
        assert pilot.shows(r"one\u200b")
        assert pilot.shows("1 of 1")
        await pilot.press("escape")
        assert pilot.result == FindResult(FindQuery(r"one\u200b", regex=True), (8, 12))


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 5)])
async def test_text_above_stays_in_view(open_dialog: OpenDialog, size: tuple[int, int]) -> None:
    async with open_dialog(FindDialog(TEXT, 0, FindQuery("one")), size) as pilot:
        lines = pilot.screen_lines()
        assert "one" in "".join(lines[-4:])
        assert not "".join(lines[: size[1] - 3]).strip()
        await pilot.click_text("Esc")
        assert not pilot.is_open


async def test_a_search_that_takes_a_moment_says_so_and_how_it_ended(
    open_dialog: OpenDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slowly(*_: object, **__: object) -> Matches:
        go_on.wait(60)
        return Matches(complete=False, problem="Stopped: the search took too long.")

    async with open_dialog(FindDialog("aaa", query=FindQuery("")), (100, 30)) as pilot:
        monkeypatch.setattr(find, "find_all", slowly)
        monkeypatch.setattr(find, "_PATIENCE", 0.01)
        await pilot.pilot.press("a")
        await until(pilot.pilot, lambda: pilot.shows("searching…"))
        go_on.set()
        await pilot.settle()
        assert pilot.shows("Stopped: the search took too long.")
        assert pilot.shows("stopped") and not pilot.shows("searching…")


async def test_what_is_looked_for_again_is_known_while_another_search_goes_on(
    open_dialog: OpenDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = threading.Event()

    def until_stopped(
        text: str, query: FindQuery, *, put: str | None, stop: Callable[[], bool]
    ) -> Matches:
        while not stop():
            time.sleep(0.01)
        stopped.set()
        return Matches()

    async with open_dialog(FindDialog("aaa", query=FindQuery("a")), (100, 30)) as pilot:
        await until(pilot.pilot, lambda: pilot.shows("1 of 3"))
        monkeypatch.setattr(find, "find_all", until_stopped)
        monkeypatch.setattr(find, "_PATIENCE", 0.01)
        await pilot.pilot.press("end", "b")
        await until(pilot.pilot, lambda: pilot.shows("searching…"))
        await pilot.pilot.press("backspace")
        await until(pilot.pilot, lambda: pilot.shows("1 of 3"))
        await until(pilot.pilot, stopped.is_set)
