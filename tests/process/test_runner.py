from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import pytest

from tests.process.jobs.conftest import EXPLODING, WAIT, Splitter
from tokviz.errors import JobError, PatternError
from tokviz.process.child import JobTimeoutError
from tokviz.process.limits import HAS_CPU_LIMITS, Limits
from tokviz.process.protocol import Body, Message, encode_line, unpack_numbers
from tokviz.process.runner import JobClient, JobDroppedError, RunHandlers, stopped_by
from tokviz.tokenizer.pretokenize.split_steps import Split

HANGS = "a" * 100 + "b"


def _gone(pid: int) -> bool:
    """Wait until a process is gone or a zombie; False after `WAIT` seconds."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_close_ends_a_child_that_hangs(make_splitter: Callable[..., Splitter]) -> None:
    splitter = make_splitter(seconds=60)
    splitter.pre_tokens("a", "a")
    pid = splitter.client.pid
    assert pid is not None
    splitter.start_and_hang()
    splitter.client.close()
    assert _gone(pid)


@linux
def test_cancel_kills_a_child_that_does_not_stop(
    make_splitter: Callable[..., Splitter],
) -> None:
    splitter = make_splitter(seconds=60)
    splitter.pre_tokens("a", "a")
    pid = splitter.client.pid
    assert pid is not None
    splitter.start_and_hang()
    splitter.client.cancel()
    assert _gone(pid)
    assert splitter.pre_tokens("b", "b") == ["b"]


def test_cancel_lets_a_child_live_that_stops_when_asked(
    make_splitter: Callable[..., Splitter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokviz.process.runner.GRACE_SECONDS", WAIT)
    splitter = make_splitter()
    splitter.pre_tokens("a", "a")
    pid = splitter.client.pid
    run = splitter.start(r"\w", "word " * 400_000)
    first_run, first_part = splitter.events.get(timeout=WAIT)
    assert first_run == run and isinstance(first_part, Split)
    splitter.client.cancel()
    while not splitter.events.empty():
        splitter.events.get()
    assert splitter.pre_tokens("b", "b") == ["b"]
    assert splitter.client.pid == pid


def test_a_crash_is_told_with_the_signals_name(make_splitter: Callable[..., Splitter]) -> None:
    splitter = make_splitter(seconds=60)
    splitter.pre_tokens("a", "a")
    run = splitter.start_and_hang()
    assert splitter.client.pid is not None
    os.kill(splitter.client.pid, signal.SIGSEGV)
    with pytest.raises(JobError, match=r"SIGSEGV: Fatal Python error"):
        splitter.result_of(run)
    assert splitter.pre_tokens("b", "b") == ["b"]


@linux
def test_a_child_that_died_between_runs_is_replaced(splitter: Splitter) -> None:
    splitter.pre_tokens("a", "a")
    pid = splitter.client.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert _gone(pid)
    try:
        pre_tokens = splitter.pre_tokens("b", "b")
    except JobError:
        # The run was sent before the death was noticed.
        pre_tokens = splitter.pre_tokens("b", "b")
    assert pre_tokens == ["b"]


def test_ctrl_c_is_not_for_the_child(splitter: Splitter) -> None:
    splitter.pre_tokens("a", "a")
    pid = splitter.client.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert splitter.pre_tokens("a", "aa") == ["a", "a"]
    assert splitter.client.pid == pid


def test_a_run_that_burns_its_processor_time_is_ended(
    make_splitter: Callable[..., Splitter],
) -> None:
    splitter = make_splitter(limits=Limits(cpu_seconds=1), seconds=60)
    with pytest.raises(JobError, match="processor time"):
        splitter.pre_tokens(EXPLODING, HANGS)


@linux
def test_no_child_survives_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = f"""
        import sys, threading
        from tokviz.process.jobs.split_client import SplitClient
        from tokviz.text.snapshots import TextPart
        started = threading.Event()
        client = SplitClient(lambda *_: None, lambda *_: started.set(), print, seconds=60)
        client.split("a", [TextPart("a")])
        started.wait({WAIT})
        client.split({EXPLODING!r}, [TextPart({HANGS!r})])
        print(client.pid, flush=True)
        threading.Event().wait()
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    assert _gone(pid)


def test_a_job_that_does_not_exist_is_a_readable_error() -> None:
    client = JobClient("nonsense")
    with pytest.raises(JobError, match="nonsense"):
        client.call(lambda memory: [{"do": "nothing"}])
    client.close()


def test_a_call_waits_for_all_answers_and_raises_what_the_job_raises() -> None:
    client = JobClient("split")
    answers: list[Message] = []
    text: list[Body] = [
        {"do": "text", "text": "ab" * 9},
        {"do": "replace", "start": 0, "removed": 0},
    ]
    split: Body = {"do": "split", "seconds": WAIT, "most": 1}
    client.call(lambda memory: [*text, {**split, "regex": "a|b"}], answers.append)
    assert sum(len(unpack_numbers(answer["ends"])) for answer in answers) == 18
    with pytest.raises(PatternError, match="missing"):
        client.call(lambda memory: [{**split, "regex": "("}])
    client.close()


@pytest.mark.parametrize("give_up", [JobClient.cancel, JobClient.close])
def test_a_call_that_is_given_up_waits_no_longer(give_up: Callable[[JobClient], None]) -> None:
    client = JobClient("split", patience=None)
    begun = Event()

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield {"do": "text", "text": HANGS}
        yield {"do": "replace", "start": 0, "removed": 0}
        yield {"do": "split", "regex": EXPLODING, "seconds": WAIT, "most": 1}
        begun.set()

    with ThreadPoolExecutor() as pool:
        call = pool.submit(client.call, requests)
        assert begun.wait(WAIT)
        give_up(client)
        with pytest.raises(JobDroppedError):
            call.result(WAIT)
    client.close()


def test_a_call_that_nobody_wants_any_more_waits_no_longer() -> None:
    client = JobClient("split", patience=None)
    begun = Event()

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield {"do": "text", "text": HANGS}
        yield {"do": "replace", "start": 0, "removed": 0}
        yield {"do": "split", "regex": EXPLODING, "seconds": 60}
        begun.set()

    with stopped_by(begun.is_set), pytest.raises(JobDroppedError):
        client.call(requests)
    client.close()


def test_a_call_whose_child_cannot_start_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the folder for temporary files is missing, or no file can be opened."""
    client = JobClient("split")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert "cannot be started" in _error_of_a_call(client, [{"do": "check"}])
    client.close()


def test_a_call_whose_requests_cannot_be_made_ends_and_the_next_is_answered(
    splitter: Splitter,
) -> None:
    splitter.pre_tokens("a", "a")
    assert "the requests for the" in _error_of_a_call(splitter.client, [{"do": object()}])
    assert splitter.pre_tokens("b", "b") == ["b"]


@linux
def test_a_child_that_reads_nothing_of_a_long_request_is_given_up() -> None:
    client = _client_of_a_stopped_child(patience=0.5)
    long: list[Body] = [{"do": "text", "text": "a" * 1_000_000}]
    assert "gave no answer for 0.5 s" in _error_of_a_call(client, long)
    client.call(lambda memory: [])
    client.close()


@linux
@pytest.mark.parametrize("n_bytes", [1_000_000, 1 << 16])
def test_a_run_whose_child_reads_nothing_can_be_given_up_for_the_next(n_bytes: int) -> None:
    """Even if the requests fill the pipe, so that a request to stop does not fit."""
    client = _client_of_a_stopped_child(patience=None)
    asked: Body = {"do": "text", "text": ""}
    n_around = len(encode_line("request", 2, body=asked) + encode_line("end", 2))
    begun = Event()

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        begun.set()
        yield {**asked, "text": "a" * (n_bytes - n_around)}

    client.run(requests, RunHandlers())
    assert begun.wait(WAIT)
    client.cancel()
    ended = Event()

    def call() -> None:
        client.call(lambda memory: [])
        ended.set()

    Thread(target=call, daemon=True).start()
    assert ended.wait(WAIT)
    client.close()


def _client_of_a_stopped_child(patience: float | None) -> JobClient:
    client = JobClient("split", patience=patience)
    client.call(lambda memory: [])
    assert client.pid is not None
    os.kill(client.pid, signal.SIGSTOP)
    return client


def _error_of_a_call(client: JobClient, requests: list[Body]) -> str:
    ends: SimpleQueue[JobError] = SimpleQueue()

    def call() -> None:
        with pytest.raises(JobError) as error:
            client.call(lambda memory: requests)
        ends.put(error.value)

    # A call that waits forever must not keep the tests from ending.
    Thread(target=call, daemon=True).start()
    return str(ends.get(timeout=WAIT))


def test_a_closed_client_takes_no_more_runs(splitter: Splitter) -> None:
    splitter.client.close()
    splitter.client.close()
    with pytest.raises(JobError, match="closed"):
        splitter.start("a", "a")


@pytest.mark.skipif(not HAS_CPU_LIMITS, reason="such a system does not count processor time")
def test_silence_is_measured_in_the_processor_time_of_the_child() -> None:
    client = JobClient("chat_template", limits=Limits(silent_seconds=0.1), patience=WAIT)
    loops = "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3

    def requests(memory: dict[str, Any]) -> Iterator[Body]:
        yield {"do": "template", "source": loops}
        yield {"do": "render", "messages": [], "variables": {}, "control_tokens": None}

    with pytest.raises(JobTimeoutError):
        client.call(requests)
    client.close()
