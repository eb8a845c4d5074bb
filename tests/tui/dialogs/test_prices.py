from __future__ import annotations

from pathlib import Path

import pytest

import tokviz
from tests.tui.dialogs.conftest import OpenDialog
from tests.tui.waiting import settle
from tokviz.tui.app import TokvizApp
from tokviz.tui.dialogs.prices import PricesAnswer, PricesDialog
from tokviz.tui.screens.tokens import TokensScreen
from tokviz.workspace.prices import EXAMPLE, TEMPLATE, prices_path
from tokviz.workspace.session import Opened, Session

TABLE = """\
[[model]]
name = "small"
window = 10
price = 2

[[model]]
name = "other"
tokenizer = "o200k_base"
price = 1
"""


@pytest.fixture(autouse=True)
def table() -> Path:
    path = prices_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def test_without_a_table_it_says_so_and_makes_one_that_explains_itself(
    open_dialog: OpenDialog, table: Path
) -> None:
    async with open_dialog(PricesDialog("gpt2", 5)) as pilot:
        assert pilot.shows("knows no prices") and not table.exists()
        assert all(pilot.shows(line) for line in EXAMPLE.splitlines())
        await pilot.press("c")
        assert table.read_text() == TEMPLATE
        assert pilot.shows("Example") and pilot.shows("0.0000050 USD")
        await pilot.press("escape")
        answer = pilot.result
        assert isinstance(answer, PricesAnswer) and len(answer.models) == 1


async def test_a_table_without_a_model_shows_what_one_looks_like(
    open_dialog: OpenDialog, table: Path
) -> None:
    table.write_text("# nothing")
    async with open_dialog(PricesDialog("gpt2", 5)) as pilot:
        assert pilot.shows("contains no model") and pilot.shows("[[model]]")


async def test_models_of_the_tokenizer_are_listed_with_cost_and_share(
    open_dialog: OpenDialog, table: Path
) -> None:
    table.write_text(TABLE)
    async with open_dialog(PricesDialog("gpt2", 5)) as pilot:
        assert pilot.shows("small") and pilot.shows("0.000010 USD, 50 % of 10")
        assert not pilot.shows("other")
        await pilot.press("enter")
        answer = pilot.result
        assert isinstance(answer, PricesAnswer)
        assert answer.chosen == "small" and len(answer.models) == 2


async def test_a_malformed_table_is_told_with_line_and_key_and_read_again_once_mended(
    open_dialog: OpenDialog, table: Path
) -> None:
    table.write_text('[[model]]\nname = "a"\nprice = "x"\n')
    async with open_dialog(PricesDialog("gpt2", 5)) as pilot:
        assert pilot.shows("line 3") and pilot.shows("price")
        table.write_text(TABLE)
        await pilot.press("r")
        assert pilot.shows("small") and not pilot.shows("line 3")


async def test_a_table_without_a_model_for_the_tokenizer_says_so(
    open_dialog: OpenDialog, table: Path
) -> None:
    table.write_text(TABLE.partition("\n\n")[2])
    async with open_dialog(PricesDialog("gpt2", 5)) as pilot:
        assert pilot.shows("uses gpt2")


def make_app() -> TokvizApp:
    return TokvizApp(Session(Opened("hello world"), tokviz.load("gpt2")))


def tokens_of(app: TokvizApp) -> TokensScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, TokensScreen)
    return screen


async def test_status_line_shows_the_cost_once_there_is_a_table(table: Path) -> None:
    table.write_text(TABLE)
    app = make_app()
    async with app.run_test(size=(160, 30)) as pilot:
        await settle(pilot)
        assert "small: 0.0000040 USD, 20 % of 10" in tokens_of(app).status.text


async def test_status_line_shows_no_cost_without_a_table() -> None:
    app = make_app()
    async with app.run_test(size=(160, 30)) as pilot:
        await settle(pilot)
        assert tokens_of(app).costs.note() is None
        assert "USD" not in tokens_of(app).status.text


async def test_a_text_that_does_not_fit_the_window_is_marked(table: Path) -> None:
    table.write_text(TABLE.replace("10", "1"))
    app = make_app()
    async with app.run_test(size=(160, 30)) as pilot:
        await settle(pilot)
        assert "⚠ small" in tokens_of(app).status.text


async def test_a_malformed_table_is_told_at_the_start_and_the_app_lives(table: Path) -> None:
    table.write_text("model = 3")
    app = make_app()
    async with app.run_test(size=(160, 30)) as pilot:
        while not any("models.toml" in notice.message for notice in app._notifications):
            await pilot.pause()
        assert "hello world" in app.session.live.text


async def test_the_table_is_edited_on_the_tokens_screen_and_counts_once_saved(table: Path) -> None:
    table.write_text("")
    app = make_app()
    async with app.run_test(size=(160, 30)) as pilot:
        await pilot.pause()
        await app.run_action("screen.prices")
        await settle(pilot)
        await pilot.press("e")
        await settle(pilot)
        tokens = tokens_of(app)
        assert app.session.path == table
        tokens.text.replace_all(TABLE)
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert table.read_text() == TABLE
        assert "small:" in tokens.status.text
