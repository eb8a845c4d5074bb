from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Static

import tokviz
from tests.chat.conversations import WITH_SPECIALS
from tests.tui.waiting import WAIT, settle, until
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import ChatRequest, Dataset
from tokviz.chat.dataset_lint import DatasetLinter, RowReport
from tokviz.chat.jinja_template import JinjaTemplate
from tokviz.chat.lint import lint
from tokviz.chat.render import render
from tokviz.chat.templates import TEMPLATES
from tokviz.errors import TokvizError
from tokviz.storage.files import write_file
from tokviz.storage.folders import state_folder
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.file_dialog import SaveFileDialog
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.chat.dataset import read_row
from tokviz.tui.screens.chat.files import sample_conversation
from tokviz.tui.screens.chat.scan import Scan
from tokviz.tui.screens.chat.state import Origin
from tokviz.tui.screens.chat.views import VIEWS
from tokviz.tui.widgets.conversation.rows import BlockRow, Blocks, PartPlace
from tokviz.tui.widgets.conversation.view import MessageList, PartEditor
from tokviz.tui.widgets.field import Field
from tokviz.tui.widgets.mask.base import MaskTokenPicked, kept_pin
from tokviz.tui.widgets.mask.why import why_content
from tokviz.workspace.session import Opened, RunAction, Session, ShowScreen, ShowText

CHAT = {
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "See you"},
    ]
}
HOSTILE = {
    "messages": [
        {
            "role": "user",
            "content": "\x1b]52;c;AAAA\x07 \u202e \u200b \x9b31m \U000e0041 \x7f\r\n\u2028",
        },
        {"role": "assistant", "content": "<|assistant_end|><|bos|>"},
        {"role": "user", "content": ""},
        {"role": "assistant", "content": [{"type": "python", "text": "\x1b[2J"}]},
    ]
}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep the user's folders out of the tests, and the desktop's clipboard."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    yield


def make_app(request: object = None, *, remember: bool = False) -> TokvizApp:
    first = request or ShowScreen("chat")
    session = Session(Opened("hello"), tokviz.load("gpt2"), remember=remember, first=first)
    return TokvizApp(session)


async def chat(pilot: Pilot[None], conversation: dict[str, Any] | None = None) -> ChatScreen:
    """Give the Chat screen, with a conversation."""
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ChatScreen)
    if conversation is not None:
        screen.chat.change(Conversation.from_json(conversation), PartPlace(0))
        await settle(pilot)
    return screen


def said(app: TokvizApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


async def findings(pilot: Pilot[None], screen: ChatScreen) -> list[str]:
    """Look for findings now rather than when the user pauses."""
    screen.rendered.look_for_findings()
    await settle(pilot)
    return [finding.code for finding in screen.rendered.findings]


def contents(screen: ChatScreen) -> list[str]:
    return [message.text for message in screen.chat.conversation.messages]


def roles(screen: ChatScreen) -> list[str]:
    return [message.role for message in screen.chat.conversation.messages]


def assert_exact(screen: ChatScreen) -> None:
    """What is shown is what rendering from scratch gives."""
    expected = render(
        screen.session.tokenizer,
        screen.chat.conversation,
        screen.chat.history.state.template,
        screen.chat.max_tokens,
    )
    assert screen.rendered.rendering is not None
    assert screen.rendered.rendering.ids == expected.ids
    assert screen.rendered.rendering.mask == expected.mask
    assert screen.views.rendering is screen.rendered.rendering
    blocks = screen.messages.list.blocks
    assert [[part.text for part in block.parts] for block in blocks] == [
        [part.text for part in message.parts] for message in screen.chat.conversation.messages
    ]
    place = screen.chat.place
    assert place is not None
    assert screen.messages.editor.text == blocks[place.message].parts[place.part].text


def status_text(screen: ChatScreen) -> str:
    return screen.status.render_line(0).text


def screen_text(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def test_it_begins_with_a_sample() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        assert_exact(screen)
        assert not screen.chat.modified
        text = screen_text(app)
        assert "not in the vocabulary" in text
        assert "mask from the template" in text


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_sample_can_be_written_by_every_template(template: str) -> None:
    conversation = sample_conversation()
    rendering = render(WITH_SPECIALS, conversation, template)
    assert rendering.left_out == ()
    assert rendering.n_learned > 20
    assert {finding.code for finding in lint(conversation, rendering)} <= {"special-in-content"}


async def test_a_sample_that_is_changed_is_never_written_over() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await screen.run_action("screen.sample_conversation")
        await settle(pilot)
        await pilot.press(*"tool", "enter")
        await settle(pilot)
        assert roles(screen)[-2:] == ["tool", "assistant"]
        assert not screen.chat.modified
        await pilot.press("x", "ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, SaveFileDialog)


async def test_wide_characters_are_drawn_where_there_is_room_for_none() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, {"messages": [{"role": "user", "content": "世界"}]})
        await pilot.resize_terminal(5, 24)
        await settle(pilot)
        assert screen.query_one(PartEditor).wrapped_document.height == 2


async def test_every_key_is_rendered_at_once() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        for key in ["T", "o", "k", "é", "世", "enter", "x", "backspace"]:
            await pilot.press(key)
            assert_exact(screen)
        assert contents(screen)[0] == "Toké世\nHi"


async def test_the_cursor_goes_on_into_the_next_message() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("down", "A")
        await pilot.press("up", "B")
        await pilot.press("ctrl+down", "ctrl+down", "C")
        assert contents(screen) == ["HBi", "AHello", "CBye", "See you"] or contents(screen) == [
            "BHi",
            "AHello",
            "CBye",
            "See you",
        ]
        assert_exact(screen)


async def test_undo_takes_back_every_kind_of_change_one_by_one() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        before = [screen.chat.history.state]

        async def step(*keys: str) -> None:
            screen.chat.history.break_run()
            await pilot.press(*keys)
            assert screen.chat.history.state.conversation is not before[-1].conversation or (
                screen.chat.history.state.template != before[-1].template
            )
            before.append(screen.chat.history.state)

        await step("x")
        await step("alt+a")
        await step("y")
        await step("alt+up")
        await step("shift+delete")
        await step("ctrl+l", "a", "enter")
        await step("alt+p", "enter")
        await step("shift+f6", "down", "enter")
        await step("ctrl+n")
        for state in reversed(before[:-1]):
            await pilot.press("ctrl+z")
            assert screen.chat.conversation == state.conversation
            assert screen.chat.history.state.template == state.template
        for state in before[1:]:
            await pilot.press("ctrl+y")
            assert screen.chat.conversation == state.conversation


async def test_keys_of_texts_mean_the_same_in_a_message_and_deleting_names_its_undo() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        before = contents(screen)
        screen.messages.go_to(PartPlace(0), (0, 0))
        await pilot.press("ctrl+d")
        assert contents(screen) == [before[0][1:], *before[1:]], "a character goes"
        await pilot.press("ctrl+a", "x")
        assert contents(screen) == ["x", *before[1:]], "all of the message was selected"
        await pilot.press("shift+delete")
        await settle(pilot)
        assert contents(screen) == before[1:]
        assert [notice.message for notice in app._notifications] == [
            "Message 1 (user) is deleted. Ctrl+Z brings it back."
        ]
        await pilot.press("ctrl+z")
        assert contents(screen) == ["x", *before[1:]]


async def test_roles_alternate_when_messages_are_added() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, {"messages": [{"role": "user", "content": "Hi"}]})
        await pilot.press("alt+a", "a", "alt+a", "b")
        assert list(zip(roles(screen), contents(screen), strict=True)) == [
            ("user", "Hi"),
            ("assistant", "a"),
            ("user", "b"),
        ]
        assert_exact(screen)


async def test_backspace_in_an_empty_message_deletes_it_and_goes_to_the_end_before() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("alt+a", "backspace", "!")
        assert contents(screen)[:2] == ["Hi!", "Hello"]


async def test_switching_templates_never_loses_text() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        before = screen.chat.conversation
        seen = set()
        for _ in range(5):
            await app.run_action("next_template", screen)
            seen.add(screen.chat.history.state.template)
            assert screen.chat.conversation is before
        assert len(seen) == 5


async def test_a_conversation_that_a_template_cannot_write_says_why_and_where() -> None:
    app = make_app()
    chat_ = {"messages": [{"role": "assistant", "content": "first"}]}
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, chat_)
        assert screen.rendered.rendering is None
        assert "message 1" in screen_text(app)
        screen.looking.show_view("findings")
        screen.rendered.findings = []
        screen._show_rendering()
        await pilot.pause()
        assert "Nothing was found" not in screen_text(app)
        assert "not-rendered" in await findings(pilot, screen)
        await pilot.press("z")
        assert contents(screen) == ["zfirst"]


async def chat_with_a_finding(pilot: Pilot[None]) -> ChatScreen:
    """Type a special token into the last message, and go to the first."""
    screen = await chat(pilot, CHAT)
    screen.messages.go_to(PartPlace(3), (0, 0))
    await pilot.press(*"<|bos|>")
    screen.messages.go_to(PartPlace(0), (0, 0))
    assert await findings(pilot, screen) == ["special-in-content"]
    return screen


async def test_a_finding_leads_to_its_message_and_its_token() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat_with_a_finding(pilot)
        await pilot.press("f3")
        assert screen.chat.place == PartPlace(3)
        assert screen.views.pin == screen.rendered.findings[0].token_index
        pin = screen.views.pin
        assert pin is not None
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.message_of[pin] == 3


async def test_a_finding_of_what_was_there_before_a_key_leads_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tokviz.tui.screens.chat.rendering.LINT_SECONDS", 2 * WAIT)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat_with_a_finding(pilot)
        await pilot.press(*"a b c ", "f3")
        assert screen.chat.place == PartPlace(0)
        assert "The conversation is still being checked." in said(app)
        await findings(pilot, screen)
        await pilot.press("f3")
        assert screen.chat.place == PartPlace(3)


async def test_the_list_of_findings_is_walked_by_keys_and_leads_to_the_messages() -> None:
    app = make_app()
    empty = [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, {"messages": empty * 2})
        await findings(pilot, screen)
        places = [finding.message_index for finding in screen.rendered.findings]
        await pilot.press("alt+g", "f5")
        assert screen.views.findings.has_focus
        for index, keys in enumerate((["enter"], ["down", "enter"])):
            await pilot.press(*keys)
            await settle(pilot)
            assert screen.chat.place == PartPlace(places[index] or 0)
            assert screen.messages.editor.has_focus
            await pilot.press("f5")
        await pilot.press("f3")
        assert screen.chat.place == PartPlace(places[2] or 0), "F3 goes on from there"


async def test_the_keyboard_goes_between_the_messages_and_the_tokens() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        editor = screen.messages.editor
        assert editor.has_focus
        for back in ("f5", "escape"):
            await pilot.press("f5")
            assert screen.views.has_focus_within
            await pilot.press(back)
            assert editor.has_focus
        await pilot.press("f5", "f9")
        assert not screen.views.display
        assert editor.has_focus
        await pilot.press("f2")
        assert screen.views.display
        assert screen.views.turns.shown == "ids"


async def test_a_click_on_a_token_says_why_it_is_learned_or_not() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        flow = screen.views.current
        assert flow is not None
        await pilot.click(flow, offset=(2, 0))
        assert screen.views.pin == 0
        assert "not learned" in screen_text(app)
        await pilot.click(flow, offset=(24, 2))
        pin = screen.views.pin
        assert pin is not None
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.mask[pin] == 1


async def test_a_token_that_was_chosen_among_others_is_none_of_these() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        flow = screen.views.current
        assert flow is not None
        flow.focus()
        flow.post_message(MaskTokenPicked(1_000))  # what was clicked has gone since
        await pilot.pause()
        pins = [screen.views.pin]
        await pilot.press("ctrl+z", "ctrl+y")
        await settle(pilot)
        assert [*pins, screen.views.pin] == [None, None]


@pytest.mark.parametrize("what", ["delete", "delete_part", "role", "kind", "up", "down"])
async def test_what_is_clicked_twice_in_one_read_may_have_gone(what: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        for action in ("delete", what):
            screen.messages.post_message(MessageList.ActionRequested(action, PartPlace(3)))
        screen.messages.post_message(MessageList.ActionRequested(what, PartPlace(0, 5)))
        for row in (BlockRow("text", 3, 0, 0, 7), BlockRow("text", 0, 5), BlockRow("header", 3)):
            screen.messages.list.post_message(Blocks.Clicked("", row, 2))
        await settle(pilot)
        assert contents(screen) == ["Hi", "Hello", "Bye"]


def test_the_number_of_no_token_is_not_kept() -> None:
    conversation = Conversation.from_json(CHAT)
    made, again = (render(tokviz.load("gpt2"), conversation, "nanochat") for _ in range(2))
    last = len(made) - 1
    for now in (made, again):
        assert [kept_pin(pin, made, now) for pin in (last, last + 1, last + 4)] == [
            last,
            None,
            None,
        ]


async def test_a_special_token_of_another_template_is_never_shown_for_the_same_id() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.chat.change(template="nanochat")
        await settle(pilot)
        assert "<|bos|>" in screen_text(app)
        screen.chat.change(template="llama3")
        await settle(pilot)
        assert "begin" in screen_text(app)
        assert "<|bos|>" not in screen_text(app)


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_the_status_line_says_what_the_number_of_learned_tokens_is(
    size: tuple[int, int],
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await chat(pilot)
        assert re.search(r"● \d+ learned", screen_text(app))


@pytest.mark.parametrize("template", TEMPLATES)
async def test_all_that_is_said_of_a_token_fits_below_the_tokens(template: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.chat.change(template=template)
        await settle(pilot)
        rendering = screen.rendered.rendering
        assert rendering is not None
        room = screen.query_one("#why", Static).content_size
        for index in range(len(rendering)):
            content = why_content(rendering, index, roles(screen), room.width)
            assert len(content.wrap(room.width)) <= room.height, content.plain


async def test_two_clicks_on_a_token_put_the_cursor_there() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        assert screen.rendered.rendering is not None
        screen.looking.pick_token(screen.rendered.rendering.mask.index(1))
        screen.views.turns.focus()
        await pilot.press("right", "enter")
        assert screen.chat.place == PartPlace(1)


@pytest.mark.parametrize("lines", [16, 18, 20, 24])
async def test_in_a_low_terminal_what_is_said_of_a_token_takes_no_more_than_the_tokens(
    lines: int,
) -> None:
    app = make_app()
    async with app.run_test(size=(100, lines)) as pilot:
        screen = await chat(pilot)
        rows = screen.views.turns.outer_size.height
        assert rows >= screen.views.why.outer_size.height and rows > 1
        assert "not learned" in screen_text(app)


@pytest.mark.parametrize("size", [(40, 12), (120, 12)], ids=["40", "120"])
async def test_a_short_terminal_shows_the_side_that_has_the_keyboard(size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await chat(pilot, {"messages": [{"role": "user", "content": "hello"}]})
        for there, back in (("f5", "f5"), ("f2", "escape"), ("f9", "f9"), ("alt+i", "alt+a")):
            await pilot.press(there)
            await settle(pilot)
            assert "IDs" in screen_text(app) and "1 user" not in screen_text(app), there
            assert screen.views.has_focus_within
            await pilot.press(back)
            await settle(pilot)
            assert "1 user" in screen_text(app) and "IDs" not in screen_text(app), back
            assert screen.messages.editor.has_focus
        assert screen.views.turns.shown == "ids", "what was not in sight is shown, not left"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 12), (20, 6)])
async def test_nothing_of_a_hostile_conversation_reaches_the_terminal_raw(
    size: tuple[int, int],
) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        screen = await chat(pilot, HOSTILE)
        await findings(pilot, screen)
        for view in VIEWS:
            screen.looking.show_view(view.id)
            await settle(pilot)
            shown = screen_text(app).replace("\n", "")
            assert not set(shown) & set("\x1b\x07\x7f\u202e\u200b\x9b\U000e0041\r\u2028")
        for index in range(len(HOSTILE["messages"])):
            screen.messages.go_to(PartPlace(index), (0, 0))
            await pilot.pause()
            shown = screen_text(app).replace("\n", "")
            assert not set(shown) & set("\x1b\x07\x7f\u202e\u200b\x9b\U000e0041\r\u2028")


async def test_special_token_text_in_content_stays_plain_text() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, HOSTILE)
        rendering = screen.rendered.rendering
        assert rendering is not None
        for index in range(len(rendering)):
            assert rendering.is_special(index) <= bool(rendering.from_structure[index])


# -- the mouse


async def click_words(pilot: Pilot[None], screen: ChatScreen, words: str) -> None:
    """Click the first place of the message list where some words stand."""
    blocks = screen.messages.list
    for y in range(blocks.size.height):
        x = blocks.render_line(y).text.find(words)
        if x >= 0:
            await pilot.click(blocks, offset=(x, y))
            return
    raise AssertionError(f"{words} is not in sight")


async def test_the_mouse_alone_edits_the_structure() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await click_words(pilot, screen, "+ assistant")
        assert roles(screen)[-1] == "assistant"
        await click_words(pilot, screen, "↓")
        assert contents(screen)[:2] == ["Hello", "Hi"]
        await click_words(pilot, screen, "✕")
        assert contents(screen)[:2] == ["Hi", "Bye"]
        await click_words(pilot, screen, "user ▾")
        assert isinstance(app.screen, PickDialog)


async def test_a_click_on_a_text_puts_the_cursor_there() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await click_words(pilot, screen, "llo")
        assert (screen.chat.place, screen.messages.editor.cursor_location) == (PartPlace(1), (0, 2))
        await pilot.press("_")
        assert contents(screen)[1] == "He_llo"


# -- files


async def test_saving_and_opening_gives_the_same_conversation(tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, HOSTILE)
        before = screen.chat.conversation
        assert screen.chat.modified
        screen.files.save(path)
        await settle(pilot)
        assert not screen.chat.modified
        assert json.loads(path.read_text("utf-8")) == HOSTILE
        await pilot.press("ctrl+n")
        assert not screen.chat.modified
        await pilot.press("ctrl+z")
        assert not screen.chat.modified
        screen.rows.open_path(path)
        await settle(pilot)
        assert screen.chat.conversation == before
        assert screen.rows.dataset is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", '{"messages": [{"role": "user" "content": 1}]}', "column"),
        ("b.json", "", ""),
        ("missing.json", None, "no such file"),
    ],
)
async def test_a_file_that_cannot_be_read_leaves_the_conversation_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, said: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        heard: list[str] = []
        monkeypatch.setattr(screen, "notify", lambda text, **options: heard.append(text))
        screen.rows.open_path(path)
        await settle(pilot)
        assert contents(screen) == ["Hi", "Hello", "Bye", "See you"]
        assert len(heard) == 1
        assert said in heard[0]
        assert str(path) in heard[0]


async def test_a_long_text_of_a_row_is_prepared_before_the_screen_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "word " * 100_000
    rows = [{"messages": [{"role": "user", "content": content}]} for content in (text, text[5:])]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        prepared: list[tuple[str, int]] = []
        live = screen.messages.editor.live
        prepare_edit = live.prepare_edit

        def noted(inserted: str) -> None:
            prepared.append((inserted, threading.get_ident()))
            prepare_edit(inserted)

        monkeypatch.setattr(live, "prepare_edit", noted)
        screen.rows.open_path(path)
        await settle(pilot)
        screen.rows.go_to(1)
        await settle(pilot)
        assert contents(screen) == [text[5:]]
        assert [inserted for inserted, _ in prepared] == [text, text[5:]]
        assert all(thread != threading.get_ident() for _, thread in prepared)


async def test_a_pasted_conversation_is_recognised_and_other_json_is_text() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.messages.editor.post_message(PartEditor.Pasted('[{"role": "usr"}]'))
        await settle(pilot)
        assert contents(screen)[0] == '[{"role": "usr"}]Hi'
        pasted = json.dumps([{"role": "user", "content": "new"}])
        screen.messages.editor.post_message(PartEditor.Pasted(pasted))
        await settle(pilot)
        assert isinstance(app.screen, PickDialog)
        await pilot.press("enter")
        assert contents(screen) == ["new"]
        assert screen.chat.modified, "it is in no file yet"
        await pilot.press("ctrl+z")
        assert len(contents(screen)) == 4
        screen.messages.editor.post_message(PartEditor.Pasted(pasted))
        await settle(pilot)
        await pilot.press("down", "enter")
        assert contents(screen)[-2:] == ["See you", "new"]
        assert screen.chat.place == PartPlace(4)


@pytest.mark.parametrize("keys", [["down"], ["down", "down"]])
async def test_what_was_pasted_goes_to_no_conversation_that_came_meanwhile(
    tmp_path: Path, keys: list[str]
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"messages": CHAT["messages"][:2]}))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        pasted = json.dumps([{"role": "user", "content": "new"}])
        screen.messages.editor.post_message(PartEditor.Pasted(pasted))
        await settle(pilot)
        screen.rows.open_path(path)
        await settle(pilot)
        await pilot.press(*keys, "enter")
        assert contents(screen) == ["Hi", "Hello"]
        assert "so nothing was pasted" in said(app)


async def test_an_unsaved_conversation_comes_back_at_the_next_start() -> None:
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("Z")
        assert screen.chat.modified
    assert '"ZHi"' in left_behind().read_text("utf-8")
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await until(pilot, lambda: screen.recovery.leftovers)
        await pilot.click(screen.recovery.bar, offset=restore_in(screen))
        await until(pilot, lambda: contents(screen)[0] == "ZHi")


async def test_conversations_that_took_one_anothers_place_unsaved_all_come_back() -> None:
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        for key in "XYZ":
            await pilot.press(key)
            screen.files.safe.keep()
            await settle(pilot)
            await pilot.press("ctrl+n")
        await pilot.press("W", "ctrl+n", "ctrl+z")
        screen.files.safe.keep()
        await settle(pilot)
        assert unsaved(screen) == ["this conversation", *["3 earlier conversations"] * 3]
        before = {path: path.read_bytes() for path in kept_conversations()}
        assert len(before) == 4
        await pilot.press("V")
        screen.files.safe.keep()
        await settle(pilot)
        (changed,) = (path for path in before if path.read_bytes() != before[path])
        assert changed.read_bytes().startswith(before[changed]), "the others are not written again"
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await until(pilot, lambda: len(screen.recovery.leftovers) == 4)
        found = {
            Conversation.from_json(json.loads(it.text())).messages[0].text
            for it in screen.recovery.leftovers
        }
        assert found == {"XHi", "Y", "Z", "WV"}


def restore_in(screen: ChatScreen) -> tuple[int, int]:
    """Give where the answer stands in the bar."""
    return screen.recovery.bar.render_line(0).text.index("Restore") + 2, 0


def left_behind() -> Path:
    """Give the one journal that there is."""
    (kept,) = kept_conversations()
    return kept


def kept_conversations() -> list[Path]:
    return list((state_folder() / "conversations").glob("autosave-*.tokviz"))


async def test_what_a_row_took_the_place_of_before_it_was_saved_is_offered_again(
    tmp_path: Path,
) -> None:
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("Z")
        screen.rows.open_path(dataset(tmp_path))
        await settle(pilot)
        assert not screen.chat.modified
    assert "ZHi" in left_behind().read_text("utf-8")
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await until(pilot, lambda: screen.recovery.leftovers)
        await screen.run_action("screen.restore_unsaved")
        await settle(pilot)
        screen.files.save(tmp_path / "back.json")
        await settle(pilot)
    assert not list((state_folder() / "conversations").glob("autosave-*"))


async def test_quitting_saves_one_thing_after_another(tmp_path: Path) -> None:
    app = make_app()
    text, conversation = tmp_path / "a.txt", tmp_path / "a.json"
    async with app.run_test(size=(120, 40)) as pilot:
        await chat(pilot, CHAT)
        app.session.ask(ShowText("typed"))
        await settle(pilot)
        app.session.path = text
        await pilot.press("alt+r", "ctrl+q", "s")
        asked = "Unsaved: this conversation."
        await until(pilot, lambda: getattr(app.screen, "_question", "") == asked)
        assert text.read_text() == "typed"
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, SaveFileDialog))
        app.screen.query_one(Field).value = str(conversation)
        await pilot.press("enter")
        await until(pilot, lambda: app._exit)
    assert json.loads(conversation.read_text()) == CHAT


async def test_quitting_asks_for_what_is_not_saved_on_any_screen() -> None:
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await chat(pilot, CHAT)
        await pilot.press("ctrl+q")
        assert isinstance(app.screen, ConfirmDialog)
        assert "this conversation" in app.screen._question
        await pilot.press("escape")
        app.session.ask(ShowText("typed"))
        await settle(pilot)
        await pilot.press("alt+r")
        await settle(pilot)
        await pilot.press("ctrl+q")
        assert isinstance(app.screen, ConfirmDialog)
        assert "this text, this conversation" in app.screen._question
        await pilot.press("y")
    assert app.return_code == 0
    kept = [file.read_text("utf-8") for file in state_folder().rglob("autosave-*")]
    assert sorted("See you" in text for text in kept) == [False, True], "both come back"


async def test_quitting_a_conversation_that_nobody_changed_asks_nothing() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await chat(pilot)
        await pilot.press("ctrl+q")
    assert app.return_code == 0


async def test_a_conversation_whose_file_changed_on_disk_is_not_saved_unasked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(CHAT))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.rows.open_path(path)
        await settle(pilot)
        await pilot.press("Z", "ctrl+s")
        await settle(pilot)
        assert json.loads(path.read_text())["messages"][0]["content"] == "ZHi"
        await pilot.press("ctrl+z", "ctrl+s")
        await settle(pilot)
        assert json.loads(path.read_text()) == CHAT, "its own saving is no change, nor is undo"
        path.write_text("another")
        await pilot.press("Y", "ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, PickDialog)
        await pilot.press("escape")
        assert path.read_text() == "another"
        assert screen.chat.modified
        await pilot.press("ctrl+s")
        await settle(pilot)
        await pilot.press("down", "down", "enter")
        await settle(pilot)
        assert json.loads(path.read_text())["messages"][0]["content"] == "YHi"
        assert not screen.chat.modified


async def test_what_an_earlier_session_left_unsaved_is_restored_and_undo_goes_back() -> None:
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("Z")
        screen.files.safe.keep()
        await settle(pilot)
    kept = left_behind()
    app = make_app(remember=True)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await chat(pilot)
        before = screen.chat.conversation
        await until(pilot, lambda: "Unsaved conversation of " in screen_text(app))
        await screen.run_action("screen.restore_unsaved")
        await settle(pilot)
        assert contents(screen)[0] == "ZHi"
        assert screen.chat.modified
        assert not kept.exists(), "it is safe under this process's name now"
        await pilot.press("ctrl+z")
        assert screen.chat.conversation is before


async def test_conversations_are_appended_to_a_jsonl_file(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await chat(pilot, CHAT)
        for _ in range(2):
            await pilot.press("alt+j")
            await settle(pilot)
            app.screen.query_one(Field).value = str(path)
            await pilot.press("enter")
            await settle(pilot)
        assert list(map(json.loads, path.read_text("utf-8").splitlines())) == [CHAT, CHAT]


# -- datasets


@pytest.fixture
def checked_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody have checked all rows of a dataset by the next key."""
    reports = DatasetLinter.reports

    def slowly(linter: DatasetLinter, dataset: Dataset) -> Iterator[RowReport]:
        for found in reports(linter, dataset):
            yield found
            time.sleep(0.1)

    monkeypatch.setattr(DatasetLinter, "reports", slowly)


def dataset(tmp_path: Path, n_rows: int = 50) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [
        json.dumps(
            {
                "messages": [
                    {"role": "user", "content": f"question {row}"},
                    {
                        "role": "assistant",
                        "content": "" if row % 10 == 3 else "answer " * (row + 1),
                    },
                ]
            }
        )
        for row in range(n_rows)
    ]
    lines[7] = lines[7][:-9]
    lines[8] = '{"messages": [{"role": "usr", "content": "x"}]}'
    path.write_text("\n".join(lines))
    return path


def check_rows(screen: ChatScreen) -> Scan:
    assert screen.rows.dataset is not None
    return screen.rows.checks.start(screen.rows.dataset)


async def test_a_dataset_that_is_still_being_opened_is_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    read = Dataset.open
    monkeypatch.setattr(Dataset, "open", lambda path: go_on.wait() and read(path))
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, ChatScreen))
        await until(pilot, lambda: any(worker.group == "open" for worker in app.workers))
        await pilot.press("alt+o")
        go_on.set()
        assert any("is being opened" in note.message for note in app._notifications)
        await settle(pilot)
        said = len(app._notifications)
        await pilot.press("alt+o")
        assert len(app._notifications) == said


async def test_the_command_line_opens_a_dataset_with_a_template(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path)), "chatml", 99))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        assert screen.rows.dataset is not None
        assert screen.rows.dataset.n_rows == 50
        assert (screen.chat.history.state.template, screen.chat.max_tokens) == ("chatml", 99)
        assert contents(screen)[0] == "question 0"
        assert_exact(screen)


async def test_moving_through_rows_meets_broken_ones_without_harm(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        screen.rows.go_to(6)
        await settle(pilot)
        await pilot.press("ctrl+right_square_bracket")
        await settle(pilot)
        assert screen.rendered.rendering is None
        assert "line 8" in str(screen.rendered.problem)
        assert await findings(pilot, screen) == ["unreadable"]
        assert '{"messages":' in screen_text(app)
        await pilot.press("ctrl+right_square_bracket")
        await settle(pilot)
        assert "'usr'" in str(screen.rendered.problem)
        await pilot.press("ctrl+right_square_bracket")
        await settle(pilot)
        assert contents(screen)[0] == "question 9"
        assert_exact(screen)


async def test_the_tab_of_a_list_shows_it_however_often_it_is_clicked(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        for shown, tab in (("rows", "Rows 50"), ("lengths", "Lengths")):
            for _ in range(2):
                x = screen_text(app).splitlines()[1].index(tab)
                await pilot.click(offset=(x, 1))
                await settle(pilot)
                assert screen.left.shown == shown


async def test_the_keys_for_rows_go_to_the_next_one_and_the_one_before(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        for key, row in (
            ("ctrl+right_square_bracket", 1),
            ("alt+n", 2),
            ("ctrl+backslash", 1),
            ("ctrl+backslash", 0),
        ):
            await pilot.press(key)
            await settle(pilot)
            assert screen.chat.state.origin.row == row
            assert contents(screen)[0] == f"question {row}"
            assert f"row {row + 1} of 50" in status_text(screen)
        await pilot.press("ctrl+backslash")
        await until(pilot, lambda: "This is the first row." in screen_text(app))
        assert contents(screen)[0] == "question 0"


async def test_a_number_goes_to_a_row_a_message_or_a_token(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))

    async def go_to(typed: str) -> None:
        await pilot.press("ctrl+g")
        await settle(pilot)
        app.screen.query_one(Field).value = typed
        await pilot.press("enter")
        await settle(pilot)

    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        await go_to("12")
        assert contents(screen)[0] == "question 11"
        await go_to("m2")
        assert screen.chat.place == PartPlace(1)
        await go_to("#3")
        assert screen.views.pin == 3
        for typed, said in (
            ("51", "The rows go from 1 to 50."),
            ("m3", "The messages go from 1 to 2."),
            ("#9999", "The tokens go from 0 to"),
            ("x", "Type 12 for a row"),
        ):
            await go_to(typed)
            assert said in screen_text(app)
            await pilot.press("escape")
        broken = {"messages": [{"role": "assistant", "content": "first"}]}
        screen.chat.load(Conversation.from_json(broken), Origin())
        await settle(pilot)
        await go_to("#3")
        assert "There are no tokens." in screen_text(app)
        await pilot.press("escape", "ctrl+z")
        assert contents(screen)[0] == "question 11"


async def test_a_rendering_is_cut_off_where_the_user_says() -> None:
    app = make_app()
    async with app.run_test(size=(150, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await screen.run_action("set_max_tokens")
        await settle(pilot)
        app.screen.query_one(Field).value = "0"
        await pilot.press("enter")
        assert "Type a number from 1 to 10,000,000." in screen_text(app)
        app.screen.query_one(Field).value = "1_0"
        await pilot.press("enter")
        await settle(pilot)
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.n_kept == 10
        assert "truncated after 10" in status_text(screen)


async def test_rows_are_filtered_by_what_was_found_in_them(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        scan = check_rows(screen)
        await settle(pilot)
        assert scan.complete
        screen.rows.go_to(49)
        await settle(pilot)
        screen.rows.use_filter("empty-turn")
        await settle(pilot)
        assert list(screen.rows.listed.rows) == [3, 13, 23, 33, 43]
        assert screen.chat.history.state.origin.row == screen.rows.listed.row == 3
        await pilot.press("ctrl+right_square_bracket")
        await settle(pilot)
        assert screen.chat.history.state.origin.row == screen.rows.listed.row == 13
        screen.rows.use_filter("unreadable")
        assert list(screen.rows.listed.rows) == [7, 8]
        screen.rows.use_filter("left-out")
        await pilot.pause()
        assert "No row has that finding." in [notice.message for notice in app._notifications]


async def test_findings_of_one_template_are_not_listed_under_another(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    alone = {"messages": [{"role": "assistant", "content": "Hello"}]}
    silent = {"messages": [{"role": role, "content": ""} for role in ("user", "assistant")]}
    path.write_text("\n".join(map(json.dumps, (CHAT, alone, silent))))
    app = make_app(ChatRequest(str(path)))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        check_rows(screen)
        await settle(pilot)
        said = [notice.message for notice in app._notifications]
        assert "The check of 3 rows is complete: 4 findings in 2 rows." in said
        screen.rows.use_filter("not-rendered")
        assert list(screen.rows.listed.rows) == [1]
        screen.chat.change(template="chatml")
        await settle(pilot)
        scan = screen.rows.checks.scan
        assert scan is not None and scan.complete
        assert "not-rendered" not in scan.codes
        assert list(screen.rows.listed.rows) == []


async def test_a_row_chosen_in_the_list_is_laid_out_when_it_is_shown(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        await pilot.press("alt+o")
        await settle(pilot)
        await pilot.press("end")
        await settle(pilot)
        await pilot.press("enter", "ctrl+down")
        await settle(pilot)
        assert screen.chat.history.state.origin.row == 49
        editor = screen.messages.editor
        assert editor.wrapped_document.height > 3
        assert editor.size.height == editor.wrapped_document.height
        assert contents(screen)[1].split()[0] in screen_text(app)
        assert_exact(screen)


async def at_the_second_row(pilot: Pilot[None]) -> ChatScreen:
    """Give the Chat screen with the rows of its file listed, moved to the second one."""
    screen = await chat(pilot)
    await pilot.press("alt+o", "down")
    await until(pilot, lambda: screen.chat.state.origin.row == 1)
    await settle(pilot)
    return screen


async def test_a_shorter_row_chosen_in_the_list_is_drawn_when_the_messages_come_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.jsonl"
    long, short = {"messages": CHAT["messages"] * 3}, {"messages": CHAT["messages"][:1]}
    path.write_text("\n".join(map(json.dumps, (long, short))))
    app = make_app(ChatRequest(str(path)))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await at_the_second_row(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert "1 user" in screen_text(app)
        assert "2 assistant" not in screen_text(app)
        assert_exact(screen)


async def test_the_filter_counts_while_rows_are_checked(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        await chat(pilot)
        await settle(pilot)
        await pilot.press("ctrl+f")
        await settle(pilot)
        assert isinstance(app.screen, PickDialog)
        assert {"empty-turn": "5", "unreadable": "2"}.items() <= {
            option.value: option.note for option in app.screen._options
        }.items()


@pytest.mark.usefixtures("checked_slowly")
async def test_checking_stops_at_escape_and_what_was_found_stays(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path, 1_000))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        scan = check_rows(screen)
        await until(pilot, lambda: scan.lengths)
        await pilot.press("escape")
        await settle(pilot)
        assert not scan.complete
        assert 0 < len(scan.lengths) < 1_000
        assert f"checked {len(scan.lengths):,} of 1,000, stopped" in status_text(screen)


async def test_the_cursor_explains_the_token_at_it() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        for place in (PartPlace(1), PartPlace(3)):
            screen.messages.go_to(place, (0, 0))
            await pilot.press("right")
            await settle(pilot)
            index = screen.views.pin
            assert index is not None and screen.rendered.rendering is not None
            assert screen.rendered.rendering.message_of[index] == place.message
            assert not screen.rendered.rendering.from_structure[index]
        await pilot.press("end", *" there")
        rendering, pin = screen.rendered.rendering, screen.views.pin
        assert rendering is not None and pin is not None
        assert rendering.token_bytes(pin) == b" there"


async def test_parts_can_be_joined_for_a_template_that_knows_none() -> None:
    app = make_app()
    call = {"function": {"name": "add", "arguments": "{}"}}
    told = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [call]}]
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.chat.load(Conversation.from_json(told), Origin())
        await settle(pilot)
        assert "Join the parts" in screen_text(app)
        assert "one text." in screen_text(app)
        screen.messages.go_to(PartPlace(1), (0, 0))
        await screen.run_action("join_parts")
        assert screen.rendered.rendering is not None
        assert_exact(screen)


async def test_lengths_are_those_of_the_renderings(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        await pilot.press("alt+l")
        await settle(pilot)
        assert screen.rows.checks.scan is not None and screen.rows.dataset is not None
        for row in (0, 5, 49):
            made = render(screen.session.tokenizer, screen.rows.dataset.row(row))
            assert screen.rows.checks.scan.length(row) == len(made)
        assert screen.rows.checks.scan.length(7) is None
        assert "truncated" in screen_text(app)
        assert "2 rows cannot be read or rendered" in screen_text(app)


async def test_looking_through_rows_is_one_step_of_undo_and_edits_are_kept(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        for row in (1, 2, 4):
            screen.rows.go_to(row)
            await settle(pilot)
        await pilot.press("X")
        screen.rows.go_to(5)
        await settle(pilot)
        await pilot.press("ctrl+z")
        assert contents(screen)[0] == "Xquestion 4"
        assert screen.chat.history.state.origin.row == 4
        await pilot.press("ctrl+z", "ctrl+z")
        assert screen.chat.history.state.origin.row is None


async def test_a_jinja_template_renders_in_its_child(tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.templates.use_file(path)
        await settle(pilot)
        assert screen.chat.history.state.template == "chat_template.jinja"
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.mask_source == "role spans"
        assert "mask from the roles" in screen_text(app)
        await pilot.press("Q")
        await settle(pilot)
        rendering = screen.rendered.rendering
        assert b"QHi" in b"".join(map(rendering.token_bytes, range(len(rendering))))
        await pilot.press("ctrl+z", "ctrl+z")
        assert screen.chat.template is TEMPLATES["nanochat"]


def slow_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, threading.Event]:
    """Give a Jinja template that writes conversations only once the event is set."""
    path = tmp_path / "slow.jinja"
    path.write_text("{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}")
    free, marked = threading.Event(), JinjaTemplate.marked

    def slowly(template: JinjaTemplate, *given: Any) -> Any:
        assert free.wait(WAIT)
        return marked(template, *given)

    monkeypatch.setattr(JinjaTemplate, "marked", slowly)
    free.set()
    return path, free


async def chat_that_waits(pilot: Pilot[None], path: Path, free: threading.Event) -> ChatScreen:
    """Show a conversation by a slow template, which from now on writes nothing more."""
    screen = await chat(pilot, CHAT)
    screen.templates.use_file(path)
    await settle(pilot)
    free.clear()
    return screen


async def test_tokens_of_one_template_never_stand_under_the_name_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor those of one row under the number of another; while one types, they may be a key old."""
    path, free = slow_template(tmp_path, monkeypatch)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        assert "Rendering" not in screen_text(app)

        async def waits_for(change: Callable[[], object]) -> None:
            free.clear()
            change()
            await until(pilot, lambda: screen.chat.state.template == "slow.jinja")
            await until(pilot, lambda: "Rendering with slow.jinja…" in screen_text(app))
            assert "learned (" not in screen_text(app)
            assert screen.views.rendering is None
            screen.looking.show_view("findings")
            await pilot.pause()
            assert "Nothing was found" not in screen_text(app)
            screen.looking.show_view("tokens")
            free.set()
            await settle(pilot)
            assert "Rendering" not in screen_text(app)
            assert screen.views.rendering is not None

        await waits_for(lambda: screen.templates.use_file(path))
        path.write_text(path.read_text() + "changed")
        await waits_for(lambda: screen.templates.use_file(path))
        other = Conversation.from_json({"messages": CHAT["messages"][:2]})
        await waits_for(lambda: screen.chat.load(other, Origin()))
        free.clear()
        await pilot.press("x")
        assert screen.rendered.is_waiting
        assert screen.views.rendering is not None
        free.set()
        await settle(pilot)


async def type_into(pilot: Pilot[None], text: str) -> None:
    pilot.app.screen.query_one(Field).value = text
    await pilot.press("enter")
    await settle(pilot)


async def test_the_path_of_a_template_is_typed_where_templates_are_chosen(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": "{{ messages[0].content }}"}))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("shift+f6")
        await type_into(pilot, str(path))
        await until(pilot, lambda: app.screen is screen)
        await settle(pilot)
        assert screen.chat.state.template == path.name
        assert screen.rendered.rendering is not None


async def test_a_file_without_a_template_is_refused_in_the_dialog_which_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "notes.jinja").write_text("no braces")
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "{{ messages }}"}')
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("shift+f6")
        await type_into(pilot, str(tmp_path / "tokenizer.json"))
        await until(pilot, lambda: "no text under the key" in said_in_dialog(app))
        assert "there is tokenizer_config.json beside it" in said_in_dialog(app)
        await type_into(pilot, str(tmp_path / "notes.jinja"))
        await until(pilot, lambda: "is not a Jinja template" in said_in_dialog(app))
        app.screen.query_one(Field).value = str(tmp_path / "tokenizer_c")
        await settle(pilot)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: app.screen is screen)
        await settle(pilot)
        assert screen.chat.state.template == "tokenizer_config.json"


def said_in_dialog(app: TokvizApp) -> str:
    return " ".join(str(app.screen.query_one(".error", Static).render()).split())


async def test_the_process_of_a_jinja_template_ends_with_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.templates.use_file(path)
        await settle(pilot)
        template = screen.chat.jinja[path.name]
        pid = template._jobs.pid
        assert pid is not None and is_alive(pid)
    async with asyncio.timeout(WAIT):
        while is_alive(pid):
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_tokenizer_picked_here_is_used_on_every_screen() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await pilot.press("ctrl+t")
        await settle(pilot)
        await pilot.press(*"o200k_base", "enter")
        await until(pilot, lambda: app.session.tokenizer.name == "o200k_base")
        await settle(pilot)
        rendering = screen.rendered.rendering
        assert rendering is not None
        assert rendering.tokenizer is app.session.tokenizer
        assert screen.messages.editor.live.tokenizer is app.session.tokenizer
        assert "o200k_base" in screen.title_bar.render_line(0).text


async def test_an_unreadable_row_becomes_the_conversation_when_its_text_is_repaired(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(CHAT) + "\n" + json.dumps(CHAT)[:-1] + "\n")
    app = make_app(ChatRequest(str(path)))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await at_the_second_row(pilot)
        await pilot.press("enter")
        await settle(pilot)
        assert contents(screen) == [json.dumps(CHAT)[:-1]]
        assert screen.rendered.problem is not None and not screen.chat.modified
        await pilot.press("ctrl+end", "space")
        await settle(pilot)
        assert "this is not JSON" in str(screen.rendered.problem)
        assert await findings(pilot, screen) == ["unreadable"]
        assert "Correct its text to turn it into a conversation" in screen.views._said[0]
        await pilot.press("right_curly_bracket")
        await settle(pilot)
        assert contents(screen) == ["Hi", "Hello", "Bye", "See you"]
        assert screen.chat.modified
        assert_exact(screen)
        while screen.chat.modified:
            await pilot.press("ctrl+z")
            await settle(pilot)
        assert contents(screen) == [json.dumps(CHAT)[:-1]]


async def test_a_row_that_is_not_repaired_is_not_written_but_outlives_the_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"messages": \n' + json.dumps(CHAT) + "\n")
    app = make_app(ChatRequest(str(path)), remember=True)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        for do in ("save_file", "save_as", "append_jsonl"):
            await screen.run_action(f"screen.{do}")
            await settle(pilot)
            assert app.screen is screen
        assert [notice.message for notice in app._notifications] == [
            "This row is not a conversation yet. Repair its text first."
        ]
        await pilot.press("home", "x")
        await settle(pilot)
    again = make_app(remember=True)
    async with again.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await settle(pilot)
        await until(pilot, lambda: screen.recovery.leftovers)
        await screen.run_action("screen.restore_unsaved")
        await settle(pilot)
        assert contents(screen) == ['x{"messages": ']
        assert screen.chat.state.origin[:2] == (path, 0), "saving it must not overwrite all rows"
        await screen.run_action("screen.save_file")
        await settle(pilot)
        assert path.read_text() == '{"messages": \n' + json.dumps(CHAT) + "\n"
        assert screen.rendered.rendering is None


async def test_every_action_over_rows_that_are_all_broken_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"messages"\n{"messages": [{"role": "usr", "content": "x"}]}\n7\n\xff\n')
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await chat(pilot)
        screen.rows.open_path(path)
        await settle(pilot)
        for found in ChatScreen.declared():
            await screen.run_action(f"screen.{found.call}")
            await settle(pilot)
            while app.screen is not screen:
                app.screen.dismiss(None)
                await settle(pilot)
            await pilot.press("alt+o", "down", "enter", "x")
            await settle(pilot)
            said = [notice.message for notice in app._notifications]
            assert not [words for words in said if "went wrong" in words], found.id
            assert screen.rows.dataset is not None and screen.rows.dataset.n_rows == 4, found.id


async def test_ids_and_mask_that_no_clipboard_took_are_in_two_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tokviz.tui.clipboard.TERMINAL_BYTES", 10)
    app = make_app()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("f4", "shift+f4")
        await settle(pilot)
        ids, mask = (
            json.loads(file.read_text()) for file in sorted(state_folder().glob("copied-*"))
        )
        assert len(ids) == len(mask)
        assert set(mask) == {0, 1}
        assert max(ids) > 1


async def test_what_is_asked_for_elsewhere_is_copied_once_the_tokens_are_known(
    copied: list[str],
) -> None:
    app = make_app(ShowScreen("tokens"))
    async with app.run_test() as pilot:
        await settle(pilot)
        app.session.ask(RunAction("chat", "copy_mask"))
        app.session.ask(RunAction("chat", "copy_ids"))
        await settle(pilot)
        assert not [
            notice.message for notice in app._notifications if "no tokens" in notice.message
        ]
        mask, ids = map(json.loads, copied)
        assert len(mask) == len(ids)
        assert set(mask) == {0, 1}


async def test_nothing_is_said_to_be_found_only_when_somebody_has_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tokviz.tui.screens.chat.rendering.LINT_SECONDS", 2 * WAIT)
    app = make_app()
    async with app.run_test() as pilot:
        screen = await chat(pilot, {"messages": [{"role": "user", "content": "Hi"}]})
        await pilot.press("f3")
        assert "No findings." not in [notice.message for notice in app._notifications]
        screen.rendered.look_for_findings()
        await settle(pilot)
        await pilot.press("f3")
        said = [notice.message for notice in app._notifications]
        assert said[-1].startswith(screen.rendered.findings[0].message)


# -- the sample, and Esc


async def test_what_is_typed_takes_the_place_of_the_sample() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        sample = screen.chat.conversation
        assert "─  sample  ─" in screen_text(app)
        await pilot.press(*"Why")
        await settle(pilot)
        assert "─  conversation •  ─" in screen_text(app)
        assert (roles(screen), contents(screen)) == (["user"], ["Why"])
        assert_exact(screen)
        await pilot.press("ctrl+z", "ctrl+z")
        await settle(pilot)
        assert screen.chat.conversation is sample
        await pilot.press("Z")
        assert contents(screen) == ["Z" + sample.messages[0].text, *contents(screen)[1:]]
        assert len(contents(screen)) == len(sample.messages), "somebody wants to change it"


async def test_what_is_typed_into_another_message_of_the_sample_changes_that() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        sample = screen.chat.conversation
        screen.messages.go_to(PartPlace(1), (0, 0))
        await pilot.press("Z")
        assert contents(screen)[1] == "Z" + sample.messages[1].text
        assert len(contents(screen)) == len(sample.messages)


@pytest.mark.parametrize("text", [json.dumps(CHAT), "plain words"], ids=["json", "words"])
async def test_what_is_pasted_takes_the_place_of_the_sample_unasked(text: str) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        sample = screen.chat.conversation
        screen.messages.editor.post_message(Paste(text))
        await settle(pilot)
        assert app.screen is screen
        assert contents(screen) in (["plain words"], ["Hi", "Hello", "Bye", "See you"])
        while screen.chat.conversation is not sample:
            await pilot.press("ctrl+z")
        assert len(contents(screen)) == len(sample.messages)


async def test_esc_never_leaves_the_message() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("ctrl+o", "escape", "escape", "escape", "Z")
        assert screen.messages.editor.has_focus
        assert contents(screen)[0] == "ZHi"


async def dataset_screen(pilot: Pilot[None]) -> ChatScreen:
    screen = await chat(pilot)
    await until(pilot, lambda: screen.rows.dataset is not None and screen.rows.dataset.complete)
    await settle(pilot)
    return screen


def slow_rows(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let rows be read only once the event is set."""
    go_on = threading.Event()
    monkeypatch.setattr(
        "tokviz.tui.screens.chat.dataset.read_row",
        lambda dataset, row: read_row(dataset, row) if go_on.wait(WAIT) else None,
    )
    return go_on


async def test_going_back_to_the_row_that_is_shown_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        go_on = slow_rows(monkeypatch)
        screen.rows.go_to(1)
        screen.rows.go_to(0)
        go_on.set()
        await settle(pilot)
        assert contents(screen)[0] == "question 0"
        assert screen.rows.listed.row == 0


async def test_a_row_that_comes_late_does_not_take_the_place_of_a_new_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        go_on = slow_rows(monkeypatch)
        await pilot.press("alt+n", "ctrl+n")
        go_on.set()
        await settle(pilot)
        assert contents(screen) == [""]


async def test_every_press_goes_a_row_on_though_rows_take_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        go_on = slow_rows(monkeypatch)
        await pilot.press("alt+n", "alt+n", "alt+n")
        go_on.set()
        await settle(pilot)
        assert contents(screen)[0] == "question 3"


async def test_the_highlight_stays_at_a_row_that_is_read_while_the_list_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        await pilot.press("alt+o")
        check_rows(screen)
        await settle(pilot)
        screen.rows.use_filter("empty-turn")
        await settle(pilot)
        scan, listed = screen.rows.checks.scan, screen.rows.listed
        assert scan is not None and screen.chat.state.origin.row == listed.rows[0]
        go_on = slow_rows(monkeypatch)
        await pilot.press("down")
        await until(pilot, lambda: any(worker.group == "row" for worker in app.workers))
        scan.codes["empty-turn"].append(49)
        screen.rows._show_checks()
        go_on.set()
        await settle(pilot)
        assert listed.row == screen.chat.state.origin.row == listed.rows[1]


async def test_undo_to_a_row_of_another_file_opens_that_file_again(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = dataset(tmp_path / "other", 20)
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        screen.rows.go_to(5)
        await settle(pilot)
        screen.rows.open_path(other)
        await settle(pilot)
        assert "row 1 of 20" in status_text(screen)
        await pilot.press("ctrl+z")
        await settle(pilot)
        assert contents(screen)[0] == "question 5"
        assert "row 6 of" in status_text(screen)
        assert "of 20" not in status_text(screen)


async def test_a_check_ends_with_the_template_and_another_one_of_its_name_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat_template.jinja"
    path.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    app = make_app(ChatRequest(str(dataset(tmp_path)), str(path)))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        first = check_rows(screen)
        await until(pilot, lambda: first.complete)
        path.write_text("{% for m in messages %}{{ m.content }} and more{% endfor %}")
        screen.templates.use_file(path)
        await settle(pilot)
        second = screen.rows.checks.scan
        assert second is not None and second.complete
        assert (second.length(0) or 0) > (first.length(0) or 0)


async def test_a_check_that_cannot_go_on_says_so_and_does_not_seem_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise TokvizError("the tokenizer was closed")

    monkeypatch.setattr("tokviz.chat.dataset_lint.DatasetLinter.reports", broken)
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        scan = check_rows(screen)
        await settle(pilot)
        assert not scan.running
        assert "checked 0 of 50, stopped" in status_text(screen)


@pytest.mark.usefixtures("checked_slowly")
async def test_leaving_the_lengths_keeps_what_a_stopped_check_found(tmp_path: Path) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path, 1_000))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        await pilot.press("alt+l")
        scan = screen.rows.checks.scan
        assert scan is not None
        await until(pilot, lambda: scan.lengths)
        await pilot.press("escape", "alt+l")
        assert screen.left.shown == "conversation"
        assert screen.rows.checks.scan is scan and scan.stopped


async def test_findings_of_one_row_never_stand_under_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(ChatRequest(str(dataset(tmp_path))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        screen.rows.go_to(3)
        await settle(pilot)
        assert await findings(pilot, screen) == ["empty-turn"]
        monkeypatch.setattr("tokviz.tui.screens.chat.rendering.LINT_SECONDS", 2 * WAIT)
        await pilot.press("alt+n")
        await settle(pilot)
        assert contents(screen)[0] == "question 4"
        assert screen.rendered.findings == []
        assert "finding" not in status_text(screen)


async def test_an_answer_about_a_message_is_none_about_that_of_another_conversation() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.messages.go_to(PartPlace(3), (0, 0))
        await pilot.press("ctrl+l", "a")
        await settle(pilot)
        assert isinstance(app.screen, PickDialog)
        # As when a file that takes long has been read.
        screen.chat.load(Conversation.from_json({"messages": CHAT["messages"][:2]}), Origin())
        await pilot.press("enter")
        await settle(pilot)
        assert roles(screen) == ["user", "assistant"]


# -- what comes when something else is shown


async def test_what_is_being_written_when_another_conversation_comes_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, path = threading.Event(), tmp_path / "one.json"

    def slowly(path: Path, content: bytes, **_: object) -> None:
        assert go_on.wait(WAIT)
        write_file(path, content)

    monkeypatch.setattr("tokviz.tui.screens.safekeeping.write_file", slowly)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.files.save(path)
        await pilot.press("ctrl+n")
        assert unsaved(screen) == ["1 earlier conversation"]
        go_on.set()
        await settle(pilot)
        assert unsaved(screen) == []
        await pilot.press("ctrl+z")
        assert contents(screen)[0] == "Hi"
        assert screen.chat.state.origin == Origin(path)
        assert not screen.chat.modified


async def test_what_another_conversation_took_the_place_of_can_be_saved_before_the_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(CHAT))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.rows.open_path(path)
        await settle(pilot)
        await pilot.press("Z", "ctrl+n", "ctrl+q", "s")
        await until(pilot, lambda: app._exit)
    assert "ZHi" in path.read_text()


async def test_what_a_restored_conversation_took_the_place_of_is_asked_about_after_it(
    tmp_path: Path,
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("Z")
        path = tmp_path / "back.json"
        text = json.dumps({"messages": CHAT["messages"][:2]})
        screen.files.restore(text, path, None, lambda: None)
        await settle(pilot)
        assert "The changes to the previous conversation are not saved." in said(app)
        assert screen.chat.state.origin == Origin(path)
        assert unsaved(screen) == ["back.json", "1 earlier conversation"]
        screen.files.save(path)
        await settle(pilot)
        assert unsaved(screen) == ["1 earlier conversation"]
        await pilot.press("ctrl+z")
        assert contents(screen)[0] == "ZHi"


def unsaved(screen: ChatScreen) -> list[str]:
    return [name for name, _ in screen.files.safe.unsaved()]


async def test_what_redo_leaves_behind_is_as_unsaved_as_before(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(CHAT))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.rows.open_path(path)
        await settle(pilot)

        async def unsaved_after(*keys: str) -> list[str]:
            await pilot.press(*keys)
            return unsaved(screen)

        assert await unsaved_after("Z", "ctrl+n") == ["one.json"]
        assert await unsaved_after("ctrl+z") == ["one.json"]
        assert await unsaved_after("ctrl+y") == ["one.json"], "it is behind the new one again"
        assert await unsaved_after("ctrl+z", "ctrl+z") == [], "it was taken back"
        assert await unsaved_after("ctrl+y", "ctrl+y") == ["one.json"]
        assert await unsaved_after("ctrl+z", "Y") == ["one.json"]
        screen.files.save(path)
        await settle(pilot)
        assert await unsaved_after() == [], "what came of it is saved"


async def test_a_number_of_a_message_that_is_gone_goes_to_the_last_one() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("ctrl+g")
        await settle(pilot)
        # As when a file that takes long has been read.
        screen.chat.load(Conversation.from_json({"messages": CHAT["messages"][:2]}), Origin())
        await type_into(pilot, "m4")
        assert screen.chat.place == PartPlace(1)


async def test_a_number_goes_to_the_last_token_and_to_none_beyond_it() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        rendering = screen.rendered.rendering
        assert rendering is not None
        last = len(rendering) - 1
        for typed, chosen in ((f"#{last}", last), ("#0", 0)):
            await pilot.press("ctrl+g")
            await settle(pilot)
            await type_into(pilot, typed)
            assert screen.views.pin == chosen
        await pilot.press("ctrl+g")
        await settle(pilot)
        await type_into(pilot, f"#{last + 1}")
        assert f"The tokens go from 0 to {last}." in screen_text(app)
        assert app.screen is not screen and screen.views.pin == 0


async def test_the_list_asks_a_file_for_no_rows_of_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    app = make_app(ChatRequest(str(dataset(tmp_path, 10))))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await dataset_screen(pilot)
        await pilot.press("alt+o")
        await settle(pilot)
        longer = dataset(tmp_path / "other", 40)
        opened = Dataset.open(longer)
        screen.rows._previews.clear()
        screen.rows._describe(0)  # as drawing does, right before the other file has been read
        screen.rows._opened(longer, (opened, read_row(opened, 0), None))
        await settle(pilot)
        await pilot.press("alt+o")
        await settle(pilot)
        assert "question 20" in screen_text(app)


async def test_the_rows_of_a_file_that_was_left_are_counted_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, real, n_after = threading.Event(), Dataset.index_more, 0

    def more(rows: Dataset) -> bool:
        nonlocal n_after
        n_after += left.wait(0.01)
        real(rows)
        return n_after < 100

    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        monkeypatch.setattr(Dataset, "index_more", more)
        screen.rows.open_path(dataset(tmp_path))
        await until(pilot, lambda: screen.rows.dataset)
        screen.rows.leave()
        left.set()
        await settle(pilot)
        assert n_after < 100


async def test_the_ids_that_are_copied_are_of_what_is_typed_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: list[str]
) -> None:
    path, free = slow_template(tmp_path, monkeypatch)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat_that_waits(pilot, path, free)
        await pilot.press("Z", "f4")
        assert not copied
        await screen.run_action("screen.export_shown")
        await until(pilot, lambda: "The tokens are not ready yet" in said(app))
        free.set()
        await settle(pilot)
        typed = tokviz.load("gpt2").encode("ZHi")
        assert json.loads(copied[-1])[: len(typed)] == typed


async def test_nothing_is_copied_of_what_came_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: list[str]
) -> None:
    path, free = slow_template(tmp_path, monkeypatch)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await chat_that_waits(pilot, path, free)
        await pilot.press("Z", "f4", "ctrl+n")
        free.set()
        await settle(pilot)
        assert not copied
        assert "nothing was copied" in said(app)


async def test_nothing_is_copied_of_a_template_that_was_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied: list[str]
) -> None:
    path, free = slow_template(tmp_path, monkeypatch)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat_that_waits(pilot, path, free)
        await pilot.press("Z", "f4")
        path.write_text(path.read_text() + "changed")
        before = screen.chat.template
        screen.templates.use_file(path)
        await until(pilot, lambda: screen.chat.template is not before)
        free.set()
        await settle(pilot)
        assert not copied
        assert "nothing was copied" in said(app)


async def test_a_token_that_is_explained_stays_itself_or_is_explained_no_more() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.chat.change(template="chatml")
        await settle(pilot)
        await pilot.press("f5")
        assert screen.views.has_focus_within
        rendering = screen.rendered.rendering
        assert rendering is not None
        screen.looking.pick_token(rendering.ids.index(tokviz.load("gpt2").encode("Hello")[0]))
        await pilot.press("shift+delete")  # the first message goes, before it
        await settle(pilot)
        assert screen.views.pin is None
        await pilot.press("ctrl+z")
        screen.looking.pick_token(0)
        screen.messages.go_to(PartPlace(2), (0, 0))
        await pilot.press("shift+delete", "shift+delete")
        await settle(pilot)
        assert screen.views.pin == 0, "nothing has changed before it"
        screen.chat.change(template="nanochat")
        await settle(pilot)
        assert screen.rendered.rendering is not None
        assert screen.views.pin is None, "its number is that of another special token"


async def test_the_token_at_the_cursor_is_explained_in_every_template() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        rendering = screen.rendered.rendering
        assert rendering is not None
        index = rendering.ids.index(tokviz.load("gpt2").encode("Bye")[0])
        screen.looking.pick_token(index)
        screen.looking._go_to_token(index)
        await settle(pilot)
        assert screen.views.pin == index
        screen.chat.change(template="chatml")
        await settle(pilot)
        other, pin = screen.rendered.rendering, screen.views.pin
        assert other is not None
        assert pin is not None
        assert pin != index
        assert other.token_bytes(pin) == b"By"


async def test_the_template_of_before_is_chosen_though_another_one_came_meanwhile() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        await pilot.press("shift+f6")
        await settle(pilot)
        screen.chat.change(template="chatml")  # as when a Jinja file has been read
        await pilot.press("enter")
        await settle(pilot)
        assert screen.chat.state.template == "nanochat"


@pytest.mark.parametrize("template", ["nanochat", "chatml"])
async def test_of_keys_in_many_messages_the_tokens_come_in_the_next_pause(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"text {n}"} for n in range(300)]
    made = list[str]()

    def counting(tokenizer: Any, conversation: Conversation, *how: Any, **policy: Any) -> Any:
        made.append(conversation.messages[4].text)
        return render(tokenizer, conversation, *how, **policy)

    monkeypatch.setattr("tokviz.tui.screens.chat.rendering.render", counting)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, {"messages": messages})
        screen.chat.change(place=PartPlace(4), template=template)
        await settle(pilot)
        assert_exact(screen)
        shown = screen.rendered.rendering
        made.clear()
        # So that the first is sure to be under way no more than the pause.
        monkeypatch.setattr("tokviz.tui.screens.chat.rendering.TYPED_SECONDS", 1.0)
        for letter in "typed":
            screen.messages.editor.type_text(letter)
            assert screen.rendered.is_waiting
            assert screen.rendered.rendering is shown
        await settle(pilot)
        assert made == ["typedtext 4"]
        assert_exact(screen)
        assert screen.messages.list.blocks[4].note.startswith(
            f"{screen.rendered.counts.by_message[4].tokens} tokens"
        )


@pytest.mark.parametrize("template", ["nanochat", "chatml"])
async def test_a_key_in_a_long_message_shows_its_tokens_in_the_same_frame(template: str) -> None:
    text = "".join(f"The quick brown fox, and {n} more.\r\n" for n in range(3_000))
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, {"messages": [{"role": "user", "content": text}]})
        screen.chat.change(template=template)
        await settle(pilot)
        screen.messages.editor.focus()
        for place in (0, 1_500, 2_999):
            screen.messages.editor.insert("x", (place, 3))
            assert not screen.rendered.is_waiting
            assert_exact(screen)
        # This is much: it is left to a thread.
        screen.messages.editor.insert(text.replace("fox", "horse"))
        assert screen.rendered.is_waiting
        await settle(pilot)
        assert_exact(screen)


async def test_turns_that_change_earlier_tokens_are_findings(tmp_path: Path) -> None:
    path = tmp_path / "counting.jinja"
    path.write_text("{% for m in messages %}{{ loop.length }}{{ m.content }}<|im_end|>{% endfor %}")
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, CHAT)
        screen.templates.use_file(path)
        await until(pilot, lambda: "turns-unstable" in {it.code for it in screen.rendered.findings})
