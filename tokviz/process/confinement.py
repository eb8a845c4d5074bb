"""Restrict a session in a browser to its own folders on this machine.

Python reports every file, program and connection to audit hooks before opening it. A hook can
refuse access, and cannot be removed. So a single hook decides for the app and its child processes,
regardless of the origin of a path: typed, a link in the folder, in the settings, or in a file.

Python does not report checks whether a file exists, so these are allowed. It does not report the
actions of C code either: named pipes, device files, SQLite (because of `ATTACH`), and C functions
called by ctypes are refused entirely, except for the C functions that tokviz itself needs.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from ipaddress import ip_address
from typing import Any, NamedTuple

from tokviz.storage.assets import asset_path

VARIABLE = "TOKVIZ_CONFINED"
"""The environment variable with the permissions. Every tokviz process that has it applies them."""

_JOB = [sys.executable, "-P", "-m", "tokviz.process.jobs"]
_HUB = ("huggingface.co", "hf.co")
_SYSTEM_FILES = ("/dev/null", "/dev/urandom", "/dev/tty", "/proc/meminfo", "/proc/cpuinfo")
_SYSTEM_FOLDERS = ("/sys/fs/cgroup", "/usr/share/zoneinfo")
_C_FUNCTIONS = ("madvise", "mallopt", "malloc_trim", "prctl")
"""Functions of the C library that tokviz calls with ctypes. None of them opens a file."""
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Confinement(NamedTuple):
    """Permissions of a session.

    Attributes:
        folders: Folders that may be read and written. The first is for the visitor's own files,
            the others for the state of the app.
        training: True if trainings may be started.
        hub: True if the Hugging Face Hub may be accessed.
        by_browser: True if files are uploaded from the browser and downloaded to it.
    """

    folders: tuple[str, ...] = ()
    training: bool = False
    hub: bool = False
    by_browser: bool = False

    def may_save(self, path: str | os.PathLike[str]) -> bool:
        """Check whether a path is inside the folder for the visitor's own files."""
        return _is_below(os.path.realpath(path), self.folders[:1])

    def environment(self) -> dict[str, str]:
        """Return the environment variable that passes the permissions to a process."""
        return {VARIABLE: json.dumps(self._asdict())}


class RefusedError(OSError):
    """An action that a session in a browser is not allowed to do."""

    def __init__(self, reason: str) -> None:
        """Create the error from a reason."""
        super().__init__(errno.EACCES, reason)

    def __str__(self) -> str:
        """Return the reason without an error number."""
        return str(self.strerror)


@cache
def confinement() -> Confinement | None:
    """Return the permissions of this process; None if it is not restricted."""
    variable = os.environ.get(VARIABLE)
    if variable is None:
        return None
    allowed = Confinement(**json.loads(variable))
    return allowed._replace(folders=tuple(map(os.path.realpath, allowed.folders)))


def start() -> None:
    """Apply the permissions from now until this process ends."""
    allowed = confinement()
    assert allowed is not None
    program, assets = _program_folders()
    roots = (sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(os.path.isabs, sys.path))
    confined = _Checks(allowed, program, assets, (*program, *map(os.path.realpath, roots)))
    checks = confined.by_event()
    for name in ("mkfifo", "mknod"):  # not reported to audit hooks
        for module in (os, sys.modules[os.name]):
            setattr(module, name, confined.no_native)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        check = checks.get(event)
        if check is not None:
            check(*arguments)

    sys.addaudithook(hook)


def _program_folders() -> tuple[tuple[str, ...], str]:
    """Return the folders of Python and tokviz, including compiled code, and that of the assets."""
    import platformdirs  # the manual page is built without dependencies

    assets = os.path.realpath(asset_path(""))
    libraries = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    compiled, package = (
        platformdirs.user_cache_path("tokviz"),
        os.path.dirname(os.path.dirname(__file__)),
    )
    found = [*libraries, str(compiled), package, *_SYSTEM_FOLDERS]
    return (*map(os.path.realpath, found), assets), assets


class _Checks(NamedTuple):
    """Checks of audit events, which raise `RefusedError`."""

    allowed: Confinement
    program: tuple[str, ...]
    """Folders that may be read."""
    assets: str
    protected: tuple[str, ...]
    """Folders that Python loads code from: never written, even inside an allowed folder."""

    def by_event(self) -> dict[str, Callable[..., None]]:
        """Return the checks by the event in Python's audit table."""
        one_path = ("mkdir", "chmod", "chown", "truncate", "utime", "setxattr", "removexattr")
        two_paths = ("rename", "link", "symlink")
        programs = ("system", "exec", "fork", "forkpty", "spawn", "startfile")
        return {
            "open": self.open,
            "os.scandir": self.list,
            "os.listdir": self.names,
            **{f"os.{name}": self.write for name in one_path},
            **{f"os.{name}": self.move for name in two_paths},
            "os.remove": self.displace,
            "os.rmdir": self.displace,
            "shutil.rmtree": self.displace,
            "sqlite3.connect": self.no_native,
            "ctypes.dlopen": self.load,
            "ctypes.dlsym": self.call,
            "ctypes.dlsym/handle": self.no_native,
            "ctypes.call_function": self.no_native,
            "subprocess.Popen": self.start,
            "os.posix_spawn": self.start,
            **{f"os.{name}": self.no_program for name in programs},
            "socket.getaddrinfo": self.look_up,
            "socket.gethostbyname": self.look_up,
            "socket.connect": self.connect,
            "socket.sendto": self.connect,
            "socket.sendmsg": self.connect,
            "socket.bind": self.no_network,
        }

    def open(self, path: Any, mode: str | None, flags: int) -> None:
        (self.write if flags & _CHANGES else self.read)(path)

    def write(self, path: Any, *_: object) -> None:
        real = _real(path)
        if real is None or real == "/dev/null":
            return
        if not self._is_own(real) or _is_below(real, self.protected):
            raise RefusedError("this session may not write there")

    def displace(self, path: Any, *_: object) -> None:
        self.write(path)
        real = _real(path)
        if real is not None and any(_is_below(folder, (real,)) for folder in self.protected):
            raise RefusedError("this session may not move or remove a folder with programs")

    def move(self, source: Any, target: Any, *_: object) -> None:
        self.displace(source)
        self.displace(target)

    def read(self, path: Any, *_: object) -> None:
        real = _real(path)
        if real is not None and real not in _SYSTEM_FILES and not _is_below(real, self.program):
            self.list(path)

    def names(self, path: Any) -> None:
        # Python lists the folders of its module path again when they change.
        if _real(path) not in [os.path.realpath(folder) for folder in sys.path if folder]:
            self.read(path)

    def list(self, path: Any) -> None:
        real = _real(path)
        if real is not None and not self._is_own(real) and not _is_below(real, (self.assets,)):
            raise RefusedError("this session may not read there")

    def _is_own(self, real: str) -> bool:
        return _is_below(real, self.allowed.folders) and not _is_below(real, self.program)

    def start(self, program: Any, arguments: Any, *_: object) -> None:
        words = [os.fsdecode(word) for word in arguments]
        if os.fsdecode(program) != sys.executable or words[: len(_JOB)] != _JOB:
            self.no_program()
        if words[len(_JOB)] == "train" and not self.allowed.training:
            raise RefusedError("this session may not train: start with --allow-training")

    def no_program(self, *_: object) -> None:
        raise RefusedError("this session may not start programs")

    def load(self, library: Any) -> None:
        # `None` is the C library.
        if library is not None and not _is_below(str(_real(library)), self.program):
            self.no_native()

    def call(self, library: Any, function: Any) -> None:
        if library._name is None and function not in _C_FUNCTIONS:
            self.no_native()

    def no_native(self, *_: object) -> None:
        raise RefusedError("this session may not use pipes, SQLite or C libraries")

    def look_up(self, host: Any, *_: object) -> None:
        name = os.fsdecode(host) if host else ""
        if not self.allowed.hub or not f".{name}".endswith(tuple(f".{known}" for known in _HUB)):
            self.no_network()

    def connect(self, socket: Any, address: Any) -> None:
        # A name server may return an address of this machine for the Hub's name.
        host = address[0] if isinstance(address, tuple) else ""
        try:
            is_public = ip_address(host).is_global
        except ValueError:
            is_public = False
        if not self.allowed.hub or not is_public:
            self.no_network()

    def no_network(self, *_: object) -> None:
        raise RefusedError("this session may not use the network")


def _real(path: Any) -> str | None:
    """Resolve all links of a path; None for a file descriptor."""
    if isinstance(path, int):
        return None
    return os.path.realpath(os.fsdecode("." if path is None else path))


def _is_below(real: str, folders: tuple[str, ...]) -> bool:
    return any(real == folder or real.startswith(folder + os.sep) for folder in folders)
