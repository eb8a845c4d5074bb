"""A running server and admitted browsers."""

from __future__ import annotations

import contextlib
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar, WSMsgType
from yarl import URL

from tests.screen import Screen
from tokviz.cli.web.server import Options, Server


class RunningServer:
    """A running server and its address."""

    def __init__(self, port: int, addresses: list[str]) -> None:
        self.port, self.addresses = port, addresses
        self.url = f"http://127.0.0.1:{port}"

    @contextlib.asynccontextmanager
    async def browser(self) -> AsyncIterator[ClientSession]:
        """Admit a browser."""
        async with ClientSession(self.url, cookie_jar=CookieJar(unsafe=True)) as browser:
            async with browser.get(URL(self.addresses[-1], encoded=True).relative()) as page:
                assert page.status == 200
            yield browser

    def terminal(
        self, browser: ClientSession, query: str = "columns=80&rows=24", **headers: str
    ) -> Any:
        """Open a terminal, by default with the headers of the page."""
        return browser.ws_connect(
            f"/terminal?{query}", headers={"Origin": self.url, **headers}, autoping=True
        )


@contextlib.asynccontextmanager
async def run_server(options: Options | None = None) -> AsyncIterator[RunningServer]:
    """Run a server inside the block."""
    addresses: list[str] = []
    async with Server(options or Options(), addresses.append).running() as port:
        yield RunningServer(port, addresses)


async def drawn(terminal: ClientWebSocketResponse, wanted: bytes) -> bytes:
    """Read the output of a terminal until it contains some bytes."""
    seen = b""
    while wanted not in seen:
        message = await terminal.receive(timeout=30)
        assert isinstance(message.data, bytes), message
        seen += message.data
    return seen


class Shown:
    """The screen of an app on a page of a given size."""

    def __init__(self, page: ClientWebSocketResponse, columns: int = 80, rows: int = 24) -> None:
        self._page = page
        self._screen, self._decode = Screen(columns, rows), getincrementaldecoder("utf-8")().decode

    async def __call__(self, *wanted: str) -> str:
        """Wait until the screen shows some words; return its text."""
        while not all(words in (text := "\n".join(self._screen.lines())) for words in wanted):
            try:
                message = await self._page.receive(timeout=20)
            except TimeoutError:
                raise AssertionError(f"{wanted} are not in {text}") from None
            assert message.type in (WSMsgType.BINARY, WSMsgType.TEXT), message
            if message.type is WSMsgType.BINARY:  # text names a file to download
                self._screen.feed(self._decode(message.data))
        return text
