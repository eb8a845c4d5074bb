"""The search finds faults that a normal run does not; a normal run is repeatable."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.profiles import PLAIN, USUAL

SEARCH = Path(__file__).with_name("search.py")
ROOT = Path(__file__).parents[2]
RARE = """
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

@examples(50)
@given(st.integers(0, 999))
def test_rare(number):
    assert number != 617

def test_no_property():
    raise AssertionError("this is not run")
"""


@pytest.mark.parametrize(("examples", "code"), [(2, 0), (20_000, 1)])
def test_enough_examples_find_a_rare_fault(tmp_path: Path, examples: int, code: int) -> None:
    rare = tmp_path / "test_rare.py"
    rare.write_text(RARE)
    command = [sys.executable, SEARCH, str(examples), "--seed=1", "--workers=0", rare]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("number=617" in done.stdout) == (code == 1)
    assert "this is not run" not in done.stdout


def test_a_plain_run_tries_the_same_examples_every_time(tmp_path: Path) -> None:
    twice = [tmp_path / "test_first.py", tmp_path / "test_second.py"]
    for path in twice:
        path.write_text(RARE.replace("assert number != 617", "print('tried', number)"))
    command = [sys.executable, "-m", "pytest", "-s", "-m", "hypothesis", "-p", "tests.profiles"]
    run = subprocess.run([*command, *twice], capture_output=True, text=True, cwd=ROOT).stdout
    tried = re.findall(r"tried \d+", run)
    assert len(tried) == 2 * (50 * PLAIN // USUAL)
    assert tried[: len(tried) // 2] == tried[len(tried) // 2 :]
