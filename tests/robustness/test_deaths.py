"""Some of the deaths; all of them are `python tests/robustness/deaths.py`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.robustness.deaths import DEATHS, STATES, Death, die

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize(
    ("death", "state"),
    [("SIGKILL", "training"), ("two errors", "dialog"), ("shell killed", "replay")],
)
def test_a_death_leaves_the_terminal_as_it_was_and_no_process(
    death: str, state: str, tmp_path: Path
) -> None:
    ways = {way.name: way for way in DEATHS}
    states = {one.name: one for one in STATES}
    assert die(ways[death], states[state], tmp_path) == []


def test_a_terminal_that_stays_raw_and_a_wrong_code_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.robustness.deaths.RESTORE_SECONDS", 0.0)

    def kill_all(subject: object) -> None:
        # All stop before the first one ends, because the last one would restore the terminal.
        for ending in (signal.SIGSTOP, signal.SIGKILL):
            for pid in subject.processes():  # type: ignore[attr-defined]
                os.kill(pid, ending)

    wrong = die(Death("all killed", kill_all, (0,)), STATES[0], tmp_path)
    assert wrong[0] == "exit code 137, not 0"
    assert wrong[1].startswith("the terminal is left with alternate screen")
