from __future__ import annotations

import json
import platform
import subprocess
import sys

import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="these heaps are glibc's")

# A new process, because one that has run many tests may already have the memory.
PROGRAM = """
from tokviz.process.memory import memory_bytes, peak_memory_bytes
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


_HOLES = """
from tokviz.process.memory import give_back, memory_bytes
blocks = [bytes(5_000) for _ in range(20_000)]
last = blocks.pop()
del blocks
freed = memory_bytes()
give_back()
print(freed - memory_bytes())
"""


@glibc
def test_what_was_freed_below_something_in_use_can_be_given_back() -> None:
    printed = subprocess.run([sys.executable, "-c", _HOLES], capture_output=True, check=True)
    assert int(printed.stdout) > 80_000_000


_HEAPS = """
import ctypes, sys, threading
from tokviz.process.memory import share_one_heap

if sys.argv[1] == "one":
    share_one_heap()
together, kept = threading.Barrier(8), []

def work():
    together.wait()
    kept.append([bytes(5_000) for _ in range(100)])
    together.wait()

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, file)
libc.fflush(file)
"""


@glibc
def test_threads_share_one_heap() -> None:
    def n_heaps(how: str) -> int:
        command = [sys.executable, "-c", _HEAPS, how]
        return subprocess.run(command, capture_output=True, text=True).stdout.count("<heap nr=")

    assert n_heaps("one") == 1 < n_heaps("many")


_LARGE = """
import sys
from tokviz.process.memory import memory_bytes, share_one_heap

if sys.argv[1] == "one":
    share_one_heap()
first = bytearray(b"x") * 20_000_000
del first  # from now on glibc takes as much from the heap
large, small = [], []
for _ in range(40):
    large.append(bytearray(b"x") * 2_000_000)
    small.append(bytes(5_000))
used = memory_bytes()
large.clear()
print(used - memory_bytes())
"""


@glibc
@pytest.mark.parametrize(("heap", "goes"), [("one", True), ("as it is", False)])
def test_large_blocks_leave_no_holes(heap: str, goes: bool) -> None:
    printed = subprocess.run([sys.executable, "-c", _LARGE, heap], capture_output=True, check=True)
    assert (int(printed.stdout) > 70_000_000) == goes
