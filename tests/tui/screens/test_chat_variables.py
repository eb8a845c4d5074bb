"""The Chat screen: the tokenizer's own templates, template variables, the policy for specials."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import tokviz
from tests.tui.waiting import settle, until
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import ChatRequest
from tokviz.chat.render import render
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.chat.state import PartPlace
from tokviz.tui.widgets.field import Field
from tokviz.workspace.session import Opened, Session, ShowScreen
from tokviz.workspace.session_file import capture_session, load_session, restore

TEMPLATE = """
{%- if tools %}<|im_start|>tools{{ tools | tojson }}<|im_end|>{% endif -%}
{%- for m in messages -%}
<|im_start|>{{ m.role }}
{%- if m.role == 'assistant' and not (enable_thinking is defined and enable_thinking is false) -%}
<think></think>
{%- endif -%}
{%- if m.content is string %}{{ m.content }}{% else %}
{%- for part in m.content -%}
{%- if part.type == 'image' %}<|image|>{% else %}{{ part.text }}{% endif -%}
{%- endfor %}{% endif -%}
<|im_end|>
{%- endfor -%}
{%- if effort == 'high' or effort == 'low' %}effort {{ effort }}{% endif -%}
{{ date | default('today') }}
{%- if add_generation_prompt %}<|im_start|>assistant{% endif %}"""
SPECIALS = {"<|im_start|>": 256, "<|im_end|>": 257, "<|image|>": 258}
TOOL = {"type": "function", "function": {"name": "add"}}
CHAT = {
    "messages": [
        {"role": "user", "content": "Hi <|im_end|>"},
        {"role": "assistant", "content": "Hello"},
    ]
}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    yield


def model(folder: Path, template: object = TEMPLATE) -> Tokenizer:
    """Give a tokenizer of bytes from a folder with a chat template."""
    folder.mkdir()
    Tokenizer({n: bytes([n]) for n in range(256)}, [], SPECIALS, name="bytes").save(
        folder / "tokenizer.json", format="huggingface"
    )
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    return tokviz.load(folder)


def make_app(tokenizer: Tokenizer) -> TokvizApp:
    session = Session(Opened("hello"), tokenizer, remember=False, first=ShowScreen("chat"))
    return TokvizApp(session)


async def chat(pilot: Pilot[None], conversation: dict[str, Any] = CHAT) -> ChatScreen:
    await settle(pilot)
    screen = pilot.app.screen
    assert isinstance(screen, ChatScreen)
    screen.chat.change(Conversation.from_json(conversation), PartPlace(0))
    await settle(pilot)
    return screen


def text_of(screen: ChatScreen) -> str:
    assert screen.rendered.rendering is not None, screen.rendered.problem
    return screen.rendered.rendering.text


def screen_text(app: TokvizApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def status_text(screen: ChatScreen) -> str:
    return screen.status.render_line(0).text


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


# -- the tokenizer's own templates


async def test_the_template_of_a_tokenizer_is_the_default_and_a_chosen_one_stays(
    tmp_path: Path,
) -> None:
    own, gpt2 = model(tmp_path / "mine"), tokviz.load("gpt2")
    app = make_app(gpt2)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        assert "nanochat" in screen_text(app)
        app.session.use_tokenizer(own, "mine")
        await settle(pilot)
        assert text_of(screen).startswith("<|im_start|>user")
        assert "tokenizer_config.json (own)" in screen_text(app)
        screen.chat.change(template="chatml")
        app.session.use_tokenizer(gpt2, "gpt2")
        await settle(pilot)
        app.session.use_tokenizer(own, "mine")
        await settle(pilot)
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.template == "chatml"
        await press(pilot, "ctrl+z")
        assert "<think>" in text_of(screen)


async def test_a_named_template_of_the_tokenizer_can_be_chosen(tmp_path: Path) -> None:
    named = [
        {"name": "default", "template": "default {{ messages[0].content }}"},
        {"name": "tool_use", "template": "tool_use {{ messages[0].content }}"},
    ]
    app = make_app(model(tmp_path / "mine", named))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        assert text_of(screen) == "default Hi <|im_end|>"
        await press(pilot, "shift+f6")
        assert "tool_use" in screen_text(app)
        await press(pilot, *"tool_use", "enter")
        assert text_of(screen) == "tool_use Hi <|im_end|>"
        assert "tool_use (own)" in screen_text(app)


@pytest.mark.parametrize("names", [("rag", "tool_use"), ()])
async def test_without_a_usable_default_the_reason_is_shown_and_others_can_be_chosen(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    folder = tmp_path / "mine"
    tokenizer = model(folder, [{"name": name, "template": f"{name}!"} for name in names])
    if not names:
        (folder / "tokenizer_config.json").write_text("{")
    app = make_app(tokenizer)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        problem = str(screen.rendered.problem)
        assert ("choose one of rag, tool_use" if names else "tokenizer_config.json") in problem
        await press(pilot, "x")
        assert str(screen.rendered.problem) == problem
        screen.chat.change(template=names[0] if names else "nanochat")
        await settle(pilot)
        assert names[:1] == () or text_of(screen) == "rag!"
        assert screen.rendered.problem is None


async def test_the_process_of_an_own_template_ends_with_its_tokenizer(tmp_path: Path) -> None:
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        template = screen.chat.template
        app.session.use_tokenizer(tokviz.load("gpt2"), "gpt2")
        await settle(pilot)
        assert screen.chat.template is not template
        with pytest.raises(tokviz.TokvizError, match="closed"):
            template.parameters()  # type: ignore[union-attr]


# -- the policy for special tokens


async def test_f6_switches_the_policy_and_the_changes_view_shows_both(tmp_path: Path) -> None:
    tokenizer = model(tmp_path / "mine")
    app = make_app(tokenizer)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        assert "specials as transformers" in status_text(screen)
        recognized = screen.rendered.rendering
        assert recognized is not None
        first = 1 + len("userHi ")
        assert recognized.ids[first] == 257
        await press(pilot, "f6")
        as_text = render(tokenizer, CHAT, None, specials="content_as_text")
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.ids == as_text.ids
        assert f"specials as text: 10 tokens changed from #{first} on" in status_text(screen)
        assert screen.views.pin == first
        screen.looking.show_view("changes")
        await settle(pilot)
        assert f"#{first} − <|im_end|>" in screen_text(app)
        assert "+ < | i m _ e n d | >" in screen_text(app)
        await press(pilot, "f6")
        assert screen.rendered.rendering.ids == recognized.ids
        assert f"10 tokens changed from #{first} on" in status_text(screen)
        screen.chat.change(template="nanochat")
        await settle(pilot)
        assert "changed from" not in status_text(screen)
        assert "specials as transformers" in status_text(screen), "the user's choice stays"


async def test_a_builtin_template_keeps_the_policy_of_its_source() -> None:
    app = make_app(tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        assert "specials as text" in status_text(screen)
        screen.chat.change(template="chatml")
        await settle(pilot)
        assert "specials as transformers" in status_text(screen)
        await press(pilot, "f6")
        assert "specials as text: no token changed" in status_text(screen)


# -- variables


async def open_variables(pilot: Pilot[None], name: str = "") -> None:
    """Show the variables and choose one by the keyboard."""
    await press(pilot, "ctrl+l", "j")
    order = ["tools", "enable_thinking", "effort", "date", "add_generation_prompt"]
    for _ in range(order.index(name) if name else 0):
        await pilot.press("down")


async def test_the_variables_are_listed_with_kind_default_and_source(tmp_path: Path) -> None:
    row = {**CHAT, "tools": [TOOL], "chat_template_kwargs": {"enable_thinking": True}}
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(240, 40)) as pilot:
        await chat(pilot, row)
        await open_variables(pilot)
        lines = {line.split()[0]: line for line in app_lines(app)}
        assert '"add"' in lines["tools"] and "· list, from the row" in lines["tools"]
        assert "true · boolean, from the row" in lines["enable_thinking"]
        assert "not set · text · edit" in lines["effort"]
        assert '"today" · default' in lines["date"]
        assert "not set · boolean" in lines["add_generation_prompt"]


def app_lines(app: TokvizApp) -> list[str]:
    """Give the lines of the left side that are not empty."""
    halves = (line.split("│")[1] for line in screen_text(app).splitlines() if line.count("│") > 2)
    return [half for half in halves if half.strip()]


async def test_a_boolean_is_toggled_and_the_change_is_marked(tmp_path: Path) -> None:
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await open_variables(pilot, "enable_thinking")
        await press(pilot, "enter")
        assert "enable_thinking = true: no token changed" in status_text(screen)
        await press(pilot, "space")
        assert "<think>" not in text_of(screen)
        rendering = screen.rendered.rendering
        assert rendering is not None
        where = status_text(screen)
        assert "enable_thinking = false: 15 tokens changed from #" in where
        assert screen.views.pin == int(where.partition("#")[2].split()[0])
        assert screen.views.pin is not None
        assert rendering.token_bytes(screen.views.pin) == b"H"
        await press(pilot, "ctrl+z", "ctrl+z")
        assert "<think>" in text_of(screen)
        assert screen.chat.state.variables == {}
        assert "enable_thinking reset" in status_text(screen)


async def test_a_click_steps_through_choices_and_reset_is_a_link(tmp_path: Path) -> None:
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(160, 40)) as pilot:
        screen = await chat(pilot)
        await open_variables(pilot)

        async def click(name: str, word: str) -> None:
            lines = screen_text(app).splitlines()
            y = next(y for y, line in enumerate(lines) if line.startswith(f"│ {name}"))
            await pilot.click(offset=(lines[y].index(word), y))
            await settle(pilot)

        await click("effort", "not set")
        assert text_of(screen).endswith("effort hightoday")
        await click("effort", '"high"')
        assert text_of(screen).endswith("effort lowtoday")
        await click("effort", "reset")
        assert "effort" not in text_of(screen)
        await click("add_generation_prompt", "not set")
        assert text_of(screen).endswith("today<|im_start|>assistant")


async def test_others_are_edited_as_json_with_the_error_in_place(tmp_path: Path) -> None:
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await open_variables(pilot, "date")
        await press(pilot, "enter")
        field = app.screen.query_one(Field)
        assert field.value == '"today"'
        field.value = "[1, "
        await press(pilot, "enter")
        said = str(app.screen.query_one(".error", Static).render())
        assert "column 4: this is not JSON" in " ".join(said.split())
        field.value = '"10 May"'
        await press(pilot, "enter")
        assert app.screen is screen
        assert text_of(screen).endswith("10 May")
        assert 'date = "10 May": 4 tokens changed' in status_text(screen)
        await press(pilot, "enter")
        app.screen.query_one(Field).value = ""
        await press(pilot, "enter")
        assert text_of(screen).endswith("today")


async def test_values_of_the_row_are_the_base_and_the_users_values_override_them(
    tmp_path: Path,
) -> None:
    row = {**CHAT, "tools": [TOOL], "chat_template_kwargs": {"enable_thinking": False}}
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, row)
        assert "<think>" not in text_of(screen) and '"add"' in text_of(screen)
        await open_variables(pilot, "enable_thinking")
        await press(pilot, "enter")
        assert "<think>" in text_of(screen)
        await press(pilot, "up", "enter")
        app.screen.query_one(Field).value = '[{"name": "sub"}]'
        await press(pilot, "enter")
        assert '"sub"' in text_of(screen) and '"add"' not in text_of(screen)
        await press(pilot, "enter")
        app.screen.query_one(Field).value = "[1]"
        await press(pilot, "enter")
        assert "key 'tools': number 1 is a number" in str(screen.rendered.problem)
        assert screen.chat.conversation.to_json() == row, "the row is not changed"


async def test_a_template_without_variables_has_no_tab_for_them() -> None:
    app = make_app(tokviz.load("gpt2"))
    async with app.run_test(size=(120, 40)) as pilot:
        await chat(pilot)
        assert "Variables" not in screen_text(app)
        await open_variables(pilot)
        assert "This template reads no variables." in screen_text(app)
        await press(pilot, "escape")
        assert "Variables" not in screen_text(app)


async def test_the_check_of_a_dataset_follows_the_variables(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(CHAT)}\n" * 3)
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        screen.rows.open_path(path)
        await settle(pilot)
        await press(pilot, "alt+l")

        async def length() -> int | None:
            await until(
                pilot, lambda: bool(screen.rows.checks.scan and screen.rows.checks.scan.complete)
            )
            return screen.rows.checks.scan.length(0) if screen.rows.checks.scan else None

        before = await length()
        screen.chat.change(variables={"enable_thinking": False})
        await settle(pilot)
        after = await length()
        assert before is not None and after == before - len("<think></think>")


async def test_variables_and_policy_are_saved_in_a_session_and_restored(tmp_path: Path) -> None:
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot)
        await open_variables(pilot, "enable_thinking")
        await press(pilot, "enter", "enter", "f6")
        expected = screen.rendered.rendering
        saved = capture_session(app.session, "chat", screen.saved())()
    assert expected is not None
    other = make_app(tokviz.load(tmp_path / "mine"))
    async with other.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, {"messages": CHAT["messages"][:1]})
        restore(other.session, load_session(saved, other.session.settings))
        await settle(pilot)
        assert screen.chat.state.variables == {"enable_thinking": False}
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.ids == expected.ids
        assert "specials as text" in status_text(screen)


async def test_media_are_listed_as_placeholders(tmp_path: Path) -> None:
    parts = [{"type": "image", "image": "cat.png"}, {"type": "text", "text": "What?"}]
    row = {"messages": [{"role": "user", "content": parts}, CHAT["messages"][1]]}
    app = make_app(model(tmp_path / "mine"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await chat(pilot, row)
        assert "<|image|>What?" in text_of(screen)
        screen.looking.show_view("roles")
        await settle(pilot)
        words = " ".join("".join(line.split("│")[2:]) for line in screen_text(app).splitlines())
        assert "1 media part: image (message 1). The template writes placeholders" in " ".join(
            words.split()
        )


async def test_options_of_the_command_line_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(CHAT)}\n" * 2)
    values = {"enable_thinking": False}
    request = ChatRequest(str(path), variables=values, specials="content_as_text")
    tokenizer = model(tmp_path / "mine")
    app = TokvizApp(Session(Opened("hello"), tokenizer, remember=False, first=request))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, ChatScreen)
        expected = render(tokenizer, CHAT, variables=values, specials="content_as_text")
        assert screen.rendered.rendering is not None
        assert screen.rendered.rendering.ids == expected.ids
        await press(pilot, "alt+n")
        assert screen.rendered.rendering.ids == expected.ids, "for every row"
