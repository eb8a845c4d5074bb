"""Jobs in forks behave like jobs in separate processes for their parent."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from functools import partial
from typing import Any

import pytest

from tests.forks import Forks, Job
from tokviz.process.child import package_environment
from tokviz.process.limits import Limits

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs forks")

LIMITS = Limits(memory_mb=3000)


def life(begin: Any, is_killed: bool) -> tuple[bytes, int, bool]:
    """Return the first output of a job, its exit code, and whether its memory is limited."""
    command = [sys.executable, "-P", "-m", "tokviz.process.jobs", "split", json.dumps(LIMITS)]
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with tempfile.TemporaryFile() as stderr:
        job = begin(
            command, **pipes, stderr=stderr, env=package_environment(), start_new_session=True
        )
        with job.stdin, job.stdout:
            said, is_limited = job.stdout.readline(), True
            if sys.platform == "linux":
                limit, _ = resource.prlimit(job.pid, resource.RLIMIT_AS)
                is_limited = 3000 << 20 <= limit < 2 * 3000 << 20
            if is_killed:
                job.kill()
        return said, job.wait(), is_limited


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_job_in_a_fork_begins_and_ends_as_in_a_process_of_its_own(
    forks: Forks, is_killed: bool
) -> None:
    lives = [life(begin, is_killed) for begin in (subprocess.Popen, partial(Job, forks))]
    assert lives[0] == lives[1]
    assert b"ready" in lives[0][0]
    assert lives[0][1:] == (-9 if is_killed else 0, True)


def test_what_a_job_in_a_fork_prints_is_its_last_words(forks: Forks) -> None:
    with tempfile.TemporaryFile() as stderr:
        command = ["tokviz.process.jobs", "no such job", json.dumps(LIMITS)]
        job = Job(forks, command, stderr=stderr, env=package_environment())
        with job.stdin, job.stdout:
            assert (job.stdout.read(), job.wait()) == (b"", 1)
        stderr.seek(0)
        assert b"no job is named 'no such job'" in stderr.read()
