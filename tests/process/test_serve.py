"""The child's side of the protocol, over its pipes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from tests.process.jobs.conftest import WAIT
from tokviz.process.protocol import Message, decode_line, encode_line

NOISY = """
    import os, sys, types
    from tokviz.process.limits import Limits
    from tokviz.process.registry import JOBS

    def answer(request, state):
        print("noise")
        os.write(1, b"more noise")
        state["n"] = state.get("n", 0) + 1
        if request.get("fail"):
            raise KeyError("gone")
        yield {"n": state["n"], "stdin": sys.stdin.read()}
        yield {"n": "after"}

    sys.modules["noisy"] = types.SimpleNamespace(answer=answer)
    JOBS["noisy"] = "noisy:answer"
    from tokviz.process.serve import serve
    serve("noisy", Limits())
"""


@pytest.fixture
def noisy() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(NOISY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        yield child
        child.kill()


def _say(child: subprocess.Popen[bytes], *lines: bytes) -> None:
    assert child.stdin is not None
    child.stdin.writelines(lines)
    child.stdin.flush()


def _hear(child: subprocess.Popen[bytes], until: str) -> list[Message]:
    assert child.stdout is not None
    heard: list[Message] = []
    while not heard or heard[-1]["type"] != until:
        heard.append(decode_line(child.stdout.readline()))
    return heard


def test_a_run_from_ready_to_done(noisy: subprocess.Popen[bytes]) -> None:
    _say(noisy, encode_line("request", 7, body={}), encode_line("end", 7))
    heard = _hear(noisy, until="done")
    assert [message["type"] for message in heard] == [
        "ready",
        "answer",
        "answer",
        "handled",
        "done",
    ]
    assert {message.get("run") for message in heard[1:]} == {7}


def test_what_a_job_prints_or_reads_does_not_touch_the_protocol(
    noisy: subprocess.Popen[bytes],
) -> None:
    _say(noisy, encode_line("request", 1, body={}), encode_line("end", 1))
    assert _hear(noisy, until="done")[1]["body"] == {"n": 1, "stdin": ""}
    _, noise = noisy.communicate(timeout=WAIT)
    assert b"more noise" in noise


def test_a_cancelled_run_stops_between_answers_but_keeps_the_state_true(
    noisy: subprocess.Popen[bytes],
) -> None:
    _say(noisy, encode_line("cancel", 1), encode_line("request", 1, body={}))
    assert [message["type"] for message in _hear(noisy, until="cancelled")][1:] == ["cancelled"]
    _say(noisy, encode_line("end", 1), encode_line("request", 2, body={}))
    assert _hear(noisy, until="handled")[0]["body"]["n"] == 2


def test_an_unexpected_exception_is_told_and_marked(noisy: subprocess.Popen[bytes]) -> None:
    _say(noisy, encode_line("request", 1, body={"fail": True}), encode_line("end", 1))
    error = _hear(noisy, until="error")[-1]
    assert error["error"] == {"name": "KeyError", "text": "KeyError: 'gone'"}
    assert not error["expected"]


def test_the_child_leaves_when_its_stdin_closes(noisy: subprocess.Popen[bytes]) -> None:
    assert noisy.stdin is not None
    noisy.stdin.close()
    assert noisy.wait(timeout=WAIT) == 0


def test_garbage_on_stdin_ends_the_child_with_words(noisy: subprocess.Popen[bytes]) -> None:
    _say(noisy, b"what?\n")
    assert noisy.wait(timeout=WAIT) == 1
    assert noisy.stderr is not None
    assert b"what?" in noisy.stderr.read()
