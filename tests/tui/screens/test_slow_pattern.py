"""The app with a tokenizer file whose split pattern explodes: every key is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokviz
from tests.tui.test_token_card import CardApp
from tests.tui.waiting import settle, until
from tokviz.chat.conversation import Conversation, Message
from tokviz.live.document import LiveDocument
from tokviz.session import Opened, Session, ShowConversation
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.tokens import TokensScreen

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
async def test_the_other_tokens_are_shown_and_the_piece_is_named(
    by_library: bool, tmp_path: Path
) -> None:
    tokenizer = hostile(tmp_path)
    if by_library:
        pytest.importorskip("tokenizers")
        tokenizer.save(tmp_path / "tokenizer.json")
        tokenizer = tokviz.load(tmp_path / "tokenizer.json")
        assert tokenizer.remote
    app = TokvizApp(Session(Opened(f"hello\n{Z34}\nhello"), tokenizer, remember=False))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        await until(pilot, lambda: screen.live.complete)
        await settle(pilot)
        said = [toast.message for toast in app._notifications]
        assert screen.live.n_tokens == 5 + 1 + 17 + 1 + 5
        assert any("takes too long for one piece at character 6" in word for word in said)


async def test_the_status_line_names_the_slow_pieces_and_leads_to_them(tmp_path: Path) -> None:
    app = app_with(f"a\n{Z34}\nb\n{Z34}\n", tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = screen_of(app)
        await until(pilot, lambda: "slow piece" in screen.status.text)
        assert "⚠ 2 slow pieces, the first at character 2" in screen.status.text
        places = []
        for _ in range(3):
            await pilot.press("ctrl+l", "j")
            places.append(screen.editor.selection.end)
        assert places == [(1, 0), (3, 0), (1, 0)]
        x = screen.status.text.index("slow pieces") + 1
        await pilot.click("#status", offset=(x, 0))
        assert screen.editor.selection.end == (3, 0)
        screen.text.replace_all("zz")
        await until(pilot, lambda: screen.live.complete)
        await settle(pilot)
        assert "slow" not in screen.status.text
        before = screen.editor.selection
        await pilot.press("ctrl+l", "j")
        assert screen.editor.selection == before


async def test_a_selection_is_explained_in_a_thread(tmp_path: Path) -> None:
    live = LiveDocument(f"{Z34}!", hostile(tmp_path))
    assert live.encode_pending(60) and live.complete
    app = CardApp(live)
    async with app.run_test(size=(60, 40)) as pilot:
        app.card.set_selection((0, 35))
        assert app.card._explained is None
        await until(pilot, lambda: app.card._explained is not None)
        assert "takes too long for one piece" in " ".join(app.lines())


async def test_a_conversation_is_rendered_and_the_piece_is_a_finding(tmp_path: Path) -> None:
    conversation = Conversation((Message("user", f"hello\n{Z34}"), Message("assistant", "hi")))
    session = Session(Opened(""), hostile(tmp_path), first=ShowConversation(conversation))
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        await until(pilot, lambda: screen.rendered.findings)
        await settle(pilot)
        assert screen.rendered.problem is None
        assert screen.rendered.rendering is not None
        messages = [finding.message for finding in screen.rendered.findings]
        assert any("message 1: the split pattern takes too long" in m for m in messages)
