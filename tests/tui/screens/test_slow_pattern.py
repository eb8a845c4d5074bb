"""The app with a tokenizer file whose split pattern explodes: every key is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokviz
from tests.tui.waiting import settle, until
from tokviz.chat.conversation import Conversation
from tokviz.chat.messages import Message
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.workspace.session import Opened, Session, ShowConversation

Z34 = "z" * 34


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def hostile(tmp_path: Path) -> tokviz.Tokenizer:
    path = tmp_path / "hostile.model"
    path.write_text("minbpe v1\n(?:z|z)*b| ?\\p{L}+|\\s+|[^\\s]\n0\n122 122\n", encoding="utf-8")
    return tokviz.load(path)


def app_with(text: str, tmp_path: Path) -> TokvizApp:
    return TokvizApp(Session(Opened(text), hostile(tmp_path), remember=False))


def screen_of(app: TokvizApp) -> TokensScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, TokensScreen)
    return screen


async def test_ctrl_q_answers_while_the_pattern_explodes(tmp_path: Path) -> None:
    app = app_with("", tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*Z34)
        live = screen_of(app).live
        assert live.text == Z34
        await pilot.press("ctrl+q")
        assert app._exit or len(app.screen_stack) > 1


@pytest.mark.parametrize("by_library", [False, True])
async def test_the_error_is_shown_until_the_text_changes(by_library: bool, tmp_path: Path) -> None:
    tokenizer = hostile(tmp_path)
    if by_library:
        pytest.importorskip("tokenizers")
        tokenizer.save(tmp_path / "tokenizer.json")
        tokenizer = tokviz.load(tmp_path / "tokenizer.json")
        assert tokenizer.remote
    app = TokvizApp(Session(Opened(f"hello\n{Z34}\nhello"), tokenizer, remember=False))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        await until(pilot, lambda: "⚠ not tokenized" in screen.status.text)
        said = [toast.message for toast in app._notifications]
        words = "takes too long" if by_library else "takes longer than"
        assert any(words in word for word in said)
        screen.text.replace_all("zz")
        await until(pilot, lambda: screen.live.complete)
        await settle(pilot)
        assert "not tokenized" not in screen.status.text


async def test_a_conversation_names_the_message(tmp_path: Path) -> None:
    conversation = Conversation((Message("user", f"hello\n{Z34}"), Message("assistant", "hi")))
    session = Session(Opened(""), hostile(tmp_path), first=ShowConversation(conversation))
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        await until(pilot, lambda: screen.rendered.findings)
        assert screen.rendered.rendering is None
        (finding,) = [one for one in screen.rendered.findings if one.code == "not-rendered"]
        assert finding.message_index == 0
        assert "takes longer than" in finding.message
