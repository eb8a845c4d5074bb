"""The parent's view of one child process: start, write, read, kill, last output."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tokviz.errors import JobError
from tokviz.process.limits import Limits
from tokviz.process.protocol import Message, decode_line

_LAST_OUTPUT_BYTES = 16_000


class JobTimeoutError(JobError):
    """A run without any sign of life for longer than allowed."""

    over = "time"

    def __init__(self, job: str, seconds: float = 0.0) -> None:
        """Create the error from the job's name, and its patience in seconds if that ran out."""
        self.seconds = seconds
        end = f"gave no answer for {seconds:g} s" if seconds else "exceeded its time limit"
        super().__init__(f"the {job} job {end} and was stopped")


class ChildProcess:
    """A running `python -m tokviz.process.jobs NAME`.

    Attributes:
        memory: The parent's record of the child's state; lost with the process, like the state.
        last_sign: `time.monotonic()` of the last data received from or sent to the child.
        ready: True once the child has started.
        has_ended: True once the client knows that no more answers will come.
    """

    def __init__(
        self,
        job: str,
        limits: Limits,
        on_message: Callable[[ChildProcess, Message], None],
        on_end: Callable[[ChildProcess], None],
    ) -> None:
        """Start the child. Both callbacks are called from a thread of this object.

        Raises:
            JobError: If no process can be started.
        """
        self.memory: dict[str, Any] = {}
        self.ready = self.has_ended = False
        self.last_sign = time.monotonic()
        self._job = job
        self._on_message = on_message
        self._on_end = on_end
        self._protocol_error: JobError | None = None
        try:
            with ExitStack() as unless_started:
                self._stderr = unless_started.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "tokviz.process.jobs", job, json.dumps(limits)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=package_environment(),
                    start_new_session=True,
                )
                unless_started.pop_all()  # closed in `reap`
        except OSError as error:
            raise JobError(f"the {job} job cannot be started: {error}") from error
        if sys.platform != "win32":  # otherwise a write blocks until the child reads
            os.set_blocking(self._requests, False)
        self._reader = threading.Thread(target=self._read, name=f"{job} answers", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def _requests(self) -> int:
        assert self._process.stdin is not None
        return self._process.stdin.fileno()

    def write(self, data: bytes | memoryview) -> int:
        """Send as many bytes as fit, and return their number: 0 if the child reads none.

        A short line is sent as a whole or not at all.

        Raises:
            JobError: If the child has ended.
        """
        try:
            n_bytes = os.write(self._requests, data)
        except BlockingIOError:
            return 0
        except (OSError, ValueError) as error:
            raise JobError(f"the {self._job} job has ended") from error
        self.last_sign = time.monotonic()
        return n_bytes

    def wait_for_room(self, seconds: float) -> None:
        """Wait until more can be sent or the child has ended, at most for this long."""
        poll = select.poll()
        poll.register(self._requests, select.POLLOUT)
        poll.poll(seconds * 1000)

    def kill(self) -> None:
        """End the process at once, without waiting."""
        self._process.kill()

    def reap(self) -> JobError:
        """Wait for the end of a killed or crashed child, and return the reason."""
        self._process.kill()
        code = self._process.wait()
        # The reader ends with the pipe, unless another process holds the other end.
        self._reader.join(timeout=1.0)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        with self._stderr:
            output = self._last_output()
        if -code == getattr(signal, "SIGVTALRM", None):
            # The child's watchdog ended it, in processor time: see
            # `tokviz.tokenizer.pretokenize.step_limit`.
            return JobTimeoutError(self._job)
        end = self._protocol_error or JobError(_end_message(self._job, code, output))
        if -code == getattr(signal, "SIGXCPU", None):
            end.over = "time"
        elif "memory allocation of" in output or "MemoryError" in output:
            end.over = "memory"
        return end

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self.last_sign = time.monotonic()
                message = decode_line(line)
                if message["type"] == "ready":
                    self.ready = True
                self._on_message(self, message)
        except JobError as error:
            self._protocol_error = error
        except (OSError, ValueError):
            # `reap` closed the stream.
            return
        finally:
            self._on_end(self)

    def _last_output(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _LAST_OUTPUT_BYTES))
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        # A traceback ends with its reason, a fault handler's dump starts with it, and native code
        # prints the cause of an abort before that.
        begins = "memory allocation of", "Fatal Python error"
        fatal = next((line for line in lines if line.startswith(begins)), None)
        return fatal or (lines[-1] if lines else "")


def _end_message(job: str, code: int, output: str) -> str:
    if -code == getattr(signal, "SIGXCPU", None):
        return f"the {job} job exceeded its limit of processor time"
    if code < 0:
        try:
            end = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            end = f"was ended by signal {-code}"
    else:
        end = f"ended with code {code}"
    return f"the {job} job {end}: {output}" if output else f"the {job} job {end}"


def package_environment() -> dict[str, str]:
    """Let the child import this package, and nothing from its working directory.

    `-P` keeps the working directory off the child's path. An empty or relative part of PYTHONPATH
    would add it again, so those are dropped.
    """
    root = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [root, *filter(os.path.isabs, inherited)]
    if root == str(Path(sysconfig.get_path("purelib")).resolve()):
        del paths[0]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
