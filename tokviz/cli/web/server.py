"""The web server: one page, its files, a WebSocket for each terminal, and its visitors.

Every request must have the host name of this server, the origin of its own page if it has an
origin, and the cookie of a visitor or the token. No part of a request becomes a path to read: the
files of the page are in memory, and the names of downloads must be in the listing of the folder.

The page sends typed input as bytes, and the size of the terminal as JSON, `[columns, rows]`. The
server sends the output of the app as bytes, and the names of saved files as JSON.

The printed address contains a token, which admits one browser, once. The browser then gets a
cookie. The name of the visitor's folder is the digest of the cookie, so that the disk does not
reveal cookies.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import mimetypes
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import platformdirs
from aiohttp import WSCloseCode, WSMsgType, web

from tokviz.cli.web.terminal import AppTerminal, Size
from tokviz.errors import OutputFileError, TokvizError
from tokviz.formats.registry import BUILTIN_TOKENIZERS
from tokviz.process.child import package_environment
from tokviz.process.confinement import Confinement
from tokviz.storage.assets import asset_path
from tokviz.storage.files import write_file
from tokviz.storage.folders import state_folder
from tokviz.tui.screens.registry import SCREENS

KEPT_DAYS = 30
"""Days to keep the folder of a visitor who does not return."""

_STATE = ("config", "data", "state", "tmp", "hub")
"""Folders of a visitor that the app writes, besides the one for files. None is the home folder or
on a path of Python, so that files written there are never executed."""

_INHERITED = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH")
"""Environment variables that apps inherit from the server; none has secrets."""


class Visitor:
    """An admitted browser.

    Attributes:
        folder: Its folder, with its files, settings, journals and home folder.
        files: The folder in which its app opens and saves files.
        uploaded: The uploaded files and their modification times in nanoseconds.
        n_terminals: Number of its open terminals.
    """

    def __init__(self, folder: Path, shared: Path | None) -> None:
        """Create its folder if needed; `shared` is the folder for files given by the user."""
        self.folder = folder
        self.files = folder / "files" if shared is None else shared
        self.uploaded: dict[str, int] = {}
        self.n_terminals = 0
        self._ending: set[asyncio.Task[None]] = set()
        for name in ("files", *_STATE):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "home").mkdir(mode=0o500, exist_ok=True)
        os.utime(folder)

    def environment(self, allowed: Confinement) -> dict[str, str]:
        """Return the environment variables of its apps."""
        folder = str(self.folder)
        state = [f"{folder}/{name}" for name in _STATE]
        allowed = allowed._replace(folders=(str(self.files), *state))
        inherited = {
            name: value for name, value in package_environment().items() if name in _INHERITED
        }
        return {
            **inherited,
            **allowed.environment(),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
            "PYTHONSAFEPATH": "1",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "HOME": f"{folder}/home",
            "TMPDIR": f"{folder}/tmp",
            "HF_HOME": f"{folder}/hub",
            **{
                f"XDG_{name}_HOME": f"{folder}/{name.lower()}"
                for name in ("CONFIG", "DATA", "STATE")
            },
            # Compiled code is shared by all visitors, who can read but not write it.
            "XDG_CACHE_HOME": str(platformdirs.user_cache_path("tokviz").parent),
        }

    @asynccontextmanager
    async def terminal(
        self, program: Sequence[str], size: Size, allowed: Confinement
    ) -> AsyncIterator[AppTerminal]:
        """Run an app inside the block."""
        terminal = await AppTerminal.start(program, size, self.environment(allowed), self.files)
        self.n_terminals += 1
        try:
            yield terminal
        finally:
            self.n_terminals -= 1
            ending = asyncio.create_task(terminal.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await asyncio.shield(ending)

    async def all_ended(self) -> None:
        """Wait for apps that are ending, so that the next one can recover their unsaved text."""
        while self._ending:
            await asyncio.wait(self._ending)


class Visitors:
    """The admitted browsers, and the token for the next one."""

    def __init__(self, shared: Path | None, on_token: Callable[[str], None]) -> None:
        """Start without visitors.

        Args:
            shared: The folder for the files of all visitors; None if each has its own.
            on_token: Called with every new token; using one creates the next.

        Raises:
            TokvizError: If the folders of visitors are inside the shared one.
        """
        self._shared = shared
        self._on_token = on_token
        self._folder = state_folder() / "web"
        if shared is not None and self._folder.resolve().is_relative_to(shared):
            # Otherwise every visitor could read the unsaved text of the others.
            raise TokvizError(f"{shared} contains internal files of tokviz: choose a folder in it")
        self._by_digest: dict[str, Visitor] = {}
        _delete_old(self._folder)
        self._create_token()

    def _create_token(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._on_token(self._token)

    def enter(self, token: str, cookie: str | None) -> str | None:
        """Admit a browser with a token.

        Args:
            token: The token of the request.
            cookie: An earlier cookie of the browser, whose folder is moved to the new visitor.

        Returns:
            The new cookie; None if the token is not valid.
        """
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            return None
        new = secrets.token_urlsafe(32)
        folder = self._folder / _digest(new)
        old = self.find(cookie)
        if cookie and (old is None or not old.n_terminals):
            self._by_digest.pop(_digest(cookie), None)
            with suppress(OSError):
                os.rename(self._folder / _digest(cookie), folder)
        self._by_digest[folder.name] = Visitor(folder, self._shared)
        self._create_token()
        return new

    def find(self, cookie: str | None) -> Visitor | None:
        """Return the visitor with a cookie."""
        return self._by_digest.get(_digest(cookie)) if cookie else None


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()


def _delete_old(folder: Path) -> None:
    oldest = time.time() - KEPT_DAYS * 86_400
    for old in folder.glob("*"):
        with suppress(OSError):
            if old.stat().st_mtime < oldest:
                shutil.rmtree(old)


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
