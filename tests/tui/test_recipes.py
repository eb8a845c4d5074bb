"""The recipes of CONTRIBUTING for the app, each followed in a process of its own."""

from __future__ import annotations

import subprocess
import sys

RUN = """
import asyncio
import tokviz
from tokviz.workspace.session import Opened, Session
from tokviz.tui.app import TokvizApp, actions_on

def app():
    return TokvizApp(Session(Opened("hello world"), tokviz.load("gpt2"), remember=False))
"""


def run(code: str) -> None:
    """Run a program, which asserts what it claims."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_screen_is_a_module_and_one_entry() -> None:
    run(
        """
import sys, types
from textual.widgets import Static
from tokviz.tui.screens import registry

kind = registry.Kind("greeting", "Greeting", "Be greeted.", ("alt+g",))
registry.SCREENS = (*registry.SCREENS, kind)

from tokviz.tui.screens.base import Controller, TokvizScreen
from tokviz.tui.actions import action

class Greeting(Controller):
    @action("Greet", "f2", section="Greeting", footer="greet")
    def greet(self):
        '''Say hello.'''
        self.say("hello")

class GreetingScreen(TokvizScreen):
    SCREEN_ID = "greeting"
    CONTROLLERS = (Greeting,)

    def compose(self):
        Greeting(self)
        yield self.title_bar
        yield Static("Here one is greeted.")
        yield self.keys

module = sys.modules["tokviz.tui.screens.greeting"] = types.ModuleType("greeting")
module.SCREEN = GreetingScreen
"""
        + RUN
        + """
async def main():
    one = app()
    async with one.run_test(size=(120, 30)) as pilot:
        assert " Greeting" in one.screen.title_bar.render_line(0).text
        await pilot.press("alt+g")
        await pilot.pause()
        assert isinstance(one.screen, GreetingScreen)
        assert "F2 greet" in one.screen.keys.render_line(0).text
        await pilot.press("f2")
        assert [notice.message for notice in one._notifications] == ["hello."]
        titles = [found.title for found in actions_on("greeting")]
        assert {"Greet", "Greeting screen"} <= set(titles)

asyncio.run(main())
"""
    )


def test_a_panel_is_a_widget_and_one_entry() -> None:
    run(
        """
import importlib
from textual.widgets import Static
from tokviz.tui.screens import tokens
from tokviz.tui.screens.tokens import panels, screen, side

class LengthPanel(Static):
    can_focus = True
    def __init__(self, live):
        super().__init__()
        self.live = live
    def sync(self):
        self.update(f"{self.live.n_chars} characters")
    def set_marks(self, hover, pin, *, scroll=False): pass

def _length(session, palette):
    '''How long the text is.'''
    return LengthPanel(session.live)

panels.PANELS = (*panels.PANELS, panels.PanelKind("length", "Length", ("alt+x",), _length))
importlib.reload(side)
tokens.SCREEN = importlib.reload(screen).TokensScreen
"""
        + RUN
        + """
async def main():
    one = app()
    async with one.run_test(size=(120, 30)) as pilot:
        await pilot.press("alt+x")
        await pilot.pause()
        panel = one.screen.query_one(LengthPanel)
        assert str(panel.content) == "11 characters"
        await pilot.press("a")
        assert str(panel.content) == "12 characters"
        assert one.session.settings.panel == "length"
        await pilot.press("f2")
        await pilot.pause()
        assert one.screen.panels.shown == "ids" and not panel.display
        y = one.screen.panels.region.y
        tabs = one.screen._compositor.render_strips()[y].text
        await pilot.click(offset=(tabs.index("Length") + 2, y))
        await pilot.pause()
        assert one.screen.panels.shown == "length"
        (found,) = [found for found in actions_on("tokens") if found.id == "show_length"]
        assert (found.title, found.help) == ("Length panel", "How long the text is.")

asyncio.run(main())
"""
    )


def test_a_dialog_is_a_class_that_a_controller_shows() -> None:
    run(
        """
from textual.widgets import Static
from tokviz.tui.dialogs.base import Dialog
"""
        + RUN
        + """
class AgeDialog(Dialog[int]):
    BINDINGS = [("y", "older", "older")]
    dialog_title = "Age"

    def compose_body(self):
        yield Static("How old?")

    def action_older(self):
        self.dismiss(42)

async def main():
    one, answers = app(), []
    async with one.run_test(size=(120, 30)) as pilot:
        one.screen.files.ask(AgeDialog(), answers.append)
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        one.screen.files.ask(AgeDialog(), answers.append)
        await pilot.pause()
        await pilot.press("y")
        await pilot.pause()
        assert answers == [42]

asyncio.run(main())
"""
    )
