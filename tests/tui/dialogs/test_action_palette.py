"""The command palette finds what people look for, by their own words, wherever it is done."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

import tokviz
from tests.formats.samples import trained
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.action_palette import (
    ActionPalette,
    Offer,
    offers_elsewhere,
    offers_here,
    search,
)
from tokviz.tui.dialogs.file_dialog import FileDialog
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.widgets.lists import RowList
from tokviz.workspace.session import Opened, Session, ShowScreen


@pytest.fixture(autouse=True)
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    runs = tmp_path / "runs"
    tokviz.train(["the cat and the theme of the theory " * 9], 262).save(runs / "novels [a]")
    monkeypatch.setattr("tokviz.training.run_library.runs_folder", lambda: runs)
    return runs


def make_app(screen: str = "tokens") -> TokvizApp:
    first = ShowScreen(screen)
    return TokvizApp(Session(Opened("hello"), trained(), remember=False, first=first))


async def hits(app: TokvizApp, query: str) -> list[tuple[str, Any]]:
    """Search, and list titles and what is done, the best first."""
    elsewhere = await asyncio.to_thread(lambda: list(offers_elsewhere(app)))
    return [(offer.title, offer.do) for offer in search(query, offers_here(app), elsewhere)]


async def pick(pilot: Pilot[None], query: str, title: str) -> None:
    """Choose a hit, and wait for what comes of it."""
    app = pilot.app
    assert isinstance(app, TokvizApp)
    found = dict(await hits(app, query))
    assert title in found, list(found)
    result = found[title]()
    if result is not None:
        await result
    await settle(pilot)


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("compare", "Compare screen"),
        ("versus", "Compare screen"),
        ("diff", "Compare screen"),
        ("compare", "Splits panel"),
        ("compare with", "Replay: Compare with another"),
        ("explain", "Token panel"),
        ("why not one token", "Why?"),
        ("tutorial", "Help"),
        ("settings", "Dark or light"),
        ("config", "Theme…"),
        ("export", "Save the text as…"),
        ("export", "Vocabulary: Export the list…"),
        ("html", "Export this view…"),
        ("unicode", "Insert a character…"),
        ("pattern", "Splits panel"),
        ("llama", "Choose a tokenizer"),
        ("o200k", "Tokenizer: o200k_base (GPT-4o, GPT-4.1, GPT-5, o1, o3, o4-mini)"),
        ("gpt-4.1", "Tokenizer: o200k_base (GPT-4o, GPT-4.1, GPT-5, o1, o3, o4-mini)"),
        ("novels", "Tokenizer: novels [a]"),
        ("novels", "Replay: novels [a]"),
    ],
)
async def test_it_is_found_by_what_people_type(query: str, title: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        assert title in [found for found, _ in await hits(app, query)][:6]


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
async def test_usual_search_words_find_an_action_from_every_screen(screen: str) -> None:
    expected = {
        "preferences": "Settings and keys",
        "settings": "Settings and keys",
        "keybindings": "Settings and keys",
        "shortcuts": "Settings and keys",
        "font": "Settings and keys",
        "whitespace": "Show or hide invisible characters",
        "screenshot": "Export this view…",
        "lookup": "Glossary",
        "animate": "Animation for a slide…",
        "quit": "Quit",
        "exit": "Quit",
        "theme": "Theme…",
        "color": "Theme…",
        "dark mode": "Dark or light",
        "copy": "Copy",
        "export": "Export",
    }
    app = make_app(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for query, title in expected.items():
            found = [title for title, _ in await hits(app, query)][:6]
            assert any(one.rpartition(": ")[2].startswith(title) for one in found), (query, found)


async def test_the_settings_entry_opens_that_page_of_the_guide() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pick(pilot, "font", "Settings and keys")
        text = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "Settings, themes and keys" in text


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
async def test_every_action_of_every_other_screen_is_offered(screen: str) -> None:
    app = make_app(screen)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        found = [title for title, _ in await hits(app, "next")]
        others = {"tokens": "Next tokenizer", "chat": "Next message", "vocabulary": "Next panel"}
        titles = {kind.id: kind.title for kind in SCREENS}
        for other, title in others.items():
            assert (f"{titles[other]}: {title}" in found) == (other != screen), (other, found)


async def test_another_screens_action_goes_there_and_is_done() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pick(pilot, "add files", "Train: Add files to the corpus")
        assert app.current_mode == "train"
        await until(pilot, lambda: isinstance(app.screen, FileDialog))
        await pilot.press("escape")
        await pick(pilot, "select all", "Tokens: Select all")
        assert app.current_mode == "tokens"
        await until(pilot, lambda: not app.screen.editor.selection.is_empty)  # type: ignore[attr-defined]


async def test_what_makes_no_sense_there_is_not_done_and_said() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pick(pilot, "replay the", "Train: Replay the training")
        await until(pilot, lambda: len(app._notifications) == 1)
        assert app.current_mode == "train"
        await pilot.press("alt+k")
        assert "Train: Replay the training" not in dict(await hits(app, "replay the"))


async def test_a_tokenizer_and_a_training_are_taken_from_any_screen() -> None:
    app = make_app("vocabulary")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pick(pilot, "novels", "Tokenizer: novels [a]")
        await until(pilot, lambda: app.session.tokenizer.n_vocab == 262)
        assert app.current_mode == "tokens"
        await pick(pilot, "novels", "Replay: novels [a]")
        assert app.current_mode == "replay"


async def test_what_is_typed_into_the_palette_finds_another_screens_action() -> None:
    app = make_app("train")
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+p")
        palette = app.screen
        assert isinstance(palette, ActionPalette)
        palette.query_one(Input).value = "copy the text"
        await until(
            pilot, lambda: palette.rows.row and "Tokens: Copy the" in palette.rows.row.title
        )
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "tokens")


async def test_an_enter_right_behind_the_letters_does_what_they_find() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        before = app.theme
        for key in ("ctrl+p", *"dark", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: app.theme != before)
        assert len(app.screen_stack) == 1 and app.session.live.text == "hello"


async def test_letters_without_end_keep_nobody_waiting() -> None:
    async with make_app().run_test() as pilot:
        await pilot.press("ctrl+p")
        for letter in "help" * 20:
            pilot.app.post_message(events.Key(letter, letter))
        field = pilot.app.screen.query_one(Input)
        await until(pilot, lambda: field.value == "help" * 20)
        rows = pilot.app.screen.query_one(RowList)
        await until(pilot, lambda: "No matches." in rows.render_line(0).text)


async def test_what_is_pasted_into_the_palette_is_a_clean_line() -> None:
    async with make_app().run_test() as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, ActionPalette))
        pilot.app.post_message(events.Paste("he\udc9b931m\x1b[2J\u202elp\nquit"))
        await settle(pilot)
        assert pilot.app.screen.query_one(Input).value == "he931m[2Jlp"


async def test_what_was_highlighted_stays_so_when_the_rest_is_found_late() -> None:
    go_on = threading.Event()
    app = make_app()
    async with app.run_test() as pilot:
        await settle(pilot)

        def listed_late() -> list[Offer]:
            go_on.wait(30)
            return [Offer(f"copy {number}", "", "", lambda: None) for number in range(5)]

        palette = ActionPalette(offers_here(app), listed_late)
        app.push_screen(palette)
        await until(pilot, lambda: palette.is_ready)
        await pilot.press(*"copy", "down")
        chosen, n_rows = palette.rows.row, len(palette.rows.rows)
        go_on.set()
        await until(pilot, lambda: len(palette.rows.rows) > n_rows)
        assert palette.rows.row is chosen
