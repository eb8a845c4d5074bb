"""The script that runs every bench knows all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ALL = Path(__file__).with_name("all.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ALL), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_program_of_the_folder_is_run_or_is_no_bench() -> None:
    known: dict[str, object] = {}
    exec(ALL.read_text(), known | {"__name__": "all", "__file__": str(ALL)}, known)
    programs = {path.name for path in ALL.parent.glob("[!_]*.py")}
    benches = {name for name in programs if not name.startswith("test_")}
    assert benches == {*known["BENCHES"], *known["NO_BENCHES"]}  # type: ignore[misc]


def test_the_figures_of_a_bench_end_the_output() -> None:
    done = run("0", "lossless.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[:6] == ["lossless.py", "0", "of", "0", "runs", "found"]


def test_a_bench_that_there_is_not_is_refused() -> None:
    assert run("1", "nothing.py").returncode == 2
