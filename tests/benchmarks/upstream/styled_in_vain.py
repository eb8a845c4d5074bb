"""Counts what Textual styles that is never drawn: parts of widgets, and a screen that goes."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.app import App, ComposeResult
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Input

FIELDS = 20

apply = Stylesheet.apply
part_styles = DOMNode.get_component_styles
widgets: list[DOMNode] = []
parts: list[DOMNode] = []
used: set[tuple[DOMNode, str]] = set()


def applied(self: Stylesheet, node: DOMNode, **options: Any) -> None:
    """Style as Textual does, and count it; a part is a bare node that stands for it."""
    (parts if type(node) is DOMNode else widgets).append(node)
    apply(self, node, **options)


def asked(self: DOMNode, *names: str) -> Any:
    """Give styles of parts as Textual does, and count them."""
    used.update((self, name) for name in names)
    return part_styles(self, *names)


class Form(ModalScreen[None]):
    """Some fields below one rule that asks where the keyboard is."""

    DEFAULT_CSS = "Form:focus-within { background: $surface; }"

    def compose(self) -> ComposeResult:
        """Show fields."""
        for number in range(FIELDS):
            yield Input(f"field {number}")


async def main() -> None:
    """Show a screen of fields, and close it."""
    setattr(Stylesheet, "apply", applied)  # noqa: B010
    setattr(DOMNode, "get_component_styles", asked)  # noqa: B010
    app = App[None]()
    async with app.run_test(size=(80, 100)) as pilot:
        await pilot.pause()
        widgets.clear()
        parts.clear()
        used.clear()
        app.push_screen(Form())
        await pilot.pause(0.3)
        print(f"shown: {len(widgets)} widgets, {len(parts)} parts styled; {len(used)} parts drawn")
        widgets.clear()
        parts.clear()
        app.pop_screen()
        await pilot.pause(0.3)
        print(f"closed: {len(widgets)} widgets, {len(parts)} parts styled; none is drawn")


if __name__ == "__main__":
    asyncio.run(main())
