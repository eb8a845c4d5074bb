"""The script that runs every program finds all of them and their arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.robustness import all as bench

ALL = Path(__file__).with_name("all.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ALL), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_program_that_says_how_it_is_run_is_a_bench() -> None:
    done = run("0")
    assert (done.returncode, done.stderr) == (0, "")
    head, *found = [line.split()[0] for line in done.stdout.splitlines() if line]
    assert head == "bench"
    assert found == sorted(found)
    assert {"hostile_input.py", "leaks.py", "lossless.py", "monkey.py", "search.py"} <= {*found}
    assert "0 of 0 runs found something" in done.stdout


def test_figures_are_told_beside_their_limits(capfd: pytest.CaptureFixture[str]) -> None:
    told = ["seed 7", "a key: 12 ms (target ≤ 16)", "0 faults; must be 0"]
    code, figures = bench.run([sys.executable, "-c", f"print(*{told!r}, sep='\\n'); exit(1)"])
    assert (code, figures) == (1, [("a key: 12 ms", "≤ 16"), ("0 faults", "0")])
    assert capfd.readouterr().out.splitlines() == told


def test_every_bench_says_how_long_it_takes() -> None:
    readme = ALL.with_name("README.md").read_text("utf-8")
    assert [name for name in bench.benches() if f"`{name}" not in readme] == []


def test_minutes_that_are_no_number_are_refused() -> None:
    assert run("soon").returncode == 2


def test_a_bench_that_there_is_not_is_refused() -> None:
    assert run("1", "payloads.py").returncode == 2
