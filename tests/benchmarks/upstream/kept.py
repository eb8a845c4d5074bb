"""Counts how many text areas there are after each of some was shown and removed."""

from __future__ import annotations

import asyncio
import gc
import weakref

from textual.app import App
from textual.widgets import TextArea

TIMES = 20


async def main() -> None:
    """Show and remove text areas."""
    app, all_of_them = App[None](), weakref.WeakSet[TextArea]()
    async with app.run_test() as pilot:
        for _ in range(TIMES):
            area = TextArea("text")
            all_of_them.add(area)
            await app.screen.mount(area)
            await pilot.pause()
            await area.remove()
        del area
        gc.collect()
        print(f"{len(all_of_them)} of {TIMES} are left")


if __name__ == "__main__":
    asyncio.run(main())
