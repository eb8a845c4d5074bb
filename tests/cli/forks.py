"""Runs `tokviz` in forks of a process where everything is imported already: a tenth of the work.

As a program it is that process. It has one thread, and does nothing but fork: what is known or
written when a command begins is what a new process would know and have written.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).parents[2]
HEAVY = ("tokviz.tui", "tokviz.web", "tokviz.compiled.build")
"""What commands that are no app do without."""

_HEAD = 8
"""Bytes that tell how long a request is."""


class Forks:
    """The process that forks, as tests see it: started when it is first asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, arguments: list[str], *streams: int) -> int:
        """Run a command on three files, which are closed here, and give its exit code."""
        request = json.dumps([arguments, dict(os.environ), os.getcwd()]).encode()
        with self._lock:
            if self._process is None:
                self._socket, there = socket.socketpair()
                with there:
                    self._process = subprocess.Popen(
                        [sys.executable, "-m", "tests.cli.forks", str(there.fileno())],
                        cwd=ROOT, pass_fds=[there.fileno()], stdin=subprocess.DEVNULL,
                    )  # fmt: skip
            socket.send_fds(self._socket, [len(request).to_bytes(_HEAD, "big")], streams)
            self._socket.sendall(request)
            for stream in {*streams}:
                os.close(stream)
            return int(self._socket.recv(16))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._socket.close()
            assert self._process.wait() == 0


def fork_for_all(requests: socket.socket) -> list[str]:
    """Fork for every request. Returns its arguments in each fork; ends with who asks."""
    for module in pkgutil.walk_packages(import_module("tokviz").__path__, "tokviz."):
        if not module.name.startswith(HEAVY) and not module.name.endswith("__main__"):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1
    while True:
        head, files, _, _ = socket.recv_fds(requests, _HEAD, 3)
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
    files: list[int], arguments: list[str], environment: dict[str, str], folder: str
) -> list[str]:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(getattr(sys, name), number)
        vars(sys).update({name: stream, f"__{name}__": stream})
    return arguments


def _stream(old: Any, number: int) -> io.TextIOWrapper:
    """Open a standard stream as Python does when it begins."""
    file: IO[bytes] = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
    is_eager = number == 2 or os.isatty(number)
    return io.TextIOWrapper(file, old.encoding, old.errors, line_buffering=is_eager)


def _end(code: int) -> NoReturn:
    """End as Python does, but leave all that was imported where it is: it is shared."""
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    words = fork_for_all(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [str(ROOT / "tokviz" / "__main__.py"), *words]
    code = 1
    try:
        from tokviz.cli.main import main

        code = main()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    _end(code)
