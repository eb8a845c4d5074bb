"""The parent's side: run jobs in a child without ever waiting for it.

A `JobClient` owns one persistent child, started when it is first needed and again after it had
to be killed. Only the newest run counts: a new one takes the place of the one before.

One thread of the client starts the child, writes to it and watches the clock; another reads the
answers. (On Linux a child dies with the *thread* that started it, so that thread lives as long as
the client.)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from tokviz.child.limits import Limits
from tokviz.child.process import ChildProcess, JobTimeoutError
from tokviz.child.protocol import Body, Message, encode_line, restore_error
from tokviz.errors import JobError, TokvizError

START_SECONDS = 30.0
"""How long a child may take to start, on a machine under load."""

GRACE_SECONDS = 0.2
"""How long a child that was asked to stop may go on before it is killed."""


class JobDroppedError(JobError):
    """A run that was given up before it was over."""


_stopped: ContextVar[Callable[[], bool] | None] = ContextVar("stopped", default=None)
_LOOKS_SECONDS = 0.05


@contextmanager
def stopped_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """Give up every `JobClient.call` of this thread, meanwhile, once nobody wants its result."""
    before = _stopped.set(stopped)
    try:
        yield
    finally:
        _stopped.reset(before)


def raise_if_stopped() -> None:
    """End work of this thread that is not done by a child; see `stopped_by`.

    Raises:
        JobDroppedError: If nobody wants its result.
    """
    stopped = _stopped.get()
    if stopped is not None and stopped():
        raise JobDroppedError("it was given up")


Requests = Callable[[dict[str, Any]], Iterable[Body]]
"""Makes a run's requests, in the client's thread, just before they are sent.

The argument is the parent's memory of what this very child holds; the function keeps it true.
"""


def _ignore(*_: object) -> None:
    """What is done where nobody asked for more."""


@dataclass(frozen=True, slots=True)
class RunHandlers:
    """What to call as a run goes on; always with the run id first, from a thread of the client.

    Handlers of a run that was cancelled or replaced are not called any more, except when they
    are being called already: compare the run id where it matters.
    """

    on_answer: Callable[[int, Message], object] = _ignore
    on_done: Callable[[int], object] = _ignore
    on_error: Callable[[int, TokvizError], object] = _ignore
    on_dropped: Callable[[int], object] = _ignore
    """For a run that is cancelled, replaced or closed; in the thread which does so, in a lock."""


@dataclass(slots=True)
class _Run:
    id: int
    requests: Requests
    handlers: RunHandlers
    over: bool = False
    enough: bool = False
    unwanted: bool = False
    child_unusable: bool = False


class JobClient:
    """Runs one kind of job in a child process. Only `call` waits; all is safe in any thread."""

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
        """Prepare a client; the child starts with the first run.

        Args:
            job: A name from `tokviz.child.registry.JOBS`.
            limits: What the child may use.
            patience: Seconds of wall clock without any answer after which a run is killed and
                fails with `JobTimeoutError`; None for no such limit.
            grace: Seconds that a child may go on after it was asked to stop; `GRACE_SECONDS` if
                None.
            keeps_child: Keep the child for the next run, with its state; otherwise it ends with
                its run, and gives its memory back.
            replaces_child: Start another child for the run after the death of one; otherwise that
                run fails, for what the child held is lost.
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

    def call(
        self,
        requests: Requests,
        on_answer: Callable[[Message], object] = _ignore,
        *,
        in_turn: bool = True,
    ) -> list[Message]:
        """Run, wait until all is answered, and give the answers.

        Args:
            requests: See `run`.
            on_answer: Takes each answer when it comes, in a thread of the client.
            in_turn: Wait for the call that is under way; otherwise it is given up.

        Raises:
            JobDroppedError: If the run is given up meanwhile, or the client is closed.
            TokvizError: What the run failed with.
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
            lambda run: ends.put(JobDroppedError(f"the {self._job} job was given up")),
        )
        with self._calls if in_turn else nullcontext():
            run = self.run(requests, handlers)
            error = self._end(run, ends)
        if error is not None:
            raise error
        return answers

    def ask(self, requests: Iterable[Body]) -> list[Message]:
        """Call with requests that are the same for every child."""
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
        """Begin a run in place of any other and return its id."""
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
        """Give up the current run: the child is asked to stop and, if it does not, killed.

        Args:
            run: Only if it is this one.
        """
        with self._changed:
            if run is not None and run != self._last_id:
                return
            self._drop_runs()
            self._changed.notify_all()

    def finish(self) -> None:
        """Ask a job that can do so to end with what it has; its answers come as ever."""
        with self._changed:
            for run in (self._next, self._active):
                if run is not None:
                    run.enough = True
            self._changed.notify_all()

    def close(self) -> None:
        """End the child at once. Safe to call twice."""
        with self._changed:
            self._closed = True
            self._drop_runs()
            if self._child is not None:
                self._child.kill()
            self._changed.notify_all()

    @property
    def pid(self) -> int | None:
        """The child's process id while there is a child."""
        child = self._child
        return None if child is None else child.pid

    def _drop_runs(self) -> None:
        for run in (self._next, self._active):
            if run is not None and not run.over and not run.unwanted:
                run.unwanted = True
                run.handlers.on_dropped(run.id)
        self._next = None

    # In the owner's thread.

    def _serve(self) -> None:
        while (run := self._wait_for_run()) is not None:
            try:
                self._send(run, self._living_child())
            except JobError as error:
                end = self._bury()
                self._fail(run, error if isinstance(error, JobTimeoutError) else end or error)
                continue
            except Exception as error:
                # Whatever happens where requests are made: somebody waits for the end.
                self._bury()
                reason = f"{type(error).__name__}: {error}"
                self._fail(run, JobError(f"the {self._job} job cannot be asked: {reason}"))
                continue
            self._watch(run)
            if run.child_unusable or not self._keeps_child:
                self._bury()
        self._bury()

    def _wait_for_run(self) -> _Run | None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._next is not None)
            if self._closed:
                return None
            self._active, self._next = self._next, None
            return self._active

    def _living_child(self) -> ChildProcess:
        if self._child is not None and self._child.has_ended:
            # It died between two runs; nobody was waiting for it.
            end = self._bury()
            if end is not None and not self._replaces_child:
                raise end
        if self._child is None:
            child = ChildProcess(self._job, self._limits, self._hear, self._note_end)
            with self._changed:
                self._child = child
                if self._closed:
                    child.kill()
        return self._child

    def _send(self, run: _Run, child: ChildProcess) -> None:
        """Send all requests, also of a run that is unwanted by now: the memory must stay true."""
        for body in run.requests(child.memory):
            self._write(run, child, encode_line("request", run.id, body=body))
        self._write(run, child, encode_line("end", run.id))

    def _write(self, run: _Run, child: ChildProcess, line: bytes) -> None:
        """Send a line, as the child takes it; one that takes nothing for too long is given up."""
        rest = memoryview(line)
        while rest := rest[child.write(rest) :]:
            patience = self._patience_with(child)
            if run.unwanted and child.ready:
                patience = self._grace
            if patience is not None and time.monotonic() >= child.last_sign + patience:
                raise JobTimeoutError(self._job, patience)
            child.wait_for_room(_LOOKS_SECONDS)

    def _watch(self, run: _Run) -> None:
        """Wait until the run is over, by itself or by force."""
        child = self._child
        assert child is not None
        give_up_at: float | None = None
        has_told = False
        with self._changed:
            while not run.over and not self._closed and not child.has_ended:
                now = time.monotonic()
                if run.unwanted and give_up_at is None:
                    give_up_at = now + self._grace
                    self._tell(child, "cancel", run)
                if run.enough and not has_told:
                    has_told = self._tell(child, "enough", run)
                patience = self._patience_with(child)
                deadline = give_up_at
                if deadline is None and patience is not None:
                    deadline = child.last_sign + patience
                if deadline is not None and now >= deadline:
                    break
                self._changed.wait(None if deadline is None else deadline - now)
            if run.over or self._closed:
                return
            died = child.has_ended
        end = self._bury()
        if not died:
            end = JobTimeoutError(self._job, self._patience_with(child) or 0.0)
        self._fail(run, end or JobError(f"the {self._job} job is gone"))

    def _patience_with(self, child: ChildProcess) -> float | None:
        return self._patience if child.ready else START_SECONDS

    def _tell(self, child: ChildProcess, wish: str, run: _Run) -> bool:
        """Tell the child what is wished, if it has room for it: nothing is waited for in a lock."""
        try:
            return child.write(encode_line(wish, run.id)) > 0
        except JobError:
            # Gone already; the reader will note it.
            return False

    def _bury(self) -> JobError | None:
        """End the child for good and tell how it died; None if there was none."""
        with self._changed:
            child, self._child = self._child, None
        return None if child is None else child.reap()

    def _fail(self, run: _Run, error: TokvizError) -> None:
        with self._changed:
            wanted = not run.over and not run.unwanted and not self._closed
            run.over = True
        if wanted:
            run.handlers.on_error(run.id, error)

    # In the child's reading thread.

    def _hear(self, child: ChildProcess, message: Message) -> None:
        with self._changed:
            run = self._active
            if run is None or run.over or message.get("run") != run.id:
                self._changed.notify_all()
                return
            wanted = not run.unwanted and not self._closed
        if wanted:
            self._deliver(run, message)
        with self._changed:
            if message["type"] in ("done", "cancelled", "error"):
                run.over = True
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

    def _note_end(self, child: ChildProcess) -> None:
        with self._changed:
            child.has_ended = True
            self._changed.notify_all()
