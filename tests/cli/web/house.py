"""A running server, and browsers that it has let in."""

from __future__ import annotations

import contextlib
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar
from yarl import URL

from tests.screen import Screen
from tokviz.cli.web.server import Options, Server


class House:
    """A server, seen from outside."""

    def __init__(self, port: int, addresses: list[str]) -> None:
        self.port, self.addresses = port, addresses
        self.url = f"http://127.0.0.1:{port}"

    @contextlib.asynccontextmanager
    async def browser(self) -> AsyncIterator[ClientSession]:
        """Let a browser in."""
        async with ClientSession(self.url, cookie_jar=CookieJar(unsafe=True)) as browser:
            async with browser.get(URL(self.addresses[-1], encoded=True).relative()) as page:
                assert page.status == 200
            yield browser

    def terminal(
        self, browser: ClientSession, query: str = "columns=80&rows=24", **headers: str
    ) -> Any:
        """Open a terminal, as the page does unless other headers are given."""
        return browser.ws_connect(
            f"/terminal?{query}", headers={"Origin": self.url, **headers}, autoping=True
        )


@contextlib.asynccontextmanager
async def open_house(options: Options | None = None) -> AsyncIterator[House]:
    """Run a server."""
    addresses: list[str] = []
    async with Server(options or Options(), addresses.append).running() as port:
        yield House(port, addresses)


async def drawn(terminal: ClientWebSocketResponse, wanted: bytes) -> bytes:
    """Read what a terminal draws until something stands in it."""
    seen = b""
    while wanted not in seen:
        message = await terminal.receive(timeout=30)
        assert isinstance(message.data, bytes), message
        seen += message.data
    return seen


class Shown:
    """What an app shows on a page, of the size that the page has asked for."""

    def __init__(self, page: ClientWebSocketResponse, columns: int = 80, rows: int = 24) -> None:
        self._page = page
        self._screen, self._decode = Screen(columns, rows), getincrementaldecoder("utf-8")().decode

    async def __call__(self, *wanted: str) -> str:
        """Wait until some words are there, and give all that is."""
        while not all(words in (text := "\n".join(self._screen.lines())) for words in wanted):
            try:
                message = await self._page.receive(timeout=20)
                assert isinstance(message.data, bytes), message
            except TimeoutError:
                raise AssertionError(f"{wanted} are not in {text}") from None
            self._screen.feed(self._decode(message.data))
        return text
