"""The server: one page, its files, and a WebSocket for each terminal.

Every request must name this server as its host, come from its own page where it has an origin, and
bring the cookie of a visitor, or the token. Nothing that a request says becomes a path to read: the
files of the page are in memory, and a download is found among what its folder lists.

A message of the page is what is typed, as bytes, or `[columns, rows]` as JSON; one of the server is
what the app draws, as bytes, or the name of a file that it has saved, as JSON.
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
"""The program that runs in a terminal."""

MAX_SESSIONS = 4
MAX_MESSAGE_BYTES = 1_000_000
MAX_UPLOAD_BYTES = 20_000_000
MAX_FILES = 100
"""Files that one visitor may have here."""
MAX_CONNECTIONS = 100

HEAD_SECONDS = 5.0
"""How long a connection may take until its first request is there."""
UPLOAD_SECONDS = 60.0
LOOK_SECONDS = 0.5
"""How often it is looked whether the app has saved a file for the browser."""

_PAGE = ("index.html", "page.css", "page.js", "xterm.css", "xterm.mjs", "addon-fit.mjs",
         "addon-unicode11.mjs", "DejaVuSansMono.woff2", "DejaVuSansMono-Bold.woff2")  # fmt: skip
_TYPES = {".mjs": "text/javascript", ".woff2": "font/woff2"}
_FULL = "There are as many sessions as this server allows. Close one and start again."
_IDLE = "Nothing was typed for long, so the session has ended. What was not saved comes back."
_NOT_THE_PAGE = "Only the page of this server may ask for that.\n"
_NO_WAY_IN = "Open the address that `tokviz web` has printed last. It lets one browser in, once.\n"


class Options(NamedTuple):
    """What the user decides.

    Attributes:
        host: The address to listen on.
        port: The port, 0 for any that is free.
        folder: Where every app opens and saves; None if files come from the browser and go there.
        allowed: What else an app may do.
        idle_seconds: After how long without a key a session ends.
    """

    host: str = "127.0.0.1"
    port: int = 0
    folder: Path | None = None
    allowed: Confinement = Confinement()
    idle_seconds: float = 1800.0


class _Wish(NamedTuple):
    """What the address of a page asks for."""

    size: Size
    arguments: list[str]

    @classmethod
    def of(cls, query: Mapping[str, str]) -> _Wish:
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
        """Take what the user decided.

        Args:
            options: That.
            on_address: Told the address that lets the next browser in, whenever there is one.
        """
        self._options = options
        self._on_address = on_address
        self._page = {name: asset_path(f"web/{name}").read_bytes() for name in _PAGE}
        self._hosts = set[str]()
        self._sockets = set[web.WebSocketResponse]()
        """Those of the sessions."""
        self._came = set[Any]()
        """The connections that have brought a request."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Serve while entered, on the port that it gives; all apps have ended behind it."""
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
        """Drop connections that bring no request; aiohttp itself would wait for ever."""
        older: set[Any] = set()
        assert runner.server is not None
        while True:
            await asyncio.sleep(HEAD_SECONDS / 2)
            connections = set(runner.server.connections)
            self._came &= connections
            silent = connections - self._came
            for one in silent & older if len(connections) < MAX_CONNECTIONS else silent:
                if one.transport is not None:
                    one.transport.abort()
            older = silent

    # -- who is let in

    @web.middleware
    async def _guard(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        self._came.add(request.protocol)
        hosts, origins = request.headers.getall("Host", []), request.headers.getall("Origin", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            raise web.HTTPMisdirectedRequest(text="This server has another name.\n")
        needs_origin = request.method != "GET" or request.path == "/terminal"
        if (origins or needs_origin) and origins != [f"http://{hosts[0]}"]:
            raise web.HTTPForbidden(text=_NOT_THE_PAGE)
        # A link to the page may stand anywhere.
        is_link = request.path == "/" and request.headers.get("Sec-Fetch-Dest") == "document"
        site = request.headers.get("Sec-Fetch-Site", "none")
        if not is_link and site not in ("none", "same-origin"):
            raise web.HTTPForbidden(text=_NOT_THE_PAGE)
        cookie = request.cookies.get(self._cookie)
        new = None
        if request.path == "/" and "token" in request.query:
            new = self._visitors.enter(request.query["token"], cookie)
        if self._visitors.find(new or cookie) is None:
            raise web.HTTPForbidden(text=_NO_WAY_IN)
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
        assert visitor is not None  # as `_guard` has seen
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
            raise web.HTTPForbidden(text="Files stay in the folder of this server.\n")
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
            raise web.HTTPForbidden(text="There are too many files, or this one has no name.\n")
        try:
            async with asyncio.timeout(UPLOAD_SECONDS):
                data = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        try:
            await asyncio.to_thread(write_file, folder / name, data, private=True)
        except OutputFileError as error:
            raise web.HTTPBadRequest(text=f"The file was not saved: {error.reason}.\n") from None
        visitor.brought[name] = (folder / name).stat().st_mtime_ns
        return web.json_response(name)

    # -- the terminal

    async def _terminal(self, request: web.Request) -> web.StreamResponse:
        wish, visitor = _Wish.of(request.query), self._visitor(request)
        socket = web.WebSocketResponse(max_msg_size=MAX_MESSAGE_BYTES, heartbeat=20, compress=False)
        await socket.prepare(request)
        await visitor.all_ended()
        if len(self._sockets) >= MAX_SESSIONS:
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER, message=_FULL.encode())
            return socket
        self._sockets.add(socket)
        try:
            await self._serve(socket, visitor, wish)
        finally:
            self._sockets.discard(socket)
        return socket

    async def _serve(self, socket: web.WebSocketResponse, visitor: Visitor, wish: _Wish) -> None:
        allowed = self._options.allowed._replace(by_browser=self._options.folder is None)
        async with visitor.terminal([*APP, *wish.arguments], wish.size, allowed) as terminal:
            tasks = [asyncio.create_task(_draw(terminal, socket))]
            if allowed.by_browser:
                tasks.append(asyncio.create_task(_tell_saved(visitor, socket)))
            try:
                await self._listen(socket, terminal)
            finally:
                for task in tasks:
                    task.cancel()

    async def _listen(self, socket: web.WebSocketResponse, terminal: AppTerminal) -> None:
        """Give the app what comes, until the page goes, says nonsense or is idle."""
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
                    await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"no size")
                    return
            else:
                return


async def _draw(terminal: AppTerminal, socket: web.WebSocketResponse) -> None:
    """Give the page what the app draws, as fast as it takes it."""
    with suppress(ConnectionError):
        while data := await terminal.read():
            await socket.send_bytes(data)
        await socket.close(message=b"tokviz has ended.")


async def _tell_saved(visitor: Visitor, socket: web.WebSocketResponse) -> None:
    """Tell the page of every file that the app has saved."""
    known = _files_in(visitor.files)
    with suppress(ConnectionError):
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = _files_in(visitor.files)
            for name, time in now.items():
                if time not in (known.get(name), visitor.brought.get(name)):
                    await socket.send_str(json.dumps(name))
            known = now


def _files_in(folder: Path) -> dict[str, int]:
    """List what can be downloaded, and when it was written; what is being written is hidden yet."""
    found = {}
    for entry in os.scandir(folder):
        if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
            with suppress(OSError):  # it has gone
                found[entry.name] = entry.stat().st_mtime_ns
    return found
