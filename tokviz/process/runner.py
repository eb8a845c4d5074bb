"""The parent's side: run jobs in a child without waiting for it.

A `JobClient` owns one persistent child, which it starts on first use and again after killing it.
Only the newest run counts: a new one replaces the previous one.

One thread of the client starts the child, writes to it and watches the clock; another reads the
answers. (On Linux a child dies with the *thread* that started it, so this thread lives as long as
the client.)
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from weakref import WeakSet

from tokviz.errors import JobError, TokvizError
from tokviz.process.child import ChildProcess, JobTimeoutError
from tokviz.process.limits import Limits
from tokviz.process.protocol import Body, Message, encode_line, restore_error

START_SECONDS = 30.0
"""Time limit for starting a child, on a machine under load."""

GRACE_SECONDS = 0.2
"""Time between asking a child to stop and killing it."""


class JobDroppedError(JobError):
    """A run that was canceled before it was complete."""


_stopped: ContextVar[Callable[[], bool] | None] = ContextVar("stopped", default=None)
_LOOKS_SECONDS = 0.05


@contextmanager
def stopped_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """Cancel every `JobClient.call` of this thread within the block once `stopped` returns True."""
    before = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(before)


def raise_if_stopped() -> None:
    """Cancel work of this thread outside a child; see `stopped_by`.

    Raises:
        JobDroppedError: If the work was canceled.
    """
    stopped = _stopped.get()
    if stopped is not None and stopped():
        raise JobDroppedError("it was canceled")


Requests = Callable[[dict[str, Any]], Iterable[Body]]
"""Creates a run's requests, in the client's thread, just before they are sent.

The argument is the parent's record of the current child's state; the function keeps it up to date.
"""


def _ignore(*_: object) -> None:
    """Do nothing: the default handler."""


class RunHandlers(NamedTuple):
    """Callbacks of a run, called from a thread of the client with the run id as first argument.

    Handlers of a canceled or replaced run are no longer called, except for calls already in
    progress: compare the run id where it matters.
    """

    on_answer: Callable[[int, Message], object] = _ignore
    on_done: Callable[[int], object] = _ignore
    on_error: Callable[[int, TokvizError], object] = _ignore
    on_dropped: Callable[[int], object] = _ignore
    """Called for a canceled, replaced or closed run, in the thread that does so, within a lock."""


class _Run:
    def __init__(self, run_id: int, requests: Requests, handlers: RunHandlers) -> None:
        self.id, self.requests, self.handlers = run_id, requests, handlers
        self.is_over = self.enough = self.canceled = self.child_unusable = False


class JobClient:
    """Client that runs one kind of job in a child process. Thread-safe; only `call` waits."""

    def __init__(
        self,
        job: str,
        *,
        limits: Limits | None = None,
        patience: float | None = None,
        grace: float | None = None,
        keeps_child: bool = True,
        replaces_child: bool = True,
    ) -> None:
        """Create a client; the child starts with the first run.

        Args:
            job: A name from `tokviz.process.registry.JOBS`.
            limits: Resource limits of the child.
            patience: Seconds of wall clock without any answer after which a run is killed and
                fails with `JobTimeoutError`; None for no such limit.
            grace: Seconds between asking a child to stop and killing it; `GRACE_SECONDS` if None.
            keeps_child: Keep the child for the next run, with its state; otherwise it ends with
                its run and frees its memory.
            replaces_child: Start another child for the run after a child died; otherwise that run
                fails, because the child's state is lost.
        """
        self._job = job
        self._limits = limits or Limits()
        self._patience = patience
        self._grace = GRACE_SECONDS if grace is None else grace
        self._keeps_child = keeps_child
        self._replaces_child = replaces_child
        self._changed = threading.Condition()
        self._last_id = 0
        self._next: _Run | None = None
        self._active: _Run | None = None
        self._child: ChildProcess | None = None
        self._closed = False
        self._owner: threading.Thread | None = None
        self._calls = threading.Lock()
        _clients.add(self)

    def call(
        self,
        requests: Requests,
        on_answer: Callable[[Message], object] = _ignore,
        *,
        in_turn: bool = True,
    ) -> list[Message]:
        """Start a run, wait until it is complete, and return the answers.

        Args:
            requests: See `run`.
            on_answer: Called with each answer when it arrives, in a thread of the client.
            in_turn: Wait for a call in progress; otherwise cancel it.

        Raises:
            JobDroppedError: If the run is canceled meanwhile, or the client is closed.
            TokvizError: The error with which the run failed.
        """
        answers: list[Message] = []
        ends: SimpleQueue[TokvizError | None] = SimpleQueue()

        def take(run: int, answer: Message) -> None:
            answers.append(answer)
            on_answer(answer)

        handlers = RunHandlers(
            take,
            lambda run: ends.put(None),
            lambda run, error: ends.put(error),
            lambda run: ends.put(JobDroppedError(f"the {self._job} job was canceled")),
        )
        with self._calls if in_turn else nullcontext():
            run = self.run(requests, handlers)
            error = self._end(run, ends)
        if error is not None:
            raise error
        return answers

    def ask(self, requests: Iterable[Body]) -> list[Message]:
        """Call with requests that do not depend on the child's state."""
        return self.call(lambda memory: requests)

    def _end(self, run: int, ends: SimpleQueue[TokvizError | None]) -> TokvizError | None:
        stopped = _stopped.get()
        while True:
            try:
                return ends.get(timeout=None if stopped is None else _LOOKS_SECONDS)
            except Empty:
                if stopped is not None and stopped():
                    self.cancel(run)

    def run(self, requests: Requests, handlers: RunHandlers) -> int:
        """Start a run, which replaces any other, and return its id."""
        with self._changed:
            if self._closed:
                raise JobDroppedError(f"the {self._job} job is closed")
            self._last_id += 1
            self._drop_runs()
            self._next = _Run(self._last_id, requests, handlers)
            if self._owner is None:
                self._owner = threading.Thread(
                    target=self._serve, name=f"{self._job} job", daemon=True
                )
                self._owner.start()
            self._changed.notify_all()
            return self._last_id

    def cancel(self, run: int | None = None) -> None:
        """Cancel the current run: ask the child to stop, and kill it if it does not.

        Args:
            run: Cancel only if this run is the current one.
        """
        with self._changed:
            if run is not None and run != self._last_id:
                return
            self._drop_runs()
            self._changed.notify_all()

    def finish(self) -> None:
        """Ask a job that supports it to end with its results so far."""
        with self._changed:
            for run in (self._next, self._active):
                if run is not None:
                    run.enough = True
            self._changed.notify_all()

    def close(self) -> None:
        """Kill the child. Safe to call twice."""
        with self._changed:
            self._closed = True
            self._drop_runs()
            if self._child is not None:
                self._child.kill()
            self._changed.notify_all()

    @property
    def pid(self) -> int | None:
        """The child's process id, None without a child."""
        child = self._child
        return None if child is None else child.pid

    def _drop_runs(self) -> None:
        for run in (self._next, self._active):
            if run is not None and not run.is_over and not run.canceled:
                run.canceled = True
                run.handlers.on_dropped(run.id)
        self._next = None

    def forget_child(self) -> None:
        """Leave the child to the parent of this forked process, which has no threads either."""
        _left_children.append(self._child)
        self._child = self._next = self._active = self._owner = None
        self._changed, self._calls = threading.Condition(), threading.Lock()

    # -- in the owner's thread

    def _serve(self) -> None:
        while (run := self._wait_for_run()) is not None:
            try:
                self._send(run, self._running_child())
            except JobError as error:
                end = self._reap_child()
                self._fail(run, error if isinstance(error, JobTimeoutError) else end or error)
                continue
            except Exception as error:
                # Report any error in creating the requests, because a caller waits for the end.
                self._reap_child()
                reason = f"{type(error).__name__}: {error}"
                self._fail(run, JobError(f"the requests for the {self._job} job failed: {reason}"))
                continue
            self._watch(run)
            if run.child_unusable or not self._keeps_child:
                self._reap_child()
        self._reap_child()

    def _wait_for_run(self) -> _Run | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._next is not None)
            if self._closed:
                return None
            self._active, self._next = self._next, None
            return self._active

    def _running_child(self) -> ChildProcess:
        if self._child is not None and self._child.has_ended:
            # It died between two runs, when no caller was waiting.
            end = self._reap_child()
            if end is not None and not self._replaces_child:
                raise end
        if self._child is None:
            child = ChildProcess(self._job, self._limits, self._on_message, self._on_child_end)
            with self._changed:
                self._child = child
                if self._closed:
                    child.kill()
        return self._child

    def _send(self, run: _Run, child: ChildProcess) -> None:
        """Send all requests, even of a canceled run, because `memory` must match the child."""
        for body in run.requests(child.memory):
            self._write(run, child, encode_line("request", run.id, body=body))
        self._write(run, child, encode_line("end", run.id))

    def _write(self, run: _Run, child: ChildProcess, line: bytes) -> None:
        """Send a line as fast as the child reads it; raise if it reads nothing for too long."""
        rest = memoryview(line)
        while rest := rest[child.write(rest) :]:
            patience = self._patience_with(child)
            if run.canceled and child.ready:
                patience = self._grace
            if patience is not None and time.monotonic() >= child.last_sign + patience:
                raise JobTimeoutError(self._job, patience)
            child.wait_for_room(_LOOKS_SECONDS)

    def _watch(self, run: _Run) -> None:
        """Wait until the run is over, and kill the child if necessary."""
        child = self._child
        assert child is not None
        give_up_at: float | None = None
        has_signaled = False
        with self._changed:
            while not run.is_over and not self._closed and not child.has_ended:
                now = time.monotonic()
                if run.canceled and give_up_at is None:
                    give_up_at = now + self._grace
                    self._signal(child, "cancel", run)
                if run.enough and not has_signaled:
                    has_signaled = self._signal(child, "enough", run)
                patience = self._patience_with(child)
                deadline = give_up_at
                if deadline is None and patience is not None:
                    deadline = child.last_sign + patience
                if deadline is not None and now >= deadline:
                    break
                self._changed.wait(None if deadline is None else deadline - now)
            if run.is_over or self._closed:
                return
            died = child.has_ended
        end = self._reap_child()
        if not died:
            end = JobTimeoutError(self._job, self._patience_with(child) or 0.0)
        self._fail(run, end or JobError(f"the {self._job} job has ended"))

    def _patience_with(self, child: ChildProcess) -> float | None:
        return self._patience if child.ready else START_SECONDS

    def _signal(self, child: ChildProcess, message_type: str, run: _Run) -> bool:
        """Send a request if there is room for it, because a lock must not wait for the child."""
        try:
            return child.write(encode_line(message_type, run.id)) > 0
        except JobError:
            # The child has ended; the reader will notice.
            return False

    def _reap_child(self) -> JobError | None:
        """Kill the child and return the reason of its end; None if there was none."""
        with self._changed:
            child, self._child = self._child, None
        return None if child is None else child.reap()

    def _fail(self, run: _Run, error: TokvizError) -> None:
        with self._changed:
            wanted = not run.is_over and not run.canceled and not self._closed
            run.is_over = True
        if wanted:
            run.handlers.on_error(run.id, error)

    # -- in the child's reading thread

    def _on_message(self, child: ChildProcess, message: Message) -> None:
        with self._changed:
            run = self._active
            if run is None or run.is_over or message.get("run") != run.id:
                self._changed.notify_all()
                return
            wanted = not run.canceled and not self._closed
        if wanted:
            self._deliver(run, message)
        with self._changed:
            if message["type"] in ("done", "cancelled", "error"):
                run.is_over = True
                run.child_unusable = not message.get("expected", True)
            self._changed.notify_all()

    def _deliver(self, run: _Run, message: Message) -> None:
        match message["type"]:
            case "answer":
                run.handlers.on_answer(run.id, message["body"])
            case "done":
                run.handlers.on_done(run.id)
            case "error":
                run.handlers.on_error(run.id, restore_error(self._job, message))

    def _on_child_end(self, child: ChildProcess) -> None:
        with self._changed:
            child.has_ended = True
            self._changed.notify_all()


_clients: WeakSet[JobClient] = WeakSet()
_left_children: list[ChildProcess | None] = []
"""Children of the parent of this process. To free them would wait for locks of its threads."""


def _forget_children() -> None:
    for client in [*_clients]:
        client.forget_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_children)
