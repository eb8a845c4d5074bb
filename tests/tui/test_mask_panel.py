from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

import tokviz
from tests.tui.waiting import WAIT, settle, until
from tokviz.chat.mask_text import MaskedText
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.tokens.panels import SidePanels
from tokviz.tui.widgets import mask_panel
from tokviz.tui.widgets.mask.why import HINT
from tokviz.tui.widgets.mask_panel import MaskPanel
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings

JSON = '{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}'
CHATML = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n"


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask_panel, "PAUSE_SECONDS", 0.001)


def make_app(text: str) -> TokvizApp:
    settings = Settings(panel="mask")
    return TokvizApp(Session(Opened(text), tokviz.load("gpt2"), settings, remember=False))


async def mask_made(pilot: Pilot[None], panel: MaskPanel) -> None:
    """Wait until the mask is that of the text."""
    await until(pilot, lambda: panel.is_up_to_date)
    await settle(pilot)


async def panel_of(pilot: Pilot[None]) -> MaskPanel:
    await pilot.pause()
    screen = pilot.app.screen
    assert isinstance(screen, TokensScreen)
    panel = screen.query_one(SidePanels).current
    assert isinstance(panel, MaskPanel)
    await mask_made(pilot, panel)
    return panel


def shown(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_token_at_the_cursor_is_explained_at_once_in_whole_sentences(
    size: tuple[int, int],
) -> None:
    app = make_app("Hello world")
    async with app.run_test(size=size) as pilot:
        panel = await panel_of(pilot)
        said = " ".join("".join(line.strip("│ ") + " " for line in shown(app).split("\n")).split())
        assert "#0 Hello" in said and HINT not in said
        assert "input only: the user writes it." in said
        assert panel.flow.size.height >= 2


async def test_a_conversation_as_json_is_rendered() -> None:
    app = make_app(JSON)
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        assert panel.masked is not None
        assert panel.masked.conversation is not None and not panel.masked.aligned
        assert "2 learned" in shown(app)
        assert "special tokens are" in shown(app)


async def test_a_token_of_json_is_explained_as_long_as_it_is_the_same() -> None:
    app = make_app(JSON)
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        assert isinstance(app.screen, TokensScreen)
        text = app.screen.text
        panel.focus()
        await pilot.press("home", "right", "right")
        assert panel.flow.pinned == 2
        text.put(JSON.index("Hello"), JSON.index("Hello"), "Oh. ")
        await mask_made(pilot, panel)
        assert panel.flow.pinned == 2, "only what stands behind it has changed"
        text.put(JSON.index("Hi"), JSON.index("Hi"), "Well, well. ")
        await mask_made(pilot, panel)
        assert panel.flow.pinned is None
        assert HINT[:20] in shown(app)


async def test_a_text_in_a_templates_form_is_masked_by_its_roles() -> None:
    app = make_app(CHATML)
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        assert panel.masked is not None
        rendering = panel.masked.rendering
        learned = [i for i in range(len(rendering)) if rendering.mask[i]]
        text = b"".join(map(rendering.token_bytes, learned))
        assert text == b"Hello<|im_end|>"


async def test_the_panel_counts_what_the_status_line_counts() -> None:
    app = make_app("just<|endoftext|>words")
    async with app.run_test(size=(160, 40)) as pilot:
        panel = await panel_of(pilot)
        assert "0 learned of 3 tokens" in shown(app) and " 3 tokens ·" in shown(app)
        await pilot.press("f6")
        await mask_made(pilot, panel)
        n = len(tokviz.load("gpt2").encode("just<|endoftext|>words", "none"))
        assert f"0 learned of {n} tokens" in shown(app) and f" {n} tokens ·" in shown(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize(
    "text",
    ["", "just words", "words " * 500, '{"messages": [{"role": "typed in the wrong place"}]}'],
    ids=["no", "short", "long", "broken"],
)
async def test_any_other_text_says_so_in_whole_sentences_and_shows_an_example(
    text: str, size: tuple[int, int]
) -> None:
    app = make_app(text)
    async with app.run_test(size=size) as pilot:
        panel = await panel_of(pilot)
        about = panel.query_one("#mask-about")
        n_rows = about.visual.get_height({}, about.content_size.width)  # type: ignore[attr-defined]
        assert n_rows <= about.content_size.height
        assert "See an example" in str(about.render())
        assert "(e)" not in str(about.render()), "in the text it would be typed"
        panel.focus()
        await settle(pilot)
        assert "See an example (e)" in str(about.render())
        await pilot.press("e")
        await mask_made(pilot, panel)
        assert panel.masked is not None and panel.masked.rendering.n_learned
        assert isinstance(app.screen, TokensScreen)
        app.screen.editor.focus()
        await pilot.press("ctrl+z")
        assert panel.live.text == text


async def test_the_links_of_the_panel_work_by_mouse() -> None:
    app = make_app("just words")
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)

        async def click(words: str) -> None:
            rows = shown(app).splitlines()
            y = next(y for y, row in enumerate(rows) if words in row)
            await pilot.click(offset=(rows[y].index(words) + 1, y))
            await settle(pilot)

        await click("See an example")
        await mask_made(pilot, panel)
        assert panel.masked is not None and panel.masked.rendering.n_learned
        await click("Edit it on")
        assert app.current_mode == "chat"


async def test_tokens_that_are_the_texts_own_are_linked_both_ways() -> None:
    app = make_app("one two three")
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        screen = app.screen
        assert isinstance(screen, TokensScreen)
        panel.focus()
        await pilot.press("home", "right", "right")
        assert screen.editor.token_at_cursor() == 2
        screen.editor.focus()
        await pilot.press("ctrl+home")
        assert panel.flow.pinned == 0


async def test_the_mask_follows_the_text() -> None:
    app = make_app("words")
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        assert isinstance(app.screen, TokensScreen)
        app.screen.text.replace_all(CHATML)
        await mask_made(pilot, panel)
        assert panel.masked is not None
        assert panel.masked.conversation is None
        assert panel.masked.rendering.template == "chatml"


async def test_a_text_that_is_too_long_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask_panel, "MOST_CHARS", 3)
    app = make_app("words")
    async with app.run_test(size=(120, 40)) as pilot:
        await panel_of(pilot)
        assert "more than 3 characters" in shown(app)


async def test_the_conversation_goes_to_the_chat_screen() -> None:
    app = make_app(JSON)
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        panel.focus()
        await pilot.press("c")
        await settle(pilot)
        assert isinstance(app.screen, ChatScreen)
        assert [message.text for message in app.screen.chat.conversation.messages] == [
            "Hi",
            "Hello",
        ]


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60)])
async def test_nothing_of_a_hostile_text_reaches_the_terminal_raw(size: tuple[int, int]) -> None:
    hostile = '[{"role": "user", "content": "\\u001b]52;c;A\\u0007 \\u202e"}] \x1b[2J \u200b'
    app = make_app(hostile)
    async with app.run_test(size=size) as pilot:
        panel = await panel_of(pilot)
        assert panel.masked is not None
        assert not set(shown(app).replace("\n", "")) & set("\x1b\x07\u202e\u200b")


async def test_the_whole_reason_of_a_token_is_in_view() -> None:
    app = make_app("Tokenizers split text into pre-tokens.")
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        panel.flow.pin(4)
        await settle(pilot)
        words = " ".join(line.rpartition("││")[2].rstrip("│ ") for line in shown(app).splitlines())
        assert "Not in the loss" in " ".join(words.split())


async def test_the_mask_of_a_text_that_was_taken_out_does_not_come_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going, held, mask_text = Event(), Event(), mask_panel.mask_text

    def slow(*arguments: Any, **options: Any) -> MaskedText:
        going.set()
        assert held.wait(WAIT)
        return mask_text(*arguments, **options)

    app = make_app("words")
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await panel_of(pilot)
        assert isinstance(app.screen, TokensScreen)
        monkeypatch.setattr(mask_panel, "mask_text", slow)
        app.screen.text.replace_all(CHATML)
        await until(pilot, going.is_set)
        app.screen.text.replace_all("")
        await until(pilot, lambda: panel.is_up_to_date)
        monkeypatch.setattr(mask_panel, "PAUSE_SECONDS", 2 * WAIT)
        held.set()
        await settle(pilot)
        assert panel.masked is None
        assert "The mask shows which tokens" in shown(app)
