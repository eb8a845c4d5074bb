"""Where machine code is kept, and that it is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KERNELS = """
from tokviz.compiled import helper, is_compiled, kernel

@helper
def _square(x):
    return x * x

@kernel
def sum_of_squares(n):
    total = 0
    for i in range(n):
        total += _square(i)
    return total

if __name__ == "__main__":
    print(is_compiled(sum_of_squares), sum_of_squares(4), is_compiled(sum_of_squares))
"""


def run_kernels(script: Path, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, script],
        env={**clean, "PYTHONPATH": str(Path(__file__).parent.parent), **environment},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout.strip()


def test_machine_code_is_kept_in_the_users_cache_folder_and_found_again(tmp_path):
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    cache = tmp_path / "cache"
    assert run_kernels(script, XDG_CACHE_HOME=str(cache)) == "False 14 True"
    assert list(cache.glob("tokviz/kernels-*/*/*.nbc"))
    assert not (tmp_path / "__pycache__").exists()
    assert run_kernels(script, XDG_CACHE_HOME=str(cache)) == "True 14 True"


def test_a_folder_that_the_user_chose_is_respected(tmp_path):
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    assert run_kernels(script, NUMBA_CACHE_DIR=str(tmp_path / "mine")) == "False 14 True"
    assert list((tmp_path / "mine").glob("*/*.nbc"))
