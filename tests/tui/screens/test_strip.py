"""The strip below the text: what it takes in other tokenizers, while it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

import tokviz
from tests.tui.waiting import settle, until
from tokviz.tui.app import TokvizApp
from tokviz.tui.screens.compare import CompareScreen
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.tui.screens.tokens.strip import strip_rows
from tokviz.workspace.session import Opened, Session
from tokviz.workspace.settings import Settings, load_settings, save_settings

TEXT = "I paid 12345 for the unbelievable thing."


async def test_the_strip_is_switched_on_stays_live_and_leads_to_the_comparison() -> None:
    settings = Settings(compared=("gpt2", "o200k_base"))
    app = TokvizApp(Session(Opened(TEXT), tokviz.load("gpt-4"), settings, remember=False))
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        screen = app.screen
        assert isinstance(screen, TokensScreen)

        def words() -> str:
            return "".join(span.text for row in screen.other_counts.view.rows for span in row)

        def wanted() -> str:
            text = app.session.live.text
            own, *others = (tokviz.load(n).encode(text) for n in ("gpt-4", "gpt2", "o200k_base"))
            cells = []
            for name, ids in zip(("gpt2", "o200k_base"), others, strict=True):
                more = f"{len(ids) - len(own):+,}" if len(ids) != len(own) else "0"
                cells.append(f"{name} {len(ids)} ({more})")
            return " · ".join(cells) + " ×"

        assert not screen.query("#strip")
        assert not app.session.others, "nothing is loaded for a strip that is not shown"
        await pilot.press("shift+f8")
        assert screen.other_counts.view.display
        await until(pilot, lambda: words() == wanted())
        await pilot.press(*"SolidGold ")
        assert words() == wanted(), "in the frame of the key"
        await pilot.press("ctrl+z")
        assert words() == wanted()
        # What the Compare screen changes is shown, and back.
        await pilot.click(screen.other_counts.view, offset=(3, 0))
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await settle(pilot)
        assert len(app.session.others) == 2, "the same ones, loaded once"
        await pilot.press("x", "alt+k")
        await settle(pilot)
        assert words().startswith("gpt2 ") and "o200k" not in words()
        await pilot.press("shift+f8")
        assert not screen.other_counts.view.display and app.session.settings.strip is False
        await pilot.press("shift+f8")
        await settle(pilot)
        await pilot.click(screen.other_counts.view, offset=(words().index("×") + 1, 0))
        await settle(pilot)
        assert not screen.other_counts.view.display


async def test_another_tokenizer_says_what_it_changes() -> None:
    text = "def f():\n        return 1"
    app = TokvizApp(Session(Opened(text), tokviz.load("gpt2"), Settings(), remember=False))
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        counts = {name: len(tokviz.load(name).encode(text)) for name in ("gpt2", "o200k_base")}
        app.session.use_tokenizer(tokviz.load("o200k_base"), "o200k_base")
        await settle(pilot)
        said = " ".join(notice.message for notice in app._notifications)
        fewer = counts["gpt2"] - counts["o200k_base"]
        assert fewer > 0
        assert f"o200k_base: {counts['o200k_base']} tokens, {fewer} fewer than gpt2." in said
        await pilot.press("x")
        await settle(pilot)
        assert len(app._notifications) == 1, "typing says nothing"


async def test_a_tokenizer_that_is_renamed_is_not_compared_with_itself() -> None:
    run = tokviz.train(["low low lower"], 260)
    app = TokvizApp(Session(Opened("low"), run.tokenizer, Settings(), remember=False))
    async with app.run_test() as pilot:
        await settle(pilot)
        app.session.track_renamed_run(app.session.tokenizer_source, "/runs/renamed")
        assert app.session.tokenizer.name == "renamed"
        await pilot.press("f1")
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert not app._notifications


def test_the_strip_survives_a_restart(tmp_path: Path) -> None:
    assert save_settings(Settings(strip=True), tmp_path / "config.toml") is None
    assert load_settings(tmp_path / "config.toml")[0].strip


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_the_strip_is_one_row_that_fits(width: int) -> None:
    items = [
        ("a-tokenizer-with-a-name", "1,234,567", " (+1,234)"),
        ("gpt2", "12…", ""),
        ("x", "!", ""),
    ]
    for given in ((), items[1:2], items[1:], items if width > 30 else items[1:]):
        (row,) = strip_rows(given, width)
        assert cell_len("".join(span.text for span in row)) <= width
        assert row[-1].text == " ×"
