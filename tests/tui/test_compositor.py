"""What is drawn, and how often."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._context import visible_screen_stack
from textual.css._style_properties import BorderProperty
from textual.css.styles import StylesBase
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

import tokviz
from tests.tui.waiting import settle, until
from tokviz.session import Opened, Session
from tokviz.settings import Settings
from tokviz.tui.app import TokvizApp
from tokviz.tui.themes import OWN


def make_app(theme: str = "tokviz-dark") -> TokvizApp:
    session = Session(Opened("the cat 世界\n" * 9), tokviz.load("gpt2"), Settings(theme=theme))
    session.remember = False
    return TokvizApp(session)


def watched(app: TokvizApp, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give the list that what is drawn for a terminal is added to."""
    drawn: list[Any] = []

    def display(screen: object, update: object) -> None:
        if update is not None:
            drawn.append(update)

    # The suite leaves out what only a terminal needs.
    monkeypatch.setattr(TokvizApp, "is_headless", False)
    monkeypatch.setattr(app, "_display", display)
    return drawn


def cells(strip: Strip) -> Iterator[object]:
    """Tell how each character looks; of a space nobody sees the colour."""
    for text, style, _ in strip:
        style = style or Style()
        for char in text:
            colours = None if char == " " else style.color, style.bgcolor
            yield char, style.bold, *(colour and colour[1:] for colour in colours)


@pytest.mark.parametrize("dialog", [None, "f1"])
async def test_what_changes_at_once_is_drawn_once(
    dialog: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        if dialog is not None:
            await pilot.press(dialog)
        await settle(pilot)
        drawn = watched(app, monkeypatch)
        last = app.screen.query("#keys, HintBar").last()
        for shown in (False, True):
            last.display = shown
            app.screen.refresh()
            app.screen._refresh_layout(app.size)
        assert not drawn
        await settle(pilot)
        monkeypatch.undo()
    assert len([update for update in drawn if isinstance(update, LayoutUpdate)]) == 1


async def test_below_a_dialog_only_what_changed_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        below: Any = app.screen
        await settle(pilot)
        await pilot.press("f1")
        for field in app.screen.query(Input):
            field.cursor_blink = False
        await settle(pilot)
        drawn = watched(app, monkeypatch)
        below.check_idle()
        await settle(pilot)
        assert not drawn
        below.status.refresh()
        await until(pilot, lambda: drawn)  # the screen below hears of nothing that is waited for
        await settle(pilot)
        monkeypatch.undo()
        (update,) = drawn
        assert isinstance(update, ChopsUpdate)
        assert {y for y, _, _ in update.spans} == {*below.status.region.line_range}


async def test_closing_a_dialog_lays_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        below: Any = app.screen
        await settle(pilot)
        await pilot.press("f1")
        await settle(pilot)
        layouts: list[object] = []
        monkeypatch.setattr(below, "_refresh_layout", lambda *size, **_: layouts.append(size))
        await pilot.press("escape")
        await settle(pilot)
        monkeypatch.undo()
        assert app.screen is below
    assert not layouts


@pytest.mark.parametrize("theme", ["tokviz-dark", "tokviz-light", "terminal-dark"])
async def test_a_dialog_veils_what_is_below_as_textual_does(theme: str) -> None:
    app = make_app(theme)
    async with app.run_test(size=(60, 16)) as pilot:
        await settle(pilot)
        for key in ("f1", "ctrl+p"):
            await pilot.press(key)
            await settle(pilot)
            below, dialog = app.screen_stack[-2:]
            rows = app.size.region
            ours = dialog.render_lines(rows)
            visible_screen_stack.set([below])
            dialog.refresh()
            expected = Widget.render_lines(dialog, rows)
            if theme.startswith(OWN):  # no veil: Textual's mixes other colours all the same
                expected = below._compositor.render_strips()
            assert [[*cells(strip)] for strip in ours] == [[*cells(strip)] for strip in expected]
        assert len(app.screen_stack) == 3


async def test_styles_are_asked_once_for_all_rows_of_a_widget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = make_app()
    async with app.run_test(size=(100, 50)) as pilot:
        await settle(pilot)
        shown = [*app.screen._compositor.visible_widgets]
        asked: list[object] = []
        get = BorderProperty.__get__

        def ask(edges: BorderProperty, styles: StylesBase, kind: type[StylesBase]) -> object:
            asked.append(styles)
            return get(edges, styles, kind)

        monkeypatch.setattr(BorderProperty, "__get__", ask)
        for widget in shown:
            widget._styles_cache.clear()
        app.screen._compositor.render_strips()
        assert 0 < len(asked) <= 4 * len(shown)
