"""One run with a worker that is killed; more are `python tests/robustness/workers.py 20`."""

from __future__ import annotations

import sys

import pytest

from tests.robustness import workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_worker_that_is_killed_changes_nothing_and_none_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert workers.main(["1", "--words", "20000"]) == 0
    assert "1 workers killed and replaced: 1 results the same, 0" in capsys.readouterr().out
