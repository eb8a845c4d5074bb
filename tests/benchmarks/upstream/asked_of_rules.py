"""Counts what Textual asks of its rules when a screen is styled, and how often it draws a node."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from textual.app import App, ComposeResult
from textual.css.model import RuleSet
from textual.css.styles import Styles
from textual.css.stylesheet import Stylesheet
from textual.screen import Screen
from textual.widgets import Input

FIELDS = 20

apply, refresh = Stylesheet.apply, Styles.refresh
counts = Counter[str]()


def applied(self: Stylesheet, *what: Any, **options: Any) -> None:
    """Style as Textual does, and count it."""
    counts["nodes"] += 1
    apply(self, *what, **options)


def hashed(self: RuleSet) -> int:
    """Give a hash as Textual does, and count it."""
    counts["hashes"] += 1
    return id(self)


def refreshed(self: Styles, **options: Any) -> None:
    """Have a node drawn as Textual does, and count it."""
    counts["redraws"] += 1
    refresh(self, **options)


class Form(Screen[None]):
    """Some fields."""

    def compose(self) -> ComposeResult:
        """Show fields."""
        for number in range(FIELDS):
            yield Input(f"field {number}")


async def main() -> None:
    """Show a screen of fields, and change its colours."""
    app = App[None]()
    async with app.run_test(size=(80, 100)) as pilot:
        for owner, name, counted in (
            (Stylesheet, "apply", applied),
            (RuleSet, "__hash__", hashed),
            (Styles, "refresh", refreshed),
        ):
            setattr(owner, name, counted)
        app.push_screen(Form())
        await pilot.pause(0.3)
        print(f"shown: {counts['nodes']} nodes styled, {counts['hashes']} hashes asked for")
        counts.clear()
        app.theme = "textual-light"
        await pilot.pause(0.3)
        print(f"colours: {counts['nodes']} nodes styled, {counts['redraws']} redraws asked for")


if __name__ == "__main__":
    asyncio.run(main())
