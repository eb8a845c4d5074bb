"""Counts drawn lines that nobody has any more and that wait for the garbage collector."""

from __future__ import annotations

import asyncio
import gc

from textual.app import App, ComposeResult
from textual.strip import Strip
from textual.widgets import OptionList

OPTIONS, PAGES = 2_000, 20


class Options(App[None]):
    """A long list."""

    def compose(self) -> ComposeResult:
        """Show it."""
        yield OptionList(*(f"option {number}" for number in range(OPTIONS)))


def left() -> int:
    """Count the lines that only the collector finds, and free them."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    lines = sum(isinstance(found, Strip) for found in gc.garbage)
    gc.garbage.clear()
    return lines


async def main() -> None:
    """Scroll by pages, then draw all anew."""
    app = Options()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("pagedown")
        gc.collect()
        gc.disable()
        for _ in range(PAGES):
            await pilot.press("pagedown")
        print(f"a page: {left() / PAGES:.0f} lines left")
        app.theme = "textual-light"
        await pilot.pause()
        print(f"another theme: {left()} lines left")


if __name__ == "__main__":
    asyncio.run(main())
