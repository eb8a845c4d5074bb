"""Every key, palette entry and footer word of every action of every screen does something.

One app for each screen: before each action what it needs is made. While a note of being called is
in the action's place, each of its ways has to call it and must change nothing by itself. Then the
action is done, and what the user could notice is compared with what there was before.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea
from textual.worker import WorkerCancelled

import tokviz
from tests.tui.waiting import is_still, until
from tokviz.chat.conversation import Conversation
from tokviz.compare.compared_documents import ComparedTokenizer
from tokviz.process.jobs.train_messages import TrainRequest, TrainSummary
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import PREFIX, Action, key_label
from tokviz.tui.app import APP_ACTIONS, TokvizApp, actions_on
from tokviz.tui.dialogs.action_palette import ActionPalette, offers_here
from tokviz.tui.error_notices import ErrorNotices
from tokviz.tui.screens.chat import ChatScreen, rendering
from tokviz.tui.screens.registry import SCREENS
from tokviz.tui.screens.replay import ReplayScreen
from tokviz.tui.screens.replay.state import source_named
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.train import TrainScreen, training
from tokviz.tui.screens.vocabulary import VocabularyScreen
from tokviz.tui.widgets.conversation.rows import PartPlace
from tokviz.workspace.error_log import ErrorLog, ErrorReport
from tokviz.workspace.recovery_journal import RecoveryJournal
from tokviz.workspace.session import (
    Opened,
    ReplayRequest,
    Request,
    Session,
    ShowConversation,
    ShowScreen,
)
from tokviz.workspace.settings import Settings

SIZE = (200, 26)
"""So wide that every word of the footer is shown."""
TEXT = "the cat and the dog\r\n the cat\n"
CONVERSATION = {
    "messages": [
        {"role": "user", "content": "Hi there"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}],
        },
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "See you"},
    ]
}
SUMMARY = TrainSummary(
    "/runs/x", 300, 43, 43, None, {"reading": 1.0}, 1000, 990, 1, 0, 30, 400, b" the", None
)

Before = Callable[["Stage"], Awaitable[object]]


class Way(NamedTuple):
    """One way of doing an action: by a key, by the palette, or by a click on its footer word."""

    action: Action
    kind: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.action.id} by {self.key or self.kind}"


async def settle(pilot: Pilot[None]) -> None:
    """Wait until workers are done and all is drawn; quicker than `waiting.settle`."""
    await pilot.pause()
    while len(pilot.app.workers) or not is_still(pilot.app):
        with contextlib.suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


@pytest.fixture(autouse=True)
def escapes_are_far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handle each Esc by itself, as if time had passed since the last one."""
    monkeypatch.setattr("tokviz.tui.input_queue.ESCAPE_SECONDS", -1.0)


class Stage:
    """The app on one screen, and everything that an action may change."""

    def __init__(self, pilot: Pilot[None], folder: Path, run: str, copied: list[str]) -> None:
        self.pilot, self.folder, self.run, self.copied = pilot, folder, run, copied
        self.app: Any = pilot.app
        self.screen: Any = pilot.app.screen
        self.ends: list[str] = []
        self.n_drawn = 0
        self.seen: tuple[object, tuple[str, ...]] = (None, ())
        self.app.exit = self._end
        self.app.post_display_hook = self._drawn

    def _end(self) -> None:
        self.ends.append("quit")

    def _drawn(self) -> None:
        self.n_drawn += 1

    def lines(self) -> tuple[str, ...]:
        """Read the screen, unless nothing was drawn since it was read."""
        drawn = self.app.screen, self.n_drawn
        if self.seen[0] != drawn:
            strips = self.app.screen._compositor.render_strips()
            self.seen = drawn, tuple(strip.text for strip in strips)
        return self.seen[1]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await settle(self.pilot)

    async def do(self, action: str) -> None:
        await self.screen.run_action(f"screen.{action}")
        await settle(self.pilot)

    async def rest(self) -> None:
        """Close dialogs and go back to the screen."""
        await settle(self.pilot)
        while len(self.app.screen_stack) > 1:
            self.app.screen.dismiss(None)
            await self.pilot.pause()
        if self.app.screen is not self.screen:
            self.app.action_show_screen(self.screen.SCREEN_ID)
            await settle(self.pilot)
        await self.clear()

    async def clear(self) -> None:
        """Take away what was said."""
        if len(self.app._notifications):
            self.app.clear_notifications()
            await settle(self.pilot)

    def noticeable(self) -> dict[str, object]:
        """Give what the user could notice, and what the session holds, each with its name."""
        app, session = self.app, self.app.session
        screen = app.screen
        fields = [
            (field.id, field.selection, field.has_focus)
            for kind in (Input, TextArea)
            for field in screen.query(kind)
        ]
        return {
            **{f"line {row}": line for row, line in enumerate(self.lines())},
            "screens": tuple(type(shown) for shown in app.screen_stack),
            "focus": screen.focused,
            "fields": str(fields),
            "notices": tuple(notice.message for notice in app._notifications),
            "copied": tuple(self.copied),
            "theme": app.theme,
            "text": session.live.text,
            "tokenizer": session.tokenizer.name,
            "path": session.path,
            "settings": session.settings,
            "ends": len(self.ends),
            "lit": getattr(getattr(screen, "state", None), "lit", None),  # seen in its style alone
        }


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture(autouse=True)
def no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no training and no compiler run."""

    class Trainer:
        pid = None

        def __init__(self, *callbacks: object) -> None:
            pass

        def train(self, request: TrainRequest) -> None:
            pass

        def cancel(self) -> None:
            pass

        close = cancel

    monkeypatch.setattr(training, "TrainClient", Trainer)


@pytest.fixture(autouse=True)
def no_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be found after a while, which could be taken for what an action does."""
    monkeypatch.setattr(rendering, "LINT_SECONDS", 3600.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs") / "words"
    tokviz.train(["the cat and the theme of the theory " * 9], 280).save(folder)
    return str(folder)


def small_tokenizer() -> Tokenizer:
    tokens = [*(bytes([byte]) for byte in range(256)), b"th", b"the", b" c", b" ca", b" cat"]
    merges = [(b"t", b"h"), (b"th", b"e"), (b" ", b"c"), (b" c", b"a"), (b" ca", b"t")]
    return Tokenizer(dict(enumerate(tokens)), merges, {"<|end|>": 300}, name="small")


# -- what is there before every action of a screen, and what single actions need besides


async def prepare_tokens(stage: Stage) -> None:
    screen: TokensScreen = stage.screen
    screen.text.load(TEXT, None)
    screen.side._show_panels(True)
    screen.panels.show("ids")
    screen.editor.soft_wrap = screen.editor.show_invisibles = True
    screen.editor.focus()
    screen.editor.move_cursor((0, 0))


async def prepare_chat(stage: Stage) -> None:
    screen: ChatScreen = stage.screen
    screen.rows.checks.stop()
    stage.app.session.ask(ShowConversation(Conversation.from_json(CONVERSATION)))
    screen.remove_class("-no-side")
    screen.looking.show_view("tokens")
    screen.messages.set_invisibles(True)
    screen.messages.go_to(PartPlace(0), (0, 0))
    screen.looking.focus_left()


async def second_message(stage: Stage) -> None:
    stage.screen.messages.go_to(PartPlace(1), (0, 0))


async def dataset(stage: Stage) -> None:
    path = stage.folder / "rows.jsonl"
    path.write_text(f"{json.dumps(CONVERSATION)}\n" * 3)
    stage.screen.rows.open_path(path)
    await settle(stage.pilot)


async def second_row(stage: Stage) -> None:
    await dataset(stage)
    await stage.do("next_row")


async def listed_rows(stage: Stage) -> None:
    await dataset(stage)
    await stage.do("show_rows")


async def prepare_replay(stage: Stage) -> None:
    screen: ReplayScreen = stage.screen
    screen.transport.pause()
    screen.own.end_edit()
    screen.merges.show_all()
    screen.comparing.end_comparison()
    screen.transport.jump_to(5)
    screen.your_text.show("the theme of the cat", is_own=True)
    screen.views.show_view("texts", focus=False)
    screen.scrubber.focus()


async def comparison(stage: Stage) -> None:
    stage.screen.comparing.compare_with(source_named("gpt2"))


async def prepare_vocabulary(stage: Stage) -> None:
    screen: VocabularyScreen = stage.screen
    screen.field.put("")
    screen.searching.sort("id")
    await settle(stage.pilot)
    screen.pages.find(257)
    await settle(stage.pilot)
    screen.pages.show_page("overview")
    screen.field.focus()


async def prepare_train(stage: Stage) -> None:
    screen: TrainScreen = stage.screen
    screen.form.clear_corpus()
    screen.training.enter("form")
    screen.query_one("#source").focus()


async def result(stage: Stage) -> None:
    stage.screen.state.summary = SUMMARY
    stage.screen.training.enter("done")
    stage.screen.fitted()


async def corpus(stage: Stage) -> None:
    book = stage.folder / "book.txt"
    book.write_text("the theme of the thesis")
    stage.screen.form.add_sources([str(book)])


async def running(stage: Stage) -> None:
    await corpus(stage)
    await settle(stage.pilot)
    stage.screen.training.start_training()


def pressed(*keys: str) -> Before:
    return lambda stage: stage.press(*keys)


def done(*actions: str) -> Before:
    async def before(stage: Stage) -> None:
        for action in actions:
            await stage.do(action)

    return before


async def unfocused(stage: Stage) -> None:
    stage.app.screen.set_focus(None)


async def elsewhere(stage: Stage) -> None:
    stage.app.action_show_screen("train" if stage.screen.SCREEN_ID == "tokens" else "tokens")


async def leftover(stage: Stage) -> None:
    autosave = RecoveryJournal(stage.folder / "left")
    autosave.set_text("left behind")
    autosave.flush()
    autosave.end()
    stage.screen.recovery.offer(autosave.recoverable_texts())


async def gone_wrong(stage: Stage) -> None:
    stage.app.errors = ErrorNotices(stage.app, ErrorLog())
    stage.app.errors.last_error = ErrorReport("x.py:1", "an error", "Traceback", None, 1)


RECOVERY = dict.fromkeys(
    ("list_unsaved", "restore_unsaved", "discard_unsaved", "ask_later"), leftover
)
"""What can be answered only while something is offered."""


async def page_gone_to(stage: Stage) -> None:
    stage.screen.pages.go_to(256)
    stage.screen.pages.rows.focus()


async def prepare_compare(stage: Stage) -> None:
    others = stage.screen.state.others
    while len(others) < 2:
        stage.screen.lanes.add(ComparedTokenizer(stage.run if others else "gpt2"))
        await settle(stage.pilot)
    stage.screen.disagreements.forget()
    stage.screen.disagreements.count()
    await settle(stage.pilot)
    stage.screen.figures.use_base(0)
    stage.screen.gloss.focus()


PREPARE: dict[str, Before] = {
    "tokens": prepare_tokens,
    "compare": prepare_compare,
    "chat": prepare_chat,
    "replay": prepare_replay,
    "vocabulary": prepare_vocabulary,
    "train": prepare_train,
}
BEFORE: dict[str, dict[str, Before]] = {
    "tokens": {
        **RECOVERY,
        "copy_error": gone_wrong,
        "undo": pressed("x"),
        "redo": pressed("x", "ctrl+z"),
        "show_ids": pressed("alt+t"),
    },
    "chat": {
        **RECOVERY,
        "move_up": second_message,
        "previous_message": second_message,
        "add_part": second_message,
        "pick_kind": second_message,
        "delete_part": second_message,
        "join_parts": second_message,
        "undo": done("delete_message"),
        "redo": done("delete_message", "undo"),
        "show_tokens": done("show_view('ids')"),
        "show_rows": dataset,
        "next_row": dataset,
        "previous_row": second_row,
        "filter_rows": dataset,
        "show_lengths": dataset,
        "escape": listed_rows,
    },
    "compare": {
        "previous_disagreement": done("next_disagreement", "next_disagreement"),
    },
    "replay": {
        "faster": done("slower"),
        "slower": done("faster"),
        "show_texts": done("show_view('merges')"),
        "show_curves": done("show_view('diff')"),
        "first_difference": comparison,
        "compare_with_third": comparison,
        "end_comparison": comparison,
        "leave": pressed("ctrl+f"),
    },
    "vocabulary": {
        "token_before": page_gone_to,
        "go_to_search": page_gone_to,
        "clear_search": pressed("t", "h"),
        "show_overview": done("show_page('check')"),
    },
    "train": {
        "clear_corpus": corpus,
        "start_training": corpus,
        "stop_training": running,
        "open_dashboard": running,
        "new_training": result,
        "use_result": result,
        "chat_with_result": result,
        "leave_file_out": result,
        "replay_result": result,
        "save_result": result,
    },
}
BEFORE_KEY: dict[str, Before] = dict.fromkeys(("question_mark",), unfocused)
"""What a key needs that is typed where a field has the keyboard."""
NOT_IN_PALETTE = {"command_palette", "more_keys"}
"""They are what lists the others."""
OWN_KEYS = {"undo", "redo", "open_token"}
"""What the focused widget does by itself when the key is pressed."""


def ways_of(screen_id: str) -> Iterator[Way]:
    """List every key, palette entry and footer word of a screen."""
    for found in actions_on(screen_id):
        if found in APP_ACTIONS and screen_id != SCREENS[0].id:
            # What is the same on every screen is tried in all its ways on the first.
            yield from (Way(found, "key", key) for key in found.keys[:1])
            continue
        for key in found.keys:
            yield Way(found, "key", key)
        if found.id not in NOT_IN_PALETTE:
            yield Way(found, "palette")
        if found.footer and found.bound and " " not in found.keys[0]:
            yield Way(found, "footer")


def need_of(way: Way) -> Before | None:
    """Tell what a way needs besides what its action does."""
    return BEFORE_KEY.get(way.key)


def does_it_itself(way: Way) -> bool:
    """Tell whether a widget does it, and not the action."""
    return way.kind == "key" and way.action.id in OWN_KEYS


async def make_ready(stage: Stage, way: Way) -> None:
    """Make what is there before, and what this way of doing an action needs besides."""
    await stage.rest()
    stage.app.session.settings = Settings(tokenizer=stage.app.session.tokenizer.name)
    screen_id = stage.screen.SCREEN_ID
    await PREPARE[screen_id](stage)
    await settle(stage.pilot)
    before = [BEFORE[screen_id].get(way.action.id), need_of(way)]
    if way.action.id == f"{screen_id}_screen":
        before.insert(0, elsewhere)
    for make in before:
        if make is not None:
            await make(stage)
            await settle(stage.pilot)
    await stage.clear()


async def go(stage: Stage, way: Way) -> None:
    """Do an action in one of its ways."""
    if way.kind == "key":
        await stage.pilot.press(*way.key.split())
    elif way.kind == "palette":
        offers = {offer.title: offer for offer in offers_here(stage.app)}
        assert way.action.title in offers, f"{way.action.id} is not in the palette"
        await offers[way.action.title].do()
    else:
        bar = stage.app.screen.keys
        shown = f" {bar.render_line(0).text} "
        words = f" {key_label(way.action.keys[0]).replace('Ctrl+', '^')} {way.action.footer} "
        assert words in shown, f"{way.action.id} is not in the footer: {shown}"
        await stage.pilot.click(bar, offset=(shown.index(words) + 1, 0))
    await settle(stage.pilot)


async def close_by_escape(stage: Stage) -> None:
    """Close all dialogs as users do."""
    for _ in stage.app.screen_stack[1:]:
        await stage.press("escape")
    assert stage.app.screen is stage.screen


async def changes(stage: Stage, way: Way) -> bool:
    """Do an action in one of its ways, and tell whether anything could be noticed.

    A dialog that it opens must leave the focus where it was.
    """
    before = stage.noticeable()
    await go(stage, way)
    after = stage.noticeable()
    if len(stage.app.screen_stack) > 1:
        await close_by_escape(stage)
        assert before["focus"] in (None, stage.app.focused), f"the focus moved: {way}"
    return after != before


async def try_ways(stage: Stage, ways: list[Way]) -> tuple[list[Way], list[str]]:
    """Find the ways that do not call their action, and what changes without it."""
    before, calls = stage.noticeable(), list[object]()
    deaf, without = list[Way](), list[str]()
    action = ways[0].action
    owner = stage.app if action in APP_ACTIONS else stage.app.screen
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, PREFIX + action.method, lambda *arguments: calls.append(arguments))
        for way in ways:
            n_calls = len(calls)
            await go(stage, way)
            if not calls or calls[n_calls:] != calls[:1]:
                deaf.append(way)
            after = stage.noticeable()
            if after != before:
                others = {
                    name: (before.get(name), after.get(name))
                    for name in before | after
                    if before.get(name) != after.get(name)
                }
                without.append(f"{way}: {others}")
                await make_ready(stage, way)
                before = stage.noticeable()
    return deaf, without


def make_app(screen_id: str, run: str) -> TokvizApp:
    first: Request = ReplayRequest(run) if screen_id == "replay" else ShowScreen(screen_id)
    # All of a vocabulary is looked at there, again and again.
    is_small = screen_id in ("vocabulary", "compare")
    tokenizer = small_tokenizer() if is_small else tokviz.load("gpt2")
    return TokvizApp(Session(Opened(TEXT), tokenizer, remember=False, first=first))


@pytest.mark.parametrize("screen_id", [kind.id for kind in SCREENS])
async def test_every_way_of_every_action_does_something(
    screen_id: str, run: str, tmp_path: Path, copied: list[str]
) -> None:
    app = make_app(screen_id, run)
    deaf, silent, without = list[str](), list[str](), list[str]()
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        stage = Stage(pilot, tmp_path, run, copied)
        for _, alike in groupby(ways_of(screen_id), lambda way: (way.action, need_of(way))):
            ways = list(alike)
            await make_ready(stage, ways[0])
            if called := [way for way in ways if not does_it_itself(way)]:
                do_not_call, do_more = await try_ways(stage, called)
                deaf += map(str, do_not_call)
                without += do_more
            for number, way in enumerate(way for way in ways if way not in called[1:]):
                if number:
                    await make_ready(stage, way)
                if not await changes(stage, way):
                    silent.append(str(way))
        del app.exit
    assert not deaf, "these do not call their action, once, and as its other ways do"
    assert not silent, "nothing is to be noticed after these"
    assert not without, "these would pass whatever the action does"


async def test_the_palettes_key_opens_it_and_enter_runs_an_entry() -> None:
    app = make_app("tokens", "")
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        theme = app.theme
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, ActionPalette)
        await pilot.press(*"dark or")
        await until(pilot, lambda: len(app.screen.rows.rows) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: app.theme != theme)
        assert isinstance(app.screen, TokensScreen)
