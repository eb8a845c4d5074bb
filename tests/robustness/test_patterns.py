"""The program for exponential regexes works; its times are not checked here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("patterns.py")


def test_patterns_end_wherever_they_come_from() -> None:
    command = [sys.executable, str(PROGRAM), "1", "--seed", "2", "--patient"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    for place in ("search", "Splits", "file"):
        assert re.search(rf"^{place}: 1 ended", done.stdout, re.MULTILINE)
