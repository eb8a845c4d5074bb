"""Runs `tokviz` and its jobs in forks of a process that has already imported everything.

That is a tenth of the work. As a program this is that process. It has one thread, and does nothing
but fork: what is known or written when a command begins is what a new process would know and have
written. A job may have as much memory more than that process as it may have in one of its own.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, NoReturn
from unittest import mock

from tokviz.process import limits

ROOT = Path(__file__).parents[1]
HEAVY = ("tokviz.tui", "tokviz.cli.web", "tokviz.kernels.build")
"""Modules that commands do not need, unlike the app."""

_HEAD = 8
"""Size of the header with the length of a request."""

BEGUN = dict(os.environ)


def is_as_begun() -> bool:
    """Return whether the environment variables of Python are unchanged since the start."""
    changed = dict(os.environ.items() ^ BEGUN.items())
    return not any(name.startswith(("PYTHON", "LC_", "LANG", "TZ")) for name in changed)


class Forks:
    """Client of the forking process, which is started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process unless it is running."""
        if self._process is None:
            self._socket, there = socket.socketpair()
            with there:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.forks", str(there.fileno())],
                    cwd=ROOT, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL,
                )  # fmt: skip

    def run(self, arguments: list[str], *streams: int) -> int:
        """Run a command on three files, which are then closed here; return its exit code."""
        return self._ask("command", arguments, dict(os.environ), streams)

    def begin_job(self, arguments: list[str], env: dict[str, str], *streams: int) -> None:
        """Start a job on three files, with one for its status; they are then closed here."""
        self._ask("job", arguments, env, streams)

    def _ask(
        self, kind: str, arguments: list[str], env: dict[str, str], streams: tuple[int, ...]
    ) -> int:
        request = json.dumps([kind, arguments, env, os.getcwd()]).encode()
        with self._lock:
            self.start()
            socket.send_fds(self._socket, [len(request).to_bytes(_HEAD, "big")], streams)
            self._socket.sendall(request)
            for stream in {*streams}:
                os.close(stream)
            return int(self._socket.recv(16))

    def close(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._socket.close()
            assert self._process.wait() == 0


class Job:
    """The part of `subprocess.Popen` that `ChildProcess` needs, for a job."""

    def __init__(
        self,
        forks: Forks,
        command: list[str],
        *,
        stderr: IO[bytes],
        env: dict[str, str],
        **_: Any,
    ) -> None:
        (requests, stdin), (stdout, answers), (told, tells) = (os.pipe() for _ in range(3))
        self.stdin, self.stdout, self._told = (
            os.fdopen(*end) for end in ((stdin, "wb"), (stdout, "rb"), (told, "r"))
        )
        arguments = command[command.index("tokviz.process.jobs") + 1 :]
        forks.begin_job(arguments, env, requests, answers, os.dup(stderr.fileno()), tells)
        self.pid = int(self._told.readline())
        self._code: int | None = None

    def kill(self) -> None:
        """Kill the process if it still runs."""
        if self._code is None and not select.select([self._told], [], [], 0)[0]:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for the end and return the exit code."""
        if self._code is None:
            with self._told:
                self._code = int(self._told.readline())
        return self._code


@contextmanager
def forked_jobs(forks: Forks) -> Iterator[None]:
    """Start jobs as forks within the block, unless Python's own environment has changed."""

    def start(command: list[str], **options: Any) -> Any:
        if is_as_begun():
            return Job(forks, command, **options)
        return subprocess.Popen(command, **options)

    popen = SimpleNamespace(Popen=start, PIPE=subprocess.PIPE)
    with mock.patch("tokviz.process.child.subprocess", popen):
        yield


def fork_for_all(requests: socket.socket) -> tuple[str, list[str]]:
    """Fork for every request; return its kind and arguments in the fork. Ends with the client."""
    for module in pkgutil.walk_packages(import_module("tokviz").__path__, "tokviz."):
        if not module.name.startswith(HEAVY) and not module.name.endswith("__main__"):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1
    while True:
        head, files, _, _ = socket.recv_fds(requests, _HEAD, 4)
        if not head:
            sys.exit(0)
        request = bytearray()
        while missing := int.from_bytes(head, "big") - len(request):
            request += requests.recv(missing)
        pid = os.fork()
        if pid == 0:
            requests.close()
            return _become(files, *json.loads(request))
        for file in files:
            os.close(file)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        requests.send(b"%d" % code)


def _become(
    files: list[int], kind: str, arguments: list[str], environment: dict[str, str], folder: str
) -> tuple[str, list[str]]:
    if kind == "job":
        _be_watched(files)
        os.setsid()
        held, allow = _held_megabytes(), limits.allow_memory
        limits.allow_memory = lambda megabytes: allow(megabytes and megabytes + held)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(getattr(sys, name), number)
        vars(sys).update({name: stream, f"__{name}__": stream})
    return kind, arguments


def _be_watched(files: list[int]) -> None:
    """Fork again; this process writes the number and the end of that fork to the last file."""
    tells = files.pop()
    if os.fork():
        os._exit(0)
    if pid := os.fork():
        for file in files:
            os.close(file)
        with suppress(OSError):
            os.write(tells, b"%d\n" % pid)
            os.write(tells, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        os._exit(0)
    os.close(tells)


def _held_megabytes() -> int:
    """Return the used address space of this process; only Linux limits it."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize() >> 20


def _stream(old: Any, number: int) -> io.TextIOWrapper:
    """Open a standard stream like Python at startup."""
    file: IO[bytes] = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
    is_eager = number == 2 or os.isatty(number)
    return io.TextIOWrapper(file, old.encoding, old.errors, line_buffering=is_eager)


def _end(code: int) -> NoReturn:
    """Exit like Python, but without freeing the imported modules, which are shared."""
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kind, words = fork_for_all(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [str(ROOT / "tokviz" / "__main__.py"), *words]
    code = 1
    try:
        if kind == "job":
            from tokviz.process.jobs.__main__ import main
        else:
            from tokviz.cli.main import main

        code = main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    _end(code)
