"""A few cases; the long run is `python tests/robustness/hostile_input.py --rounds 10`."""

from __future__ import annotations

import random
import sys

import pytest

from tests.robustness import hostile_input
from tests.robustness.hostile_input import Case
from tests.robustness.monkey import apart

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="looks at processes as Linux shows them"
)
IN_CI = ("sequences", "X10 reports", "TERM='dumb'")


@pytest.mark.parametrize("name", IN_CI)
def test_hostile_input_neither_kills_the_app_nor_keeps_it_from_ending(name: str) -> None:
    case = dict(hostile_input.cases(random.Random("ci")))[name]
    with apart():
        faults, _ = hostile_input.faults_of(case)
    assert faults == []


def test_an_app_that_ends_by_itself_is_a_fault() -> None:
    with apart():
        faults, _ = hostile_input.faults_of(Case((hostile_input.CTRL_Q,)))
    assert ["ended by itself" in fault for fault in faults] == [True]
