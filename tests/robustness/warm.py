"""Children of tokviz that are forks of this process, where everything is imported already.

What they do and say is the same; to start Python and to import takes ten times as long. Their
memory is not limited: a fork has what this process has.
"""

from __future__ import annotations

import gc
import os
import pkgutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import IO, Any
from unittest import mock


class _Fork:
    """The part of `subprocess.Popen` that `ChildProcess` uses, for a fork."""

    def __init__(
        self, command: list[str], *, stderr: IO[bytes], env: Mapping[str, str], **_: Any
    ) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        requests, self.stdin = _pipe()
        answers, self.stdout = _pipe()[::-1]
        self.pid = os.fork()
        if self.pid == 0:
            _be_job(command, (requests.fileno(), answers.fileno(), stderr.fileno()), env)
        requests.close()
        answers.close()
        self._code: int | None = None

    def kill(self) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return open(reading, "rb"), open(writing, "wb")


def _be_job(command: list[str], streams: tuple[int, int, int], env: Mapping[str, str]) -> None:
    code = 1
    try:
        os.setsid()
        for target, source in enumerate(streams):
            os.dup2(source, target)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(env)
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        from tokviz.process import limits
        from tokviz.process.jobs.__main__ import main

        limits.allow_memory = lambda megabytes: None
        sys.argv = command[command.index("tokviz.process.jobs") :]
        code = main()
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def import_everything() -> None:
    """Import all of tokviz, so that no fork has to."""
    import tokviz

    for module in pkgutil.walk_packages(tokviz.__path__, "tokviz."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    gc.collect()
    gc.freeze()


@contextmanager
def warm_children() -> Iterator[None]:
    """Start jobs as forks within the block."""
    popen = SimpleNamespace(Popen=_Fork, PIPE=subprocess.PIPE)
    with mock.patch("tokviz.process.child.subprocess", popen):
        yield
