"""Screens answer with their controllers; work in a thread hands over what it found."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Input

import tokviz
from tests.tui.waiting import settle, until
from tokviz.errors import TokvizError
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.tasks import Task
from tokviz.workspace.session import Asked, Opened, Request, Session, ShowText, TokenizerChanged


class Counting(Controller):
    """Counts."""

    def set_up(self) -> None:
        self.steps: list[int] = []
        self.heard: list[str] = []
        self.is_open = False

    @action("Two steps", "f2", section="Steps", call="step(2)", id="two", help="Goes two steps.")
    @action("One step", "f3", section="Steps", call="step(1)", id="one", help="Goes a step.")
    def step(self, by: int) -> None:
        self.steps.append(by)

    @action("Close", "f4", section="Steps", when=lambda counting: counting.is_open)
    def close(self) -> None:
        """Closes."""
        self.is_open = False

    @on(Button.Pressed, "#yes")
    def _pressed(self, event: Button.Pressed) -> None:
        self.heard.append("yes")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self.heard.append(event.value)


class Loud(Counting):
    """Counts, and copies."""

    @action("Shout", "f6", section="Steps")
    def shout(self) -> None:
        """Shouts."""
        self.say("AAH")


class CountingScreen(TokvizScreen):
    SCREEN_ID = "counting"
    CONTROLLERS = (Loud,)

    def compose(self) -> ComposeResult:
        self.counting = Loud(self)
        self.answered: list[Request] = []
        self.tokenizers: list[str] = []
        yield self.title_bar
        yield Button("yes", id="yes")
        yield Button("no", id="no")
        yield Input(id="field")
        yield self.keys

    def answer(self, request: Request) -> None:
        self.answered.append(request)

    def tokenizer_changed(self, tokenizer: Tokenizer) -> None:
        self.tokenizers.append(tokenizer.name)


class CountingApp(App[None]):
    DEFAULT_MODE = "counting"

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(Opened(""), tokviz.load("gpt2"), remember=False)
        self.first = CountingScreen(self.session)
        self.errors: list[str] = []

    def _handle_exception(self, error: Exception) -> None:
        self.errors.append(str(error))

    def get_default_screen(self) -> TokvizScreen:
        return self.first

    def said(self) -> list[str]:
        return [notice.message for notice in self._notifications]


async def test_keys_run_actions_of_controllers_with_their_arguments() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        await pilot.press("f2", "f3", "f2", "f6")
        assert app.first.counting.steps == [2, 1, 2]
        assert app.said() == ["AAH."]


def test_declarations_stand_in_the_order_of_the_code_the_bases_first() -> None:
    assert [found.id for found in CountingScreen.declared()] == ["two", "one", "close", "shout"]
    two, _, close, _ = CountingScreen.declared()
    assert (two.method, two.call, two.help) == ("step", "step(2)", "Goes two steps.")
    assert (close.id, close.call, close.help) == ("close", "close", "Closes.")


async def test_an_action_is_refused_while_it_makes_no_sense() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        counting = app.first.counting
        counting.is_open = True
        assert app.first.check_action("close", ())
        await pilot.press("f4")
        assert not counting.is_open
        assert not app.first.check_action("close", ())
        counting.is_open = True
        assert app.first.check_action("step", (1,))
        assert app.first.check_action("what_textual_does_itself", ())


async def test_messages_reach_the_controllers_that_ask_for_them() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        await pilot.click("#no")
        await pilot.click("#yes")
        app.first.query_one(Input).value = "a"
        await pilot.pause()
        assert app.first.counting.heard == ["yes", "a"]


async def test_requests_wait_until_the_screen_answers() -> None:
    app = CountingApp()
    request = ShowText("a", screen="counting")
    app.session.ask(request)
    async with app.run_test() as pilot:
        screen = app.first
        await until(pilot, lambda: screen.is_ready)
        assert screen.answered == [request]
        app.session.ask(ShowText("b"))
        app.session.ask(request)
        assert screen.answered == [request, request]


async def test_a_screen_that_is_not_seen_follows_the_tokenizer_when_it_is() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        app.session.use_tokenizer(tokviz.load("cl100k_base"), "gpt-4")
        assert app.first.tokenizers == ["cl100k_base"]
        app.add_mode("counting", app.get_default_screen)
        app.add_mode("other", Screen)
        await app.switch_mode("other")
        app.session.use_tokenizer(tokviz.load("o200k_base"), "gpt-4o")
        assert app.first.tokenizers == ["cl100k_base"]
        await app.switch_mode("counting")
        await pilot.pause()
        assert app.first.tokenizers == ["cl100k_base", "o200k_base"]


async def test_a_screen_that_is_gone_hears_of_nothing() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.session._subscribers[Asked] and app.session._subscribers[TokenizerChanged]
    assert not app.session._subscribers[Asked]
    assert not app.session._subscribers[TokenizerChanged]


async def test_a_dialog_that_is_given_no_answer_answers_nothing() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        answers: list[Any] = []
        for answer in (None, False, "x"):
            dialog: ModalScreen[Any] = ModalScreen()
            app.first.counting.ask(dialog, answers.append)
            await pilot.pause()
            dialog.dismiss(answer)
            await pilot.pause()
        assert answers == [False, "x"]


# -- work in a thread


async def test_a_result_is_handed_over_on_the_thread_of_the_screen() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        threads: list[int] = []
        results: list[int] = []

        def work(task: Task) -> int:
            threads.append(threading.get_ident())
            task.tell(results.append, 1)
            return 2

        def done(result: int) -> None:
            threads.append(threading.get_ident())
            results.append(result)

        app.first.counting.in_thread("work", work, done)
        await settle(pilot)
        assert results == [1, 2]
        assert threads[0] != threads[1] == threading.get_ident()


@pytest.mark.parametrize("is_handled", [True, False])
async def test_an_error_of_ours_is_told_to_the_caller_or_to_the_user(is_handled: bool) -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        errors: list[TokvizError] = []

        def work(task: Task) -> None:
            raise TokvizError("the file is gone")

        options = {"failed": errors.append} if is_handled else {}
        app.first.counting.in_thread("work", work, lambda _: errors.clear(), **options)
        await settle(pilot)
        assert [str(error) for error in errors] == ["the file is gone"] * is_handled
        assert app.said() == ["the file is gone."] * (not is_handled)


async def test_the_app_is_told_of_any_other_error() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        app.first.counting.in_thread("work", lambda task: 1 // 0)
        await until(pilot, lambda: bool(app.errors))
        assert "ZeroDivisionError" in app.errors[0]
        await pilot.press("f3")
        assert app.first.counting.steps == [1]


async def test_newer_work_of_a_group_cancels_the_older_one() -> None:
    app = CountingApp()
    async with app.run_test() as pilot:
        goes_on, results = threading.Event(), list[str]()

        def slow(task: Task) -> str:
            assert goes_on.wait(20)
            assert task.cancelled
            return "old"

        counting = app.first.counting
        counting.in_thread("work", slow, results.append)
        counting.in_thread("work", lambda task: "new", results.append)
        counting.in_thread("other", lambda task: "other", results.append)
        await until(pilot, lambda: len(results) == 2)
        goes_on.set()
        await settle(pilot)
        assert sorted(results) == ["new", "other"]


async def test_the_app_is_told_of_an_error_where_the_result_is_taken() -> None:
    """Also one that Python counts among runtime errors, as it does an app that has ended."""
    app = CountingApp()
    async with app.run_test() as pilot:

        def take(result: int) -> None:
            raise RecursionError("too deep")

        app.first.counting.in_thread("work", lambda task: 1, take)
        await until(pilot, lambda: bool(app.errors))
        assert "too deep" in app.errors[0]
