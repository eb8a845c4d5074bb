"""The child's side: read requests, run the job, write answers."""

from __future__ import annotations

import os
import sys
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO

from tokviz.process.limits import Limits, allow_cpu, allow_silence, settle_in
from tokviz.process.protocol import Message, decode_line, describe_error, encode_line
from tokviz.process.registry import ENOUGH, Job, load_job


def serve(name: str, limits: Limits) -> None:
    """Run a job's requests from stdin until stdin closes. Does not return."""
    requests, answers = _take_over_streams()
    settle_in(limits)
    child = _Child(load_job(name), limits, answers)
    threading.Thread(target=child.listen, args=(requests,), daemon=True).start()
    child.send("ready")
    while True:
        child.handle(child.inbox.get())


def _take_over_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the protocol.

    Output of the job and its libraries goes to stderr, and they cannot read the requests.
    """
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  the old object may have read ahead
    return requests, answers


class _Child:
    """One job with its state. `listen` runs in its own thread, everything else in the main one."""

    def __init__(self, job: Job, limits: Limits, answers: BinaryIO) -> None:
        self.inbox: SimpleQueue[Message] = SimpleQueue()
        self._job = job
        self._limits = limits
        self._answers = answers
        self._state: dict[str, Any] = {}
        self._cancelled_run = self._enough_run = -1
        self._over_run = -1

    def listen(self, requests: BinaryIO) -> None:
        """Queue requests and record cancellations; exit at once when the parent has ended."""
        try:
            for line in requests:
                message = decode_line(line)
                if message["type"] == "cancel":
                    self._cancelled_run = message["run"]
                elif message["type"] == "enough":
                    self._enough_run = message["run"]
                else:
                    self.inbox.put(message)
        except BaseException as error:
            # Without this thread, the child would never notice the end of its parent.
            print(describe_error(error)["error"]["text"], file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)

    def send(self, message_type: str, run: int | None = None, **fields: object) -> None:
        """Write one message to the parent; exit if it has ended."""
        try:
            self._answers.write(encode_line(message_type, run, **fields))
            self._answers.flush()
        except OSError:
            os._exit(0)

    def handle(self, message: Message) -> None:
        """Handle one message of the parent.

        Requests of a canceled run are started anyway, because the parent assumes that they have
        changed the job's state.
        """
        run = message["run"]
        if message["type"] == "end":
            if run != self._over_run:
                self.send("done", run)
            return
        allow_cpu(self._limits.cpu_seconds)
        self._restart_silence_limit()
        try:
            self._answer(run, message["body"])
        except BaseException as error:
            self._over_run = run
            self.send("error", run, **describe_error(error))

    def _restart_silence_limit(self) -> None:
        if self._limits.silent_seconds is not None:
            allow_silence(self._limits.silent_seconds)

    def _answer(self, run: int, body: Message) -> None:
        answers = self._job(body, self._state)
        for answer in answers:
            if self._cancelled_run == run:
                # The parent may kill this process once it hears of it, so clean up first.
                answers.close()
                if self._over_run != run:
                    self._over_run = run
                    self.send("cancelled", run)
                return
            self.send("answer", run, body=answer)
            self._restart_silence_limit()
            if self._enough_run == run:
                self._state[ENOUGH] = True
        self.send("handled", run)
