"""An app handles unhandled exceptions itself."""

from __future__ import annotations

import pytest
from textual.app import App

from tokviz.tui.textual_private.app_errors import ErrorHandlingApp


class SurvivingApp(ErrorHandlingApp):
    n_errors = 0

    def handle_error(self, error: Exception) -> None:
        self.n_errors += 1


class DyingApp(App[None]):
    def handle_error(self, error: Exception) -> None:
        """Textual does not call this."""


async def fail() -> None:
    long_text = "a long text"
    raise ValueError(f"error of {len(long_text)}")


async def test_an_app_survives_an_exception() -> None:
    app = SurvivingApp()
    async with app.run_test() as pilot:
        app.run_worker(fail())
        await pilot.pause()
        assert app.n_errors == 1 and app.is_running


@pytest.mark.parametrize("kind", [ErrorHandlingApp, DyingApp])
async def test_only_textual_draws_local_variables(
    kind: type[App[None]], capsys: pytest.CaptureFixture[str]
) -> None:
    app = kind()
    with pytest.raises(Exception, match="error of 11"):
        async with app.run_test() as pilot:
            app.run_worker(fail())
            await pilot.pause()
    printed = capsys.readouterr().err
    assert "error of 11" in printed
    assert ("long_text =" in printed) is (kind is DyingApp)
