"""A few cancels of every kind; the long run is `python tests/robustness/cancel.py 200`."""

from __future__ import annotations

import random
import sys

import pytest

from tests.robustness import cancel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize("kind", cancel.KINDS)
def test_what_is_cancelled_ends_and_leaves_no_process(kind: str) -> None:
    # The time is not checked, because it means nothing on a busy machine.
    seconds, left = cancel.times(kind, 2, random.Random(1))
    assert len(seconds) == 2
    assert left == []
