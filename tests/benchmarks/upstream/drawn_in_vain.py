"""Counts how often Textual renders the whole screen for one change of its size."""

from __future__ import annotations

import asyncio
from typing import Any

from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.widgets import TextArea

whole = Compositor.render_full_update
drawn: list[str] = []


def counted(self: Compositor, *arguments: Any, **options: Any) -> Any:
    """Render as Textual does, and count it."""
    drawn.append(f"{self.size.width}×{self.size.height}")
    return whole(self, *arguments, **options)


class Editor(App[None]):
    """One text area."""

    def compose(self) -> ComposeResult:
        """Show text that is wrapped."""
        yield TextArea("word " * 2_000, soft_wrap=True)


async def main() -> None:
    """Resize three times."""
    app = Editor()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.5)
        setattr(Compositor, "render_full_update", counted)  # noqa: B010
        for size in ((100, 40), (120, 40), (90, 30)):
            drawn.clear()
            await pilot.resize_terminal(*size)
            await pilot.pause(0.5)
            print(*size, "rendered whole:", drawn)


if __name__ == "__main__":
    asyncio.run(main())
