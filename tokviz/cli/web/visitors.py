"""Visitors of the web server and their folders.

The printed address contains a token, which admits one browser, once. The browser then gets a
cookie. The name of the visitor's folder is the digest of the cookie, so that the disk does not
reveal cookies.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import platformdirs

from tokviz.cli.web.terminal import AppTerminal, Size
from tokviz.errors import TokvizError
from tokviz.process.child import package_environment
from tokviz.process.confinement import Confinement
from tokviz.storage.folders import state_folder

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
