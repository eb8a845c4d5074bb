"""Who may come in, and the folders that are each visitor's own.

The address that is printed holds a token, which lets one browser in, once. That browser has a
cookie from then on, whose digest is the name of its folder: nobody learns a cookie from the disk.
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

from tokviz.cli.web.terminal import AppTerminal, Size
from tokviz.errors import TokvizError
from tokviz.process.confinement import Confinement
from tokviz.storage.folders import state_folder

KEPT_DAYS = 30
"""How long what a visitor did not save is kept."""

_STATE = ("config", "data", "state", "tmp", "hub")
"""Folders of a visitor that its app writes, besides the one for files. None is its home or on a
path of Python, so that nothing written there runs."""

_TOLD = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "PYTHONPATH")
"""What an app is told of the server's environment: no secrets."""


class Visitor:
    """A browser that has been let in.

    Attributes:
        folder: Its own folder, which holds its files, its settings, its journals and its home.
        files: Where its app opens and saves.
        brought: The files that came from it, and when.
        n_terminals: How many terminals it has.
    """

    def __init__(self, folder: Path, shared: Path | None) -> None:
        """Take its own folder, made if need be, and the one that the user named."""
        self.folder = folder
        self.files = folder / "files" if shared is None else shared
        self.brought: dict[str, int] = {}
        self.n_terminals = 0
        self._ending: set[asyncio.Task[None]] = set()
        for name in ("files", *_STATE):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "home").mkdir(mode=0o500, exist_ok=True)
        os.utime(folder)

    def environment(self, allowed: Confinement) -> dict[str, str]:
        """Give the environment of its apps."""
        import platformdirs

        from tokviz.process.child import package_environment

        own = str(self.folder)
        state = [f"{own}/{name}" for name in _STATE]
        allowed = allowed._replace(folders=(str(self.files), *state))
        told = {name: value for name, value in package_environment().items() if name in _TOLD}
        return {
            **told,
            **allowed.environment(),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
            "PYTHONSAFEPATH": "1",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "HOME": f"{own}/home",
            "TMPDIR": f"{own}/tmp",
            "HF_HOME": f"{own}/hub",
            **{f"XDG_{name}_HOME": f"{own}/{name.lower()}" for name in ("CONFIG", "DATA", "STATE")},
            # Compiled code is everybody's: it may be read there, not written.
            "XDG_CACHE_HOME": str(platformdirs.user_cache_path("tokviz").parent),
        }

    @asynccontextmanager
    async def terminal(
        self, program: Sequence[str], size: Size, allowed: Confinement
    ) -> AsyncIterator[AppTerminal]:
        """Run an app while entered."""
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
        """Wait for apps that are about to end: what they did not save, the next one is to find."""
        while self._ending:
            await asyncio.wait(self._ending)


class Visitors:
    """Lets browsers in."""

    def __init__(self, shared: Path | None, on_token: Callable[[str], None]) -> None:
        """Begin without any.

        Args:
            shared: The folder in which all open and save, None if each has its own.
            on_token: Told every token; another one comes once one is used.

        Raises:
            TokvizError: If the folder holds those of the visitors.
        """
        self._shared = shared
        self._on_token = on_token
        self._folder = state_folder() / "web"
        if shared is not None and self._folder.resolve().is_relative_to(shared):
            # Else everybody there could read what the others have not saved.
            raise TokvizError(f"{shared} holds what tokviz keeps: name a folder in it")
        self._known: dict[str, Visitor] = {}
        _forget_old(self._folder)
        self._next()

    def _next(self) -> None:
        self._token = secrets.token_urlsafe(32)
        self._on_token(self._token)

    def enter(self, token: str, cookie: str | None) -> str | None:
        """Use a token.

        Args:
            token: What came.
            cookie: The cookie of an earlier time: what was left in its folder comes along.

        Returns:
            The cookie from now on, None if the token lets nobody in.
        """
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode()):
            return None
        new = secrets.token_urlsafe(32)
        folder = self._folder / _digest(new)
        old = self.find(cookie)
        if cookie and (old is None or not old.n_terminals):
            self._known.pop(_digest(cookie), None)
            with suppress(OSError):
                os.rename(self._folder / _digest(cookie), folder)
        self._known[folder.name] = Visitor(folder, self._shared)
        self._next()
        return new

    def find(self, cookie: str | None) -> Visitor | None:
        """Find the visitor that a cookie was given to."""
        return self._known.get(_digest(cookie)) if cookie else None


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()


def _forget_old(folder: Path) -> None:
    oldest = time.time() - KEPT_DAYS * 86_400
    for old in folder.glob("*"):
        with suppress(OSError):
            if old.stat().st_mtime < oldest:
                shutil.rmtree(old)
