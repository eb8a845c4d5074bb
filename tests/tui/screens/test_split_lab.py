"""What there is to do with patterns in the Splits panel, from the keyboard and by the mouse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, STARTERS
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.dialogs.pick import PickDialog
from tokviz.tui.screens.train.form import TrainForm
from tokviz.tui.widgets.field import PushButton
from tokviz.tui.widgets.splits.heads import PatternHead
from tokviz.tui.widgets.splits.panel import SplitsPanel
from tokviz.tui.widgets.splits.regex_field import RegexField, RegexInput
from tokviz.tui.widgets.splits.view import GlossView
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings


def make_app(text: str, settings: Settings) -> TokvizApp:
    return TokvizApp(Session(Opened(text), tokviz.load("gpt2"), settings, remember=False))


def drawn(app: TokvizApp) -> str:
    return "\n".join(
        view.render_line(y).text.rstrip()
        for view in app.screen.query(GlossView)
        for y in range(view.size.height)
    )


async def pick(pilot: Pilot[Any], words: str) -> None:
    """Choose in the dialog that is open by typing."""
    await until(pilot, lambda: isinstance(pilot.app.screen, PickDialog))
    await settle(pilot)
    dialog = pilot.app.screen
    await pilot.press(*words, "enter")
    await until(pilot, lambda: pilot.app.screen is not dialog)


@pytest.mark.parametrize("key", ["ctrl+n", "ctrl+o"])
async def test_another_text_takes_the_keyboard_from_the_regex(key: str, tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_text("other")
    app = make_app("words", Settings(panel="splits"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "custom" in drawn(app))
        field = app.screen.query_one(RegexInput)
        field.focus()
        regex = field.value
        await pilot.press(key)
        if key == "ctrl+o":
            await until(pilot, lambda: isinstance(app.screen, OpenFileDialog))
            await settle(pilot)
            app.screen.query_one(Input).value = str(path)
            await pilot.press("enter")
            await until(pilot, lambda: app.session.live.text == "other")
        await settle(pilot)
        await pilot.press("x")
        assert app.session.live.text == ("xother" if key == "ctrl+o" else "x")
        assert field.value == regex


async def test_a_pattern_of_the_library_is_tried_handed_over_and_found_again(
    copied: list[str],
) -> None:
    app = make_app("tokenization 12345", Settings(panel="splits"))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "custom ▏tokenization" in drawn(app))
        panel = app.screen.query_one(SplitsPanel)
        field = app.screen.query_one(RegexInput)

        # What is typed can be undone, run by run, and an error has its place underlined.
        field.focus()
        field.value = ""
        await pilot.press(*"[a-z]+", "home", "(")
        await until(pilot, lambda: panel.query_one(RegexField).message.startswith("✗ missing )"))
        segments = [part for part in field.render_line(0) if part.style and part.style.underline]
        assert [part.text for part in segments] == ["+"]
        await pilot.press("ctrl+z")
        assert field.value == "[a-z]+"
        await pilot.press("ctrl+z", "ctrl+z")
        assert field.value == r"\w+|\s+|[^\w\s]+"
        await pilot.press("ctrl+y", "ctrl+y")
        assert field.value == "[a-z]+"
        await until(pilot, lambda: panel.query_one(RegexField).message == "⚠ 1 gap")
        assert "custom ▏tokenization×" in drawn(app)
        await settle(pilot)

        # The library writes another one, and destroys nothing.
        await pilot.click(PushButton)
        await pick(pilot, "deepseek")
        assert panel.pattern == "deepseek3" and field.value == SPLIT_PATTERNS["deepseek3"].regex
        await until(pilot, lambda: "‿123▌45" in drawn(app) or "▌123▌45" in drawn(app))
        field.focus()
        await pilot.press("ctrl+z")
        assert field.value == "[a-z]+"
        await pilot.press("ctrl+y", "up")
        assert field.value == "[a-z]+"
        await pilot.press("down")
        await until(pilot, lambda: panel.regex == SPLIT_PATTERNS["deepseek3"].regex)

        # A row of a named pattern, by the keyboard.
        head = app.screen.query(PatternHead)[1]
        head.focus()
        await pilot.press("enter")
        await pick(pilot, "qwen")
        await until(pilot, lambda: "Qwen2  " in drawn(app))

        # The same where there is no room for heads.
        await pilot.press("ctrl+l", "s")
        await pick(pilot, "row 2")
        await pick(pilot, "cs336")
        await until(pilot, lambda: "CS336  " in drawn(app))
        panel.choose(1, "qwen2")

        # Tokens inside the pre-tokens: the mark is in the rows and in the legend.
        await pilot.press("ctrl+l", "s")
        await pick(pilot, "tokens")
        await until(pilot, lambda: "▏token╎ization" in drawn(app))
        assert "╎ token" in str(panel.query_one(".legend").render())

        for words in ("python", "tokenizer.json"):
            await pilot.press("ctrl+l", "s")
            await pick(pilot, words)
        await until(pilot, lambda: len(copied) == 2)
        assert copied[0].startswith("import regex")
        assert len(json.loads(copied[1])["pretokenizers"]) == 4

        # Another regex is typed; the training is set up to use it.
        field.focus()
        panel.choose(2, STARTERS[1][0])
        await until(pilot, lambda: app.session.settings.split_regex == STARTERS[1][0])
        await pilot.press("ctrl+l", "s")
        await pick(pilot, "train")
        await until(pilot, lambda: bool(app.screen.query(TrainForm)))
        values = app.screen.query_one(TrainForm)
        await until(pilot, lambda: values.values.regex == STARTERS[1][0])
        assert values.values.pattern == "custom"
        settings = app.session.settings
        assert settings.split_patterns == ("gpt2", "qwen2") and settings.split_tokens
        assert "[a-z]+" in settings.split_regexes

    again = make_app("tokenization 12345", settings)
    async with again.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Qwen2  ▏token╎ization" in drawn(again))
        field = again.screen.query_one(RegexInput)
        assert field.value == STARTERS[1][0]
        field.focus()
        await pilot.press("up")
        await settle(pilot)
        assert field.value in settings.split_regexes


async def test_the_panel_opens_at_the_cursor_in_the_middle_of_a_full_view() -> None:
    app = make_app("".join(f"line{n} here\n" for n in range(300)), Settings())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("ctrl+end", "alt+s")
        await until(pilot, lambda: "custom" in drawn(app))
        await until(pilot, lambda: "299" in drawn(app))
        lines = drawn(app).splitlines()
        blocks = sum(line.startswith("GPT-2 ") for line in lines)
        assert blocks == app.screen.query_one(GlossView).size.height // 4
        await pilot.press("ctrl+home", *["pagedown"] * 4)
        await settle(pilot)
        row = app.screen.query_one("#text").cursor_location[0]  # type: ignore[attr-defined]
        shown = [line for line in drawn(app).splitlines() if line.startswith("GPT-2 ")]
        assert str(row) in shown[len(shown) // 2].replace("‿", "")
