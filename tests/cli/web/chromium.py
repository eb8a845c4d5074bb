"""A page of `tokviz web` in a real, headless Chromium.

Playwright drives it: it is kept by those who keep Chromium's protocol up, waits by itself, and has
downloads, file choosers and the clipboard, each of which would be a page of code here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.asynccontextmanager
async def empty_page(**options: Any) -> AsyncIterator[Page]:
    """Open a browser, which may use the clipboard, with an empty page."""
    from playwright.async_api import async_playwright  # slow to import, and few processes need it

    # The sandbox of Chromium does not work for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = await browser.new_context(**options)
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        yield await context.new_page()
        await browser.close()


async def shows(page: Page, *wanted: str) -> None:
    """Wait until the terminal of a page shows some words; no-break spaces count as spaces."""
    await page.wait_for_function(
        """wanted => {
            const rows = document.querySelector(".xterm-rows")?.textContent;
            return rows && wanted.every(words => rows.replaceAll("\\xa0", " ").includes(words));
        }""",
        arg=list(wanted),
    )


async def centre(page: Page, words: str) -> tuple[float, float]:
    """Return the position of words in a single color."""
    found: list[float] = await page.evaluate(
        """words => {
            const spans = [...document.querySelectorAll(".xterm-rows span")];
            const node = spans.find(one => one.textContent.includes(words)).firstChild;
            const range = new Range(), at = node.data.indexOf(words);
            range.setStart(node, at);
            range.setEnd(node, at + words.length);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        words,
    )
    return found[0], found[1]


async def until(look: Callable[[], Awaitable[Any]], is_so: Callable[[Any], bool]) -> None:
    """Poll until a condition is true."""
    async with asyncio.timeout(20):
        while not is_so(await look()):
            await asyncio.sleep(0.05)
