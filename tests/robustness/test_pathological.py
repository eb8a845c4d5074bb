"""The program for long runs works and reports; its figures are not checked here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("pathological.py")


def test_it_tells_the_cost_of_a_run_of_a_key_in_it_and_of_a_paste() -> None:
    options = ["--kinds", "spaces", "--sizes", "1K,10K", "--keys", "2", "--paste", "5K", "--json"]
    done = subprocess.run(
        [sys.executable, PROGRAM, *options], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert [row["text"] for row in report["rows"][:2]] == ["spaces", "spaces"]
    named = {target["name"] for target in report["targets"]}
    assert {"spaces: slope of open", "spaces: key in the longest", "paste of newlines"} <= named
