"""The Tokens screen with a tokenizer that Hugging Face's library encodes in another process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokviz
from tests.tui.waiting import settle
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.workspace.session import Opened, Session

hf = pytest.importorskip("tokenizers")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture
def tokenizer(tmp_path: Path) -> Iterator[tokviz.Tokenizer]:
    """Words, lower-cased; a text with a "q" in it costs more memory than the child may have."""
    vocab = {word: number for number, word in enumerate(["the", "cat", "sat", "[UNK]"])}
    made = hf.Tokenizer(hf.models.WordLevel(vocab, unk_token="[UNK]"))
    made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
    content = json.loads(made.to_str())
    bomb = {"type": "Replace", "pattern": {"String": "q"}, "content": "q" * 100_000}
    content["normalizer"] = {
        "type": "Sequence",
        "normalizers": [{"type": "Lowercase"}, bomb, bomb],
    }
    path = tmp_path / "words.json"
    path.write_text(json.dumps(content))
    loaded = tokviz.load(path)
    yield loaded
    loaded.close()


def make_app(text: str, tokenizer: tokviz.Tokenizer) -> TokvizApp:
    return TokvizApp(Session(Opened(text), tokenizer, remember=False))


def screen_of(app: TokvizApp) -> TokensScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, TokensScreen)
    return screen


async def test_tokens_follow_the_typing(tokenizer: tokviz.Tokenizer) -> None:
    app = make_app("The cat", tokenizer)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        live = screen_of(app).live
        assert list(live.ids()) == [0, 1]
        screen_of(app).editor.focus()
        await pilot.press("ctrl+end", *" sat")
        await settle(pilot)
        assert live.complete
        assert list(live.ids()) == [0, 1, 2]
        assert [(t.start, t.end) for t in live.tokens_in(0, 99)] == [(0, 3), (3, 7), (7, 11)]


async def test_an_invalid_byte_that_the_library_replaces_is_not_called_lossless(
    tokenizer: tokviz.Tokenizer,
) -> None:
    app = make_app("the\udcff", tokenizer)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        shown = str(screen_of(app).status.render_line(0).text)
        assert "⚠ 1 invalid byte becomes U+FFFD" in shown and "lossless" not in shown


async def test_a_child_that_dies_leaves_the_app_alive(tokenizer: tokviz.Tokenizer) -> None:
    app = make_app("The cat", tokenizer)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = screen_of(app)
        screen.editor.focus()
        await pilot.press("ctrl+end", "q")
        await settle(pilot)
        assert screen.live.settled and not screen.live.complete
        said = [str(notice.message) for notice in app._notifications]
        assert any("could not be computed" in message for message in said)
        await pilot.press("backspace")
        await settle(pilot)
        assert list(screen.live.ids()) == [0, 1]
