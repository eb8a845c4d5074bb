"""A case; the long run is `python tests/robustness/surroundings.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.robustness import surroundings

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks at processes as Linux shows them"
)


def test_the_app_outlives_its_working_folder() -> None:
    assert surroundings.faults_of("the working folder vanishes") == []


def test_an_app_that_ends_by_itself_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(home: Path, wrong: list[str]) -> None:
        with surroundings.running(home, wrong) as subject:
            subject.quit()

    monkeypatch.setitem(surroundings.CASES, "it ends", end)
    assert ["ended by itself" in fault for fault in surroundings.faults_of("it ends")] == [True]
