from __future__ import annotations

import sys

import pytest

from tokviz.child.memory import memory_bytes, peak_memory_bytes

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux
def test_memory_grows_with_what_is_used_and_the_peak_stays():
    before = memory_bytes()
    block = bytearray(b"x") * 50_000_000
    during = memory_bytes()
    del block
    peak = peak_memory_bytes()
    assert before is not None and during is not None and peak is not None
    assert during - before > 40_000_000
    assert peak - before > 40_000_000
