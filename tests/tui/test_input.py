"""Keys that come together, too early, too late: as if they had come one by one, or nothing."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual import events
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input, Markdown

import tokviz
from tests.tui.dialogs.conftest import NOT_CLOSED, DialogApp
from tests.tui.mouse import click
from tests.tui.waiting import WAIT, settle, until
from tokviz.tui import input_queue
from tokviz.tui.actions import LEADER
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.action_palette import ActionPalette
from tokviz.tui.dialogs.base import Dialog
from tokviz.tui.dialogs.confirm import ConfirmDialog
from tokviz.tui.dialogs.file_dialog import OpenFileDialog
from tokviz.tui.dialogs.guide import GuideDialog
from tokviz.tui.dialogs.help import HelpDialog
from tokviz.tui.dialogs.insert import InsertCharacterDialog
from tokviz.tui.dialogs.jump import targets
from tokviz.tui.dialogs.pick import Option, PickDialog
from tokviz.tui.screens.chat import ChatScreen
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.stale_clicks import widget_at
from tokviz.tui.textual_private.resize_events import screen_strips
from tokviz.tui.widgets.editor.editor import TokenEditor
from tokviz.workspace.session import Opened, Session, ShowScreen

APP = Path(input_queue.__file__)


class EarlyApp(TokvizApp):
    """Gets keys before there is anything on the screen."""

    CSS_PATH: ClassVar[Any] = [APP.parent / path for path in TokvizApp.CSS_PATH]

    def __init__(self, *keys: str) -> None:
        super().__init__(Session(Opened("hello"), tokviz.load("gpt2"), remember=False))
        self.early = keys

    def on_load(self) -> None:
        press_at_once(self, *self.early)


def press_at_once(app: Any, *keys: str) -> None:
    """Let keys arrive as if in one read."""
    for key in keys:
        app.post_message(
            events.Key(key, "\r" if key == "enter" else key if len(key) == 1 else None)
        )


async def test_two_enters_in_the_palette_do_one_thing() -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        themes: list[str] = []
        app.theme_changed_signal.subscribe(app, lambda theme: themes.append(theme.name))
        await pilot.press("ctrl+p", *"dark or light")
        press_at_once(app, "enter", "enter", "enter")
        await settle(pilot)
        assert len(themes) == 1
        assert not isinstance(app.screen, ActionPalette)
        await pilot.press("x")
        assert app.session.live.text == "xhello"


async def test_a_click_on_a_command_that_has_gone_does_nothing() -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        await pilot.press("ctrl+p")
        palette = app.screen
        assert isinstance(palette, ActionPalette)
        x, y = palette.rows.region.offset
        await pilot.press(*"dark or light")
        assert len(palette.rows.rows) == 1
        await pilot.click(offset=(x + 2, y + 5))
        await settle(pilot)
        assert app.screen is palette


async def test_the_palette_has_no_pages_where_there_is_no_room() -> None:
    app = EarlyApp()
    async with app.run_test(size=(1, 1)) as pilot:
        await pilot.press("ctrl+p")
        await begun(pilot)
        await pilot.press("pageup", "pagedown", "end", "escape")
        assert len(app.screen_stack) == 1


def question() -> Dialog[Any]:
    return ConfirmDialog("Title", "Do it?", "do it")


def choice() -> Dialog[Any]:
    return PickDialog("Title", [Option("a", "A", "", ""), Option("b", "B", "", "")])


def file() -> Dialog[Any]:
    return OpenFileDialog(Path(__file__).parent)


MAKERS: list[Callable[[], Dialog[Any]]] = [question, choice, InsertCharacterDialog, file]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_a_closed_dialog_takes_no_second_key(
    make: Callable[[], Dialog[Any]], key: str
) -> None:
    below, dialog, app = question(), make(), EarlyApp()
    answers: list[object] = []
    async with app.run_test() as pilot:
        await settle(pilot)
        app.push_screen(below)
        await settle(pilot)
        app.push_screen(dialog, answers.append)
        await settle(pilot)
        while not answers:
            press_at_once(app, *[key] * 4)
            await settle(pilot)
            assert len(answers) <= 1
        assert app.screen is below


@pytest.mark.parametrize("make", MAKERS)
async def test_a_dialog_is_answered_once(make: Callable[[], Dialog[Any]]) -> None:
    app = DialogApp(make())
    async with app.run_test() as pilot:
        await settle(pilot)
        app.dialog.dismiss("first")
        app.dialog.dismiss("second")
        await settle(pilot)
        assert app.result == "first"
        assert len(app.screen_stack) == 1


async def test_an_answer_from_below_waits_for_what_lies_above() -> None:
    app, above = DialogApp(question()), question()
    async with app.run_test() as pilot:
        await settle(pilot)
        app.push_screen(above)
        await settle(pilot)
        app.dialog.dismiss(True)
        await settle(pilot)
        assert (app.screen, app.result) == (above, NOT_CLOSED)
        above.dismiss(False)
        await settle(pilot)
        assert (len(app.screen_stack), app.result) == (1, True)


async def begun(pilot: Pilot[None]) -> None:
    app = pilot.app
    assert isinstance(app, TokvizApp)
    await until(pilot, lambda: app._exit or (not app.input.pending and app.can_take_input()))
    await pilot.pause()


async def test_keys_before_the_first_frame_wait_for_it() -> None:
    app = EarlyApp("f2", "a", "f2", "f2", "b", "f6", "alt+t", "f2", "c", "ctrl+p", "escape")
    async with app.run_test() as pilot:
        await begun(pilot)
        assert app.session.live.text == "abchello"
        assert len(app.screen_stack) == 1


async def test_a_key_goes_to_the_screen_that_the_key_before_it_asked_for() -> None:
    app = EarlyApp("alt+v", "q", "alt+k", "z")
    async with app.run_test() as pilot:
        await begun(pilot)
        assert app.session.live.text == "zhello"
        await pilot.press("alt+v")
        assert app.screen.field.value == "q"


@pytest.mark.parametrize(
    "asked",
    [
        ["chat", "replay", "compare", "vocabulary"],
        ["vocabulary", "replay", "tokens", "vocabulary"],
        ["chat", "vocabulary", "chat", "tokens", "vocabulary"],
    ],
)
async def test_of_screens_asked_for_at_once_the_last_gets_the_keys(asked: list[str]) -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        await begun(pilot)
        for screen_id in asked:
            app.call_later(app.action_show_screen, screen_id)
        app.call_later(press_at_once, app, "q")
        await until(pilot, lambda: app.current_mode == "vocabulary" and app.screen.is_ready)
        await until(pilot, lambda: app.screen.field.value == "q")
        assert app.session.live.text == "hello"


async def test_a_dialog_that_goes_before_it_could_take_keys_leaves_nobody_deaf() -> None:
    app, dialog = EarlyApp(), question()
    async with app.run_test() as pilot:
        await begun(pilot)
        app.push_screen(dialog)
        await app.on_event(events.Key("y", "y"))
        dialog.dismiss(False)
        await begun(pilot)
        await pilot.press("z")
        assert app.session.live.text == "yzhello"


async def test_once_the_app_ends_no_key_does_anything() -> None:
    app = EarlyApp("x", "ctrl+q")
    async with app.run_test() as pilot:
        await begun(pilot)
        press_at_once(app, "y", "alt+r", "ctrl+q", "f2", "enter")
        await until(pilot, lambda: app._exit)
        assert set(app.switcher.created) == {"tokens"}


async def test_input_after_the_last_screen_has_gone_does_nothing() -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        await begun(pilot)
    await app.on_event(events.Key("x", "x"))
    await app.on_event(events.MouseMove(None, 1, 1, 0, 0, 0, False, False, False))
    assert not app.input.pending


async def test_quitting_outlives_a_failed_save_and_waits_for_a_slow_one_all_ears() -> None:
    app, goes_on = EarlyApp(), threading.Event()
    async with app.run_test() as pilot:
        await begun(pilot)
        saving = partial(app.run_worker, group="save", thread=True, exit_on_error=False)
        saving(lambda: 1 // 0)
        saving(lambda: goes_on.wait(20))
        await pilot.press("ctrl+q", "f1")
        assert isinstance(app.screen, HelpDialog)
        assert not app._exit
        await pilot.press("escape", "ctrl+q")
        goes_on.set()
        await until(pilot, lambda: app._exit)


async def test_chords_in_one_read_go_from_screen_to_screen_and_letters_to_the_last() -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        await begun(pilot)
        press_at_once(app, LEADER, "6", "q", LEADER, "3", LEADER, "4", LEADER, "1", "x", "y")
        await until(pilot, lambda: app.session.live.text == "xyhello")
        await pilot.press(LEADER, "6")
        assert app.screen.field.value == "q"


async def test_a_burst_through_the_palette_ends_where_its_last_chord_leads() -> None:
    app = EarlyApp()
    async with app.run_test(size=(20, 5)) as pilot:
        await begun(pilot)
        chords = [key for number in "2345123451" for key in (LEADER, number)]
        press_at_once(app, "ctrl+p", "enter", "enter", "escape", *chords, "x")
        await until(pilot, lambda: app.session.live.text == "xhello")
        assert len(app.screen_stack) == 1


async def test_a_widget_that_never_answers_keeps_no_key_from_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(input_queue, "ANSWER_SECONDS", 0.05)
    app = EarlyApp()
    async with app.run_test() as pilot:
        await begun(pilot)
        release = asyncio.Event()
        assert app.focused is not None
        app.focused.call_later(release.wait)
        press_at_once(app, "right", "ctrl+p")
        # The pilot's own pause would wait for the widget.
        async with asyncio.timeout(WAIT):
            while not isinstance(app.screen, ActionPalette):
                await asyncio.sleep(0.01)
        release.set()


OPENERS = ["ctrl+p", "ctrl+o", "ctrl+t", "ctrl+f", "ctrl+g", "f1"]


@pytest.mark.parametrize("opener", OPENERS)
async def test_a_screen_key_closes_what_is_open_and_goes(opener: str) -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        await begun(pilot)
        await pilot.press(opener)
        assert len(app.screen_stack) == 2
        await pilot.press(LEADER, "4")
        await until(pilot, lambda: app.current_mode == "train")
        await pilot.press(LEADER, "1")
        await until(pilot, lambda: app.current_mode == "tokens")
        assert len(app.screen_stack) == 1
        assert app.session.live.text == "hello"


async def test_letters_behind_the_key_of_a_dialog_go_into_its_field() -> None:
    app = EarlyApp()
    async with app.run_test() as pilot:
        await begun(pilot)
        press_at_once(app, "ctrl+f", "l", "o")
        await settle(pilot)
        assert app.screen.query_one(Input).value == "lo"
        assert app.session.live.text == "hello"


@pytest.mark.parametrize("typed", ["x", "x" * 30, "(pasted)", "(pasted) " * 50])
async def test_what_is_typed_or_pasted_right_before_it_is_saved_is_saved_too(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.tui.widgets.editor.editor._LONG_TEXT", 100)
    app, path = EarlyApp(), tmp_path / "a.txt"
    app.session.path = path
    async with app.run_test() as pilot:
        await begun(pilot)
        if "(" in typed:
            app.post_message(events.Paste(typed))
        else:
            press_at_once(app, *typed)
        press_at_once(app, "ctrl+s", "!")
        await until(pilot, path.exists)
        await settle(pilot)
        assert path.read_text() == f"{typed}hello"
        assert app.session.live.text == f"{typed}!hello"


@pytest.mark.parametrize("between", [(), ("down",)])
@pytest.mark.parametrize("gives_up", [False, True])
async def test_what_is_saved_behind_a_paste_waits_for_it_or_is_given_up(
    gives_up: bool, between: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.tui.widgets.editor.editor._LONG_TEXT", 100)
    monkeypatch.setattr(input_queue, "ANSWER_SECONDS", 0.05)
    app, path, go_on = EarlyApp(), tmp_path / "a.txt", threading.Event()
    app.session.path = path
    prepare = TokenEditor.prepare

    def slowly(editor: TokenEditor, text: str) -> None:
        assert go_on.wait(WAIT)
        prepare(editor, text)

    monkeypatch.setattr(TokenEditor, "prepare", slowly)
    pasted = "(pasted) " * 50

    def said() -> str:
        return " ".join(notice.message for notice in app._notifications)

    async with app.run_test() as pilot:
        await begun(pilot)
        app.post_message(events.Paste(pasted))
        press_at_once(app, *between, "ctrl+s")
        # The pilot's own pause would wait for the editor.
        async with asyncio.timeout(WAIT):
            while not path.exists() and "Inserting a long text… Esc drops" not in said():
                await asyncio.sleep(0.01)
        if gives_up:
            press_at_once(app, "escape")
        press_at_once(app, "!")
        go_on.set()
        await until(pilot, lambda: "!" in app.session.live.text)
        await settle(pilot)
        assert "Inserting" not in said()
        assert pasted in app.session.live.text
        assert path.exists() != gives_up
        assert gives_up or path.read_text() == f"{pasted}hello"


class Typed:
    """What a text and its cursor must be after keys that came one by one."""

    def __init__(self) -> None:
        self.before = self.behind = ""

    def take(self, what: str) -> None:
        if what == "left":
            self.before, self.behind = self.before[:-1], self.before[-1:] + self.behind
        elif what == "backspace":
            self.before = self.before[:-1]
        elif what == "ctrl+end":
            self.before, self.behind = self.before + self.behind, ""
        else:
            self.before += "\n" if what == "enter" else what


@pytest.mark.parametrize("seed", range(2))
async def test_letters_that_are_late_are_put_in_together_and_where_they_belong(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    edits: list[Edit] = []
    do = TokenEditor.edit

    def noted(editor: TokenEditor, edit: Edit) -> EditResult:
        edits.append(edit)
        return do(editor, edit)

    monkeypatch.setattr(TokenEditor, "edit", noted)
    chance, typed = random.Random(seed), Typed()
    app = TokvizApp(Session(Opened(""), tokviz.load("gpt2"), remember=False))
    async with app.run_test() as pilot:
        await begun(pilot)
        n_letters = 0
        for _ in range(8):
            letters = chance.choices([*"ab .é日" * 3, "enter"], k=chance.randint(1, 120))
            n_letters += len(letters)
            other = chance.choice(["left", "backspace", "ctrl+end", "(pasted)"])
            for key in (*letters, other):
                typed.take(key)
            press_at_once(app, *letters)
            if other == "(pasted)":
                app.post_message(events.Paste(other))
            else:
                press_at_once(app, other)
            if chance.random() < 0.3:
                await settle(pilot)
        await settle(pilot)
        assert app.session.live.text == typed.before + typed.behind
        await pilot.press("!")
        assert app.session.live.text == f"{typed.before}!{typed.behind}"
        assert len(edits) < n_letters / 2
        editor = app.focused
        assert isinstance(editor, TokenEditor)
        while editor.history.undo_stack:
            editor.undo()
        assert not app.session.live.text


async def test_a_press_on_what_has_been_taken_out_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = EarlyApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(dialog := GuideDialog("chat"))
        await until(pilot, lambda: dialog.query("MarkdownParagraph"))
        await settle(pilot)
        place = dialog.query("MarkdownParagraph").first().region.offset
        pressed = widget_at(dialog, place)
        with monkeypatch.context() as patch:
            patch.setattr(GuideDialog, "_refresh_layout", lambda *size, **options: None)
            await dialog.query_one(Markdown).remove_children()
            assert widget_at(dialog, place) is pressed, "it is seen until the next frame"
            await click(pilot, place)
        dialog.refresh(layout=True)
        await settle(pilot)
        assert app.screen is dialog and widget_at(dialog, place) is not pressed


async def test_a_click_that_is_heard_late_asks_nothing_of_the_screen_that_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tokviz.tui.input_queue.ANSWER_SECONDS", 0)
    app, goes_on = EarlyApp(), asyncio.Event()
    async with app.run_test(size=(120, 40)) as pilot:
        for name in ("chat", "compare"):
            app.action_show_screen(name)
            await settle(pilot)
        compare: Any = app.screen
        rows = [strip.text for strip in screen_strips(compare)]
        (y,) = (y for y, row in enumerate(rows) if " Scripts " in row)
        place = rows[y].index("Scripts"), y
        tabs = widget_at(compare, Offset(*place))
        assert tabs is not None
        tabs.call_later(goes_on.wait)  # it has something else to do
        for kind in (events.MouseDown, events.MouseUp):
            await app.on_event(kind(None, *place, 0, 0, 1, False, False, False))
        app.action_show_screen("chat")
        async with asyncio.timeout(WAIT):
            while app.screen is compare:
                await asyncio.sleep(0.01)
        goes_on.set()
        await settle(pilot)
        assert isinstance(app.screen, ChatScreen)
        app.action_show_screen("compare")
        await settle(pilot)
        await click(pilot, place)
        await settle(pilot)
        assert compare.views.front == "scripts", "it was on its tab"


@pytest.mark.parametrize("screen", [kind.id for kind in SCREENS])
@pytest.mark.parametrize("button", [2, 3])
async def test_what_a_click_does_only_the_left_button_does(screen: str, button: int) -> None:
    session = Session(Opened("ab"), tokviz.load("gpt2"), remember=False, first=ShowScreen(screen))
    app = TokvizApp(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)

        def seen() -> tuple[object, ...]:
            strips = screen_strips(app.screen)
            return app.screen, app.focused, [strip.text for strip in strips]

        # What is found in a conversation comes some time after its tokens.
        await until(pilot, lambda: screen != "chat" or "Findings 1" in str(seen()))
        before, found = seen(), targets(app.screen, screen_strips(app.screen))
        asked = [at for at, _ in found if getattr(widget_at(app.screen, at), "HEARS_RIGHT", False)]
        places = [at for at, _ in found if at not in asked]
        assert len(places) > 12
        for place in places:
            await click(pilot, place, button)
            await settle(pilot)
            assert seen() == before, place
