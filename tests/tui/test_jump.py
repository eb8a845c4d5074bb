from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Offset
from textual.strip import Strip

import tokviz
from tests.tui.waiting import settle, until
from tokviz.process.confinement import Confinement
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.jump import LETTERS, JumpMode, Target, labels, targets
from tokviz.workspace.session import Opened, Session


def test_no_label_begins_another_and_letters_alone_go_as_far_as_they_can() -> None:
    for number in (0, 1, 26, 27, 51, 200, 676, 677, 1500):
        found = labels(number)
        assert len(set(found)) == number
        assert not any(a != b and b.startswith(a) for a in found for b in found)
    assert labels(26) == list(LETTERS)
    assert sum(len(label) == 1 for label in labels(51)) == 25


async def test_every_target_has_letters_which_go_there_or_click_it() -> None:
    app = TokvizApp(Session(Opened("ab <|endoftext|>"), tokviz.load("gpt2"), remember=False))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)

        async def jump(words: str) -> str:
            """Type the letters that stand where these words begin; give what is shown."""
            lines = [strip.text for strip in app.screen._compositor.render_strips()]
            await pilot.press("ctrl+space")
            await settle(pilot)
            assert isinstance(app.screen, JumpMode)
            shown = [strip.text for strip in app.screen._compositor.render_strips()]
            y, x = next((y, line.index(words)) for y, line in enumerate(lines) if words in line)
            label = next(
                label
                for label, target in app.screen._targets.items()
                if target.place in ((x, y), (x - 1, y))
            )
            assert label in shown[y]
            await pilot.press(*label)
            await settle(pilot)
            return label

        panel = app.screen.query_one("#side")
        # What has just come is not laid out yet.
        card = next(found for found in app.screen.focus_chain if found is not app.focused)
        card.display = False
        await settle(pilot)
        card.display = True
        app.action_jump()
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        await jump("IDs ")
        await jump("Splits ")
        assert app.session.settings.panel == "splits"
        editor = app.focused
        await pilot.press("f5")
        await settle(pilot)
        assert app.focused is not editor and panel.has_focus_within
        await jump("─")
        assert app.focused is editor
        await jump("special tokens")
        assert app.session.live.parse_specials is False
        await jump("Chat")
        assert app.current_mode == "chat"
        await pilot.press("ctrl+l", "space")
        await settle(pilot)
        assert isinstance(app.screen, JumpMode)
        await pilot.press("escape")
        await settle(pilot)
        assert not isinstance(app.screen, JumpMode) and app.current_mode == "chat"


async def test_labels_are_at_the_start_of_links() -> None:
    def segment(text: str, link: str = "") -> Segment:
        return Segment(text, Style.from_meta({"@click": link}) if link else None)

    line = [
        segment("ab "),
        segment("one", "x"),
        segment("two", "x"),
        segment(" "),
        segment("世", "y"),
    ]
    strips = [Strip([segment("no link")]), Strip([*line, segment("next", "z"), segment("x", "y")])]
    async with App[None]().run_test() as pilot:
        found = targets(pilot.app.screen, strips)
    assert found == [Target(Offset(x, 1)) for x in (3, 10, 12, 16)]


async def test_the_text_is_edited_elsewhere_and_comes_back_as_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "\\377x" >> "$2"; exit $1\n')
    editor.chmod(0o700)
    app = TokvizApp(Session(Opened("ab\r\n"), tokviz.load("gpt2"), remember=False))

    def said() -> str:
        return " ".join(notice.message for notice in app._notifications)

    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+l", "v")
        await until(pilot, lambda: "The text is unchanged" in said())
        assert app.session.live.n_chars == 4, "a headless app has no terminal to lend"
        monkeypatch.setattr(TokvizApp, "suspend", lambda self: nullcontext())
        for command, words in (
            (f"{editor} 1", f"the editor '{editor} 1' failed with exit code 1."),
            ("/no/editor", "the editor '/no/editor' cannot be started: No such file or directory."),
            ("'", "cannot be started: No closing quotation."),
        ):
            app.session.change_settings(editor=command)
            await pilot.press("ctrl+l", "v")
            await settle(pilot)
            assert words in said()
        assert not app.session.modified
        app.session.change_settings(editor=f"{editor} 0")
        await pilot.press("ctrl+l", "v")
        await until(pilot, lambda: "1 byte is not valid UTF-8" in said())
        assert app.session.live.text == "ab\r\n\udcffx"
        await pilot.press("ctrl+z")
        await settle(pilot)
        assert app.session.live.text == "ab\r\n"
        monkeypatch.setattr("tokviz.tui.screens.tokens.editing.confinement", Confinement)
        await pilot.press("ctrl+l", "v")
        await until(pilot, lambda: "an editor needs a terminal, and a browser has none" in said())
