"""The web server: one page, its files, and a WebSocket for each terminal.

Every request must have the host name of this server, the origin of its own page if it has an
origin, and the cookie of a visitor or the token. No part of a request becomes a path to read: the
files of the page are in memory, and the names of downloads must be in the listing of the folder.

The page sends typed input as bytes, and the size of the terminal as JSON, `[columns, rows]`. The
server sends the output of the app as bytes, and the names of saved files as JSON.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import mimetypes
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from aiohttp import WSCloseCode, WSMsgType, web

from tokviz.cli.web.terminal import AppTerminal, Size
from tokviz.cli.web.visitors import Visitor, Visitors
from tokviz.errors import OutputFileError, TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.process.confinement import Confinement
from tokviz.storage.assets import asset_path
from tokviz.storage.files import write_file
from tokviz.tui.screens.registry import SCREENS

APP = (sys.executable, "-s", "-P", "-m", "tokviz.cli.web.app")
"""The command that runs in each terminal."""

MAX_SESSIONS = 4
MAX_MESSAGE_BYTES = 1_000_000
MAX_UPLOAD_BYTES = 20_000_000
MAX_FILES = 100
"""Maximum number of files of a visitor."""
MAX_CONNECTIONS = 100

HEAD_SECONDS = 5.0
"""Time limit for the first request of a connection."""
UPLOAD_SECONDS = 60.0
POLL_SECONDS = 0.5
"""Interval of checks for files that the app has saved for the browser."""

PAGE_FILES = ("index.html", "page.css", "page.js", "xterm.css", "xterm.mjs", "addon-fit.mjs",
         "addon-unicode11.mjs", "DejaVuSansMono.woff2", "DejaVuSansMono-Bold.woff2")  # fmt: skip
_TYPES = {".mjs": "text/javascript", ".woff2": "font/woff2"}
_FULL = "This server has reached its maximum number of sessions. Close one and try again."
_IDLE = "The session has ended because nothing was typed. Unsaved text can be recovered."
_NOT_THE_PAGE = "Only the page of this server may send this request.\n"
_NOT_ADMITTED = "Open the last address that `tokviz web` printed. It admits one browser, once.\n"


class Options(NamedTuple):
    """Options of the server.

    Attributes:
        host: The address to listen on.
        port: The port; 0 selects a free one.
        folder: The folder of files for all sessions; None if browsers upload and download files.
        allowed: Other permissions of the app.
        idle_seconds: Time without input after which a session ends.
    """

    host: str = "127.0.0.1"
    port: int = 0
    folder: Path | None = None
    allowed: Confinement = Confinement()
    idle_seconds: float = 1800.0


class _TerminalRequest(NamedTuple):
    """Size of a terminal and arguments of its app, from the query of a URL."""

    size: Size
    arguments: list[str]

    @classmethod
    def of(cls, query: Mapping[str, str]) -> _TerminalRequest:
        try:
            size = Size.of(int(query["columns"]), int(query["rows"]))
        except (TokvizError, KeyError, ValueError):
            raise web.HTTPBadRequest(text="a terminal needs columns and rows") from None
        arguments = ["--light"] if query.get("light") else []
        for name, known in (
            ("tokenizer", {builtin.name for builtin in BUILTIN_TOKENIZERS}),
            ("screen", {kind.id for kind in SCREENS}),
        ):
            if value := query.get(name):
                if value not in known:
                    raise web.HTTPBadRequest(text=f"there is no such {name}")
                arguments += [f"--{name}", value]
        return cls(size, arguments)


class Server:
    """Serves the app to browsers."""

    def __init__(self, options: Options, on_address: Callable[[str], None]) -> None:
        """Create a server.

        Args:
            options: The options.
            on_address: Called with each address that admits the next browser.
        """
        self._options = options
        self._on_address = on_address
        self._page = {name: asset_path(f"web/{name}").read_bytes() for name in PAGE_FILES}
        self._hosts = set[str]()
        self._sockets = set[web.WebSocketResponse]()
        """The WebSockets of the sessions."""
        self._active = set[Any]()
        """The connections that have sent a request."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Serve inside the block, and end all apps after it. Yields the port."""
        app = web.Application(middlewares=[self._guard], client_max_size=MAX_UPLOAD_BYTES)
        app.add_routes(
            [
                web.get("/", self._part),
                web.get("/page/{name}", self._part),
                web.get("/terminal", self._terminal),
                web.get("/files/{name}", self._download),
                web.post("/files/{name}", self._upload),
            ]
        )
        app.on_response_prepare.append(self._protect)
        app.on_shutdown.append(self._end_all)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=8.0, keepalive_timeout=15.0)
        await runner.setup()
        try:
            port = await self._listen_on(runner)
            watching = asyncio.create_task(self._drop_silent(runner))
            try:
                yield port
            finally:
                watching.cancel()
        finally:
            await runner.cleanup()

    async def _listen_on(self, runner: web.AppRunner) -> int:
        host, port = self._options.host, self._options.port
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            reason = f"cannot listen on {host}, port {port}: {error.strerror or error}"
            raise TokvizError(reason) from None
        port = int(runner.addresses[0][1])
        shown = f"[{host}]" if ":" in host else host
        names = [shown, "localhost"] if ipaddress.ip_address(host).is_loopback else [shown]
        self._cookie = f"tokviz-{port}"
        self._visitors = Visitors(
            self._options.folder,
            lambda token: self._on_address(f"http://{shown}:{port}/?token={token}"),
        )
        self._hosts = {f"{name}:{port}" for name in names}
        return port

    async def _end_all(self, app: web.Application) -> None:
        for socket in list(self._sockets):
            with suppress(ConnectionError):
                await socket.close(code=WSCloseCode.GOING_AWAY, message=b"tokviz web has ended.")

    async def _drop_silent(self, runner: web.AppRunner) -> None:
        """Drop connections without a request, because aiohttp would keep them forever."""
        older: set[Any] = set()
        assert runner.server is not None
        while True:
            await asyncio.sleep(HEAD_SECONDS / 2)
            connections = set(runner.server.connections)
            self._active &= connections
            silent = connections - self._active
            for connection in silent & older if len(connections) < MAX_CONNECTIONS else silent:
                if connection.transport is not None:
                    connection.transport.abort()
            older = silent

    # -- access control

    @web.middleware
    async def _guard(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        self._active.add(request.protocol)
        hosts, origins = request.headers.getall("Host", []), request.headers.getall("Origin", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise web.HTTPMisdirectedRequest(text="This is not the host name of this server.\n")
        needs_origin = request.method != "GET" or request.path == "/terminal"
        if (origins or needs_origin) and origins != [f"http://{hosts[0]}"]:
            raise web.HTTPForbidden(text=_NOT_THE_PAGE)
        # Other sites may link to the page.
        is_link = request.path == "/" and request.headers.get("Sec-Fetch-Dest") == "document"
        site = request.headers.get("Sec-Fetch-Site", "none")
        if not is_link and site not in ("none", "same-origin"):
            raise web.HTTPForbidden(text=_NOT_THE_PAGE)
        cookie = request.cookies.get(self._cookie)
        new = None
        if request.path == "/" and "token" in request.query:
            new = self._visitors.enter(request.query["token"], cookie)
        if self._visitors.find(new or cookie) is None:
            raise web.HTTPForbidden(text=_NOT_ADMITTED)
        response = await handler(request)
        if new:
            response.set_cookie(self._cookie, new, httponly=True, samesite="Strict")
        return response

    async def _protect(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(
            {
                "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
                "style-src 'self' 'unsafe-inline'; font-src 'self'; img-src data:; "
                f"connect-src 'self' ws://{request.headers.get('Host', '')}; base-uri 'none'; "
                "form-action 'none'; frame-ancestors 'none'",
                "Cache-Control": "no-store",
                "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
            }
        )

    def _visitor(self, request: web.Request) -> Visitor:
        visitor = self._visitors.find(request.cookies.get(self._cookie))
        assert visitor is not None  # `_guard` has checked it
        return visitor

    # -- the page

    async def _part(self, request: web.Request) -> web.Response:
        name = request.match_info.get("name", "index.html")
        if name not in self._page:
            raise web.HTTPNotFound
        kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
        return web.Response(body=self._page[name], content_type=kind)

    # -- files of the browser

    def _visitor_with_files(self, request: web.Request) -> Visitor:
        if self._options.folder is not None:
            raise web.HTTPForbidden(text="Files are stored in the folder of this server.\n")
        return self._visitor(request)

    async def _download(self, request: web.Request) -> web.Response:
        folder, name = self._visitor_with_files(request).files, request.match_info["name"]
        if name not in _files_in(folder):
            raise web.HTTPNotFound
        return web.Response(
            body=await asyncio.to_thread((folder / name).read_bytes),
            headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"},
        )

    async def _upload(self, request: web.Request) -> web.Response:
        visitor = self._visitor_with_files(request)
        folder, known = visitor.files, _files_in(visitor.files)
        name = re.sub(r"[^\w. -]", "_", request.match_info["name"])[-100:].strip(". ")
        if not name or (len(known) >= MAX_FILES and name not in known):
            raise web.HTTPForbidden(
                text="There are too many files, or the file has no valid name.\n"
            )
        try:
            async with asyncio.timeout(UPLOAD_SECONDS):
                data = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        try:
            await asyncio.to_thread(write_file, folder / name, data, private=True)
        except OutputFileError as error:
            raise web.HTTPBadRequest(text=f"The file was not saved: {error.reason}.\n") from None
        visitor.uploaded[name] = (folder / name).stat().st_mtime_ns
        return web.json_response(name)

    # -- the terminal

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        terminal_request, visitor = _TerminalRequest.of(request.query), self._visitor(request)
        socket = web.WebSocketResponse(max_msg_size=MAX_MESSAGE_BYTES, heartbeat=20, compress=False)
        await socket.prepare(request)
        await visitor.all_ended()
        if len(self._sockets) >= MAX_SESSIONS:
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=_FULL.encode())
            return socket
        self._sockets.add(socket)
        try:
            await self._serve(socket, visitor, terminal_request)
        finally:
            self._sockets.discard(socket)
        return socket

    async def _serve(
        self, socket: web.WebSocketResponse, visitor: Visitor, terminal_request: _TerminalRequest
    ) -> None:
        allowed = self._options.allowed._replace(by_browser=self._options.folder is None)
        async with visitor.terminal(
            [*APP, *terminal_request.arguments], terminal_request.size, allowed
        ) as terminal:
            tasks = [asyncio.create_task(_draw(terminal, socket))]
            if allowed.by_browser:
                tasks.append(asyncio.create_task(_send_saved_names(visitor, socket)))
            try:
                await self._listen(socket, terminal)
            finally:
                for task in tasks:
                    task.cancel()

    async def _listen(self, socket: web.WebSocketResponse, terminal: AppTerminal) -> None:
        """Pass input to the app until the page disconnects, sends an invalid message or is idle."""
        while True:
            try:
                message = await socket.receive(timeout=self._options.idle_seconds)
            except TimeoutError:
                await socket.close(code=WSCloseCode.GOING_AWAY, message=_IDLE.encode())
                return
            if message.type is WSMsgType.BINARY:
                await terminal.write(message.data)
            elif message.type is WSMsgType.TEXT:
                try:
                    columns, rows = json.loads(message.data)
                    terminal.resize(Size.of(columns, rows))
                except (TokvizError, TypeError, ValueError, RecursionError):
                    await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"invalid size")
                    return
            else:
                return


async def _draw(terminal: AppTerminal, socket: web.WebSocketResponse) -> None:
    """Send the output of the app to the page, as fast as the page receives it."""
    with suppress(ConnectionError):
        while data := await terminal.read():
            await socket.send_bytes(data)
        await socket.close(message=b"tokviz has ended.")


async def _send_saved_names(visitor: Visitor, socket: web.WebSocketResponse) -> None:
    """Send the name of every file that the app saves."""
    known = _files_in(visitor.files)
    with suppress(ConnectionError):
        while True:
            await asyncio.sleep(POLL_SECONDS)
            now = _files_in(visitor.files)
            for name, time in now.items():
                if time not in (known.get(name), visitor.uploaded.get(name)):
                    await socket.send_str(json.dumps(name))
            known = now


def _files_in(folder: Path) -> dict[str, int]:
    """Return the files for download with their times; files being written are hidden."""
    times = {}
    for entry in os.scandir(folder):
        if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
            with suppress(OSError):  # deleted meanwhile
                times[entry.name] = entry.stat().st_mtime_ns
    return times
