"""What is loaded in a thread: the user is asked before large files, and Esc ends it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import tokviz
from tests.robustness.hostile import FILES
from tests.tui.waiting import settle, until
from tokviz.formats import budget
from tokviz.process.runner import JobDroppedError, raise_if_stopped
from tokviz.tui import tasks
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.tokenizer_picker import TokenizerPicker
from tokviz.tui.screens import choosing
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings


def make_app() -> TokvizApp:
    return TokvizApp(Session(Opened("a b"), tokviz.load("gpt2"), Settings(), remember=False))


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file that is taken for large, of 256 tokens."""
    monkeypatch.setattr(budget, "LARGE_BYTES", 100)
    path = tmp_path / "large.json"
    tokviz.Tokenizer({byte: bytes([byte]) for byte in range(256)}, []).save(path)
    return str(path)


async def test_a_large_file_is_read_when_the_user_says_so(large: str) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = app.screen
        assert isinstance(screen, TokensScreen)
        for answer, n_vocab in (("escape", 50257), ("enter", 256)):
            screen.choice.use(large)
            await settle(pilot)
            assert isinstance(app.screen, ConfirmDialog)
            await pilot.press(answer)
            await settle(pilot)
            assert app.session.tokenizer.n_vocab == n_vocab


async def test_the_list_of_tokenizers_asks_before_it_reads_a_large_file(large: str) -> None:
    app = make_app()
    async with app.run_test() as pilot:
        screen = app.screen
        assert isinstance(screen, TokensScreen)
        screen.choice.pick(large)
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.screen, TokenizerPicker)
        assert app.session.tokenizer.n_vocab == 50257
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.tokenizer.n_vocab == 256)


async def test_a_file_that_takes_more_than_others_is_read_further_when_it_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "_MEMORY_MB", 64)
    monkeypatch.setattr(tasks, "_TOLD", set())
    path = str(FILES["a vocabulary of 5 MB"].write(tmp_path / "v"))
    app = make_app()
    async with app.run_test() as pilot:
        screen = app.screen
        assert isinstance(screen, TokensScreen)

        def said() -> str:
            return " ".join(toast.message for toast in app._notifications)

        screen.choice.use(path)
        await until(pilot, lambda: "Open it again to continue reading." in said())
        assert "v.tiktoken takes more than 64 MB of memory to read, as few files" in said()
        assert "reading on may take 50 s of processor time and 256 MB of memory." in said()
        assert app.screen is screen, "no dialog comes in the way of what is typed"
        assert app.session.tokenizer.n_vocab == 50257
        screen.choice.use(path)
        await until(pilot, lambda: app.session.tokenizer.n_vocab == 250_256)


async def test_esc_ends_a_loading_what_was_there_stays_and_nothing_says_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended, found = threading.Event(), threading.Event()

    def load_for_ever(source: str) -> tokviz.Tokenizer:
        try:
            while not found.is_set():
                raise_if_stopped()
                ended.wait(0.01)
            return tokviz.load("o200k_base")
        except JobDroppedError:
            ended.set()
            raise

    monkeypatch.setattr(choosing, "load", load_for_ever)
    monkeypatch.setattr(tasks, "_PATIENCE", 0.01)
    app = make_app()
    async with app.run_test() as pilot:
        screen = app.screen
        assert isinstance(screen, TokensScreen)
        screen.choice.use("some/where.json")

        def told(words: str) -> bool:
            return any(words in toast.message for toast in app._notifications)

        await until(pilot, lambda: told("Loading where.json…") and told("Esc stops it"))
        await pilot.press("escape")
        await until(pilot, ended.is_set)
        await settle(pilot)
        assert told("Loading where.json was stopped")
        assert not told("Esc stops it")
        assert app.session.tokenizer.name == "gpt2"
        screen.choice.use("some/where.json")
        await until(pilot, lambda: told("Esc stops it"))
        found.set()
        await settle(pilot)
        assert app.session.tokenizer.name == "o200k_base"
        assert not told("Esc stops it")
