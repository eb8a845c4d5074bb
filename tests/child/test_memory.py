from __future__ import annotations

import json
import subprocess
import sys

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# A process of its own: one that has run many tests may have the memory already.
PROGRAM = """
from tokviz.child.memory import memory_bytes, peak_memory_bytes
before = memory_bytes()
block = bytearray(b"x") * 50_000_000
during = memory_bytes()
del block
print([before, during, memory_bytes(), peak_memory_bytes()])
"""


@linux
def test_memory_grows_with_what_is_used_and_the_peak_stays():
    printed = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    before, during, after, peak = json.loads(printed.stdout)
    assert during - before > 40_000_000
    assert during - after > 40_000_000
    assert peak - before > 40_000_000
