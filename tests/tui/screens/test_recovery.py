"""Unsaved work is offered once, in a line of its own, and can be answered."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import tokviz
from tests.tui.waiting import on_screen, settle, until
from tokviz.storage.folders import state_folder
from tokviz.storage.locks import FileLock
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.pick import UnsavedDialog
from tokviz.tui.screens import safekeeping
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.safekeeping import CONVERSATIONS, title_of
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.tokens import screen as tokens_screen
from tokviz.workspace.recovery_journal import RecoverableText, RecoveryJournal
from tokviz.workspace.session import Opened, Session

TYPING = """
import asyncio, os, signal, sys
import tokviz
from tokviz.storage.folders import state_folder
from tokviz.workspace.session import Opened, Session
from tokviz.tui.app import TokvizApp

async def main():
    app = TokvizApp(Session(Opened("words " * 1_000_000), tokviz.load("gpt2")))
    async with app.run_test() as pilot:
        for typed in (b"first", b"second"):
            await pilot.press(*typed.decode())
            while not any(typed in file.read_bytes() for file in state_folder().glob("*.tokviz")):
                await pilot.pause(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for what was not saved with the first frame."""
    monkeypatch.setattr(tokens_screen, "RECOVERY_DELAY", 0.01)


def leave(text: str, source: Path | None = None, below: str = "") -> None:
    """Leave a text behind as a session does that ends without saving it."""
    autosave = RecoveryJournal(below=below)
    autosave.set_text(text, source)
    assert autosave.flush() is None
    autosave.end()


def make_app() -> TokvizApp:
    return TokvizApp(Session(Opened("hello"), tokviz.load("gpt2")))


async def offered(pilot: Pilot[None]) -> TokensScreen:
    """Give the screen once it offers something."""
    screen = pilot.app.screen
    assert isinstance(screen, TokensScreen)
    await until(pilot, lambda: screen.recovery.leftovers)
    await settle(pilot)
    return screen


def bar_of(screen: TokensScreen) -> str:
    bar = screen.recovery.bar
    return bar.render_line(0).text if bar.display else ""


async def click(pilot: Pilot[None], screen: TokensScreen, word: str) -> None:
    """Click a word in the bar."""
    await pilot.click(screen.recovery.bar, offset=(bar_of(screen).index(word) + 2, 0))
    await settle(pilot)


def journals() -> list[Path]:
    return list(state_folder().glob("*.tokviz"))


async def test_what_was_not_saved_is_offered_in_a_line_and_restored_by_a_click() -> None:
    leave("my words", Path("/tmp/a.txt"))
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        assert "(a.txt), 8 B:  Restore  Discard  Later" in bar_of(screen)
        assert not app._notifications
        assert screen.editor.has_focus
        await click(pilot, screen, "Restore")
        assert (screen.live.text, screen.session.path) == ("my words", Path("/tmp/a.txt"))
        assert screen.session.modified
        assert bar_of(screen) == ""
        (kept,) = journals()
        assert b"my words" in kept.read_bytes(), "it is safe under the name of this session"
        await pilot.press("ctrl+z")
        assert screen.live.text == "hello"


async def test_what_is_restored_takes_the_place_of_unsaved_changes_only_if_one_agrees() -> None:
    leave("my words", Path("/tmp/a.txt"))
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        await pilot.press("x")
        await click(pilot, screen, "Restore")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        await settle(pilot)
        assert (screen.live.text, screen.session.path) == ("xhello", None)
        assert "(a.txt), 8 B:  Restore" in bar_of(screen), "it is still offered"
        await click(pilot, screen, "Restore")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: bar_of(screen) == "")
        assert (screen.live.text, screen.session.path) == ("my words", Path("/tmp/a.txt"))


async def test_what_is_discarded_is_gone_and_what_is_left_for_later_comes_again() -> None:
    leave("one")
    leave("two")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        assert "1 more" in bar_of(screen)
        await click(pilot, screen, "Discard")
        assert len(journals()) == 1
        await click(pilot, screen, "Later")
        assert bar_of(screen) == ""
    async with make_app().run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        assert [left.text() for left in screen.recovery.leftovers] == ["one"]


async def test_all_of_them_are_listed_and_answered_by_the_keyboard() -> None:
    for text in ("one", "two", "three"):
        leave(text)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        await pilot.press("ctrl+b", "down", "d")
        await settle(pilot)
        assert [left.text() for left in screen.recovery.leftovers] == ["three", "one"]
        assert isinstance(app.screen, UnsavedDialog)
        await pilot.press("escape")
        assert len(screen.recovery.leftovers) == 2
        await pilot.press("ctrl+b", "down", "enter")
        await settle(pilot)
        assert screen.live.text == "one"
        assert "3 B" not in bar_of(screen), "the one that is left is longer"


async def test_texts_of_one_length_are_told_apart_by_how_they_begin() -> None:
    for text in ("LEFT ONE", "LEFT TWO"):
        leave(text)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await offered(pilot)
        await pilot.press("ctrl+b")
        await settle(pilot)
        assert "It begins: LEFT TWO" in on_screen(app)
        await pilot.press("down")
        await settle(pilot)
        assert "It begins: LEFT ONE" in on_screen(app)


async def test_a_d_for_each_discards_them_all_and_none_goes_to_the_text() -> None:
    for text in ("one", "two", "three"):
        leave(text)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        await pilot.press("ctrl+b", "d", "d", "d")
        await settle(pilot)
        assert app.screen is screen
        assert journals() == []
        assert "d" not in screen.live.text


async def test_two_sessions_do_not_offer_the_same() -> None:
    leave("one")
    async with make_app().run_test(size=(80, 24)) as pilot:
        await offered(pilot)
        other = RecoveryJournal()
        assert other.recoverable_texts() == []


@pytest.mark.parametrize("size", [(80, 24), (40, 12)], ids=["80", "40"])
async def test_the_first_screen_says_that_a_conversation_was_not_saved_and_leads_there(
    size: tuple[int, int],
) -> None:
    leave('{"messages": [{"role": "user", "content": "mine"}]}', below=CONVERSATIONS.folder)
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, TokensScreen)
        await until(pilot, lambda: "Unsaved conversation" in bar_of(screen))
        assert "Later" in bar_of(screen)
        await click(pilot, screen, "^L 3")
        chat = app.screen
        assert isinstance(chat, ChatScreen)
        await until(pilot, lambda: chat.recovery.leftovers)
        await pilot.press("ctrl+l", "1")
        await settle(pilot)
        assert app.screen is screen
        assert bar_of(screen) == "", "the Chat screen offers it from now on"


async def test_text_and_conversation_are_both_named_and_later_is_later() -> None:
    leave("one")
    leave("{}", below=CONVERSATIONS.folder)
    async with make_app().run_test(size=(120, 24)) as pilot:
        screen = await offered(pilot)
        await until(pilot, lambda: "unsaved conversation: ^L 3" in bar_of(screen))
        assert "Restore" in bar_of(screen)
        await click(pilot, screen, "Discard")
        assert "Unsaved conversation" in bar_of(screen)
        await click(pilot, screen, "Later")
        await pilot.press("f1", "escape")
        await settle(pilot)
        assert bar_of(screen) == ""


async def test_a_damaged_one_is_named_and_can_only_be_discarded() -> None:
    leave("one")
    (file,) = journals()
    file.write_bytes(b"rubbish")
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        assert "damaged:  Discard  Later" in bar_of(screen)
        await pilot.press("ctrl+b", "enter")
        await settle(pilot)
        assert any(str(file) in notice.message for notice in app._notifications)
        assert screen.live.text == "hello"
        await click(pilot, screen, "Discard")
        assert not file.exists()


async def test_the_answers_fit_into_a_small_terminal() -> None:
    leave("one")
    async with make_app().run_test(size=(40, 12)) as pilot:
        screen = await offered(pilot)
        assert "Restore  Discard  Later" in bar_of(screen)


@pytest.mark.parametrize("remember", [True, False])
async def test_who_quits_is_told_that_what_is_not_saved_comes_again(remember: bool) -> None:
    app = TokvizApp(Session(Opened("hello"), tokviz.load("gpt2"), remember=remember))
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.is_ready)
        await pilot.press("x", "ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        question = str(app.screen.query_one("#question", Static).content)
        assert ("The next start offers it again." in question) == remember
        await pilot.press("escape")


async def test_nothing_is_offered_where_nothing_was_left() -> None:
    async with make_app().run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, TokensScreen)
        assert bar_of(screen) == ""
        await pilot.press("ctrl+b")
        assert pilot.app.screen is screen


def test_what_was_typed_before_a_kill_is_there_however_long_the_text() -> None:
    done = subprocess.run([sys.executable, "-c", TYPING], check=False, capture_output=True)
    assert done.returncode == -9, done.stderr
    assert safekeeping.AUTOSAVE_SECONDS <= 0.5, "half of the second that may be lost"
    (left,) = RecoveryJournal().recoverable_texts()
    assert left.n_bytes > 5_000_000
    assert left.text()[:17] == "firstsecondwords "


async def test_what_is_found_while_the_screen_ends_is_offered_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tokens_screen, "RECOVERY_DELAY", 1000.0)
    leave("kept from before")
    app = make_app()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen.is_ready)
        recovery = app.screen.recovery
        await app.screen.remove_children()
        recovery.offer(RecoveryJournal().recoverable_texts())
        assert recovery.leftovers
        assert not recovery.bar.is_attached


async def test_a_text_that_cannot_be_kept_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    monkeypatch.setattr(RecoveryJournal, "flush", lambda self: "It is not backed up: no room.")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        assert isinstance(screen, TokensScreen)
        for key in "abc":
            await pilot.press(key)
            screen.files.safe.keep()
            await settle(pilot)
        assert len(app._notifications) == 1


async def test_nothing_is_kept_any_more_once_it_is_saved() -> None:
    async with make_app().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, TokensScreen)
        await pilot.press("x")
        screen.files.safe.keep()
        await settle(pilot)
        assert journals()
        screen.session.saved_version = screen.session.version
        screen.files.safe.keep()
        await settle(pilot)
        assert not journals()


@pytest.mark.parametrize(
    ("days", "n_bytes", "title"),
    [
        (0, 12_345, "Unsaved text of 14:03, 12 kB"),
        (2, 3, "Unsaved text of 2024-05-04 14:03, 3 B"),
    ],
    ids=["today", "before"],
)
def test_a_title_says_when_and_how_much(
    tmp_path: Path, days: int, n_bytes: int, title: str
) -> None:
    now = datetime(2024, 5, 6, 14, 3, tzinfo=UTC)
    when = now - timedelta(days=days)
    left = RecoverableText(tmp_path / "a", FileLock(tmp_path / "b"), when, n_bytes)
    assert title_of(left, "text", now) == title


async def test_the_list_means_what_it_shows_though_one_was_answered_meanwhile() -> None:
    for text in ("one", "two", "three"):
        leave(text)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        recovery = screen.recovery
        await pilot.press("ctrl+b", "down")
        await settle(pilot)
        first = recovery.leftovers[0]
        recovery._take(first)
        await until(pilot, lambda: first not in recovery.leftovers)
        await pilot.press("d")
        await settle(pilot)
        assert [left.text() for left in recovery.leftovers] == ["one"]


async def test_a_long_text_that_is_back_is_not_offered_once_more() -> None:
    leave("my words " * 40_000)
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await offered(pilot)
        (left,) = screen.recovery.leftovers
        await click(pilot, screen, "Restore")
        await until(pilot, lambda: screen.live.n_chars > 300_000)
        await until(pilot, lambda: any(file != left.file for file in journals()))
        await settle(pilot)
        assert left.file not in journals()


async def test_what_could_not_be_kept_is_kept_once_that_works_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(safekeeping, "AGAIN_SECONDS", 0.01)
    tries = 0

    def flush(autosave: RecoveryJournal) -> str | None:
        nonlocal tries
        tries += 1
        return "No room to keep the text." if tries < 4 else works(autosave)

    works = RecoveryJournal.flush
    monkeypatch.setattr(RecoveryJournal, "flush", flush)
    app = TokvizApp(Session(Opened("x"), tokviz.load("gpt2")))
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("a")
        await until(pilot, lambda: list(state_folder().glob("autosave-*.tokviz")))
        (kept,) = state_folder().glob("autosave-*.tokviz")
        assert b"ax" in kept.read_bytes()
        assert [toast.message for toast in app._notifications] == ["No room to keep the text."]
    assert tries >= 4


@pytest.mark.parametrize(
    "size", [(120, 40), (100, 30), (80, 24), (30, 10), (26, 12), (80, 8)], ids=str
)
async def test_the_offer_moves_and_hides_nothing(size: tuple[int, int]) -> None:
    leave("one")
    async with make_app().run_test(size=size) as pilot:
        screen = await offered(pilot)
        offer = screen.query_one("#recovery").region
        assert offer.height == 1
        assert not offer.overlaps(screen.query_one("#text").content_region)

        def regions() -> list[object]:
            return [widget.region for widget in screen.query("#title, #text, #keys, .panel")]

        with_offer = regions()
        await screen.run_action("ask_later")
        await settle(pilot)
        assert not screen.query_one("#recovery").display
        assert regions() == with_offer
