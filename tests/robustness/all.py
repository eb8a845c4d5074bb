"""Run every bench of this folder for long, one after the other.

    python tests/robustness/all.py 30
    python tests/robustness/all.py 5 lossless.py leaks.py
    python tests/robustness/all.py short

Each gets so many minutes: it is begun again, with another seed, until they are over. A bench is a
program whose docstring says how it is run; a run here does a tenth of that, one of `short` a
hundredth, and only once. What it prints stays on the screen, and the last lines are what each of
them found. The exit code is 1 if one of them found something.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
NO_BENCHES = {"all.py", "inside.py", "newest_textual.py"}
_COMMAND = re.compile(r"^ +python tests/robustness/(\w+\.py)([^#\n]*)", re.MULTILINE)


def benches(part: int = 10) -> dict[str, list[str]]:
    """Give every bench, and the arguments of a run that does this part of what its help says."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")), clean=False) or ""
        command = _COMMAND.search(docstring)
        if command and command[1] == path.name not in NO_BENCHES:
            words = command[2].split()
            found[path.name] = [
                str(max(1, int(word) // part)) if word.isdecimal() else word for word in words
            ]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the benches, and return 1 if one of them found something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("minutes", help="for each bench, or short")
    parser.add_argument("benches", nargs="*", help="only these (all)")
    asked = parser.parse_args(arguments)
    is_short = asked.minutes == "short"
    known = benches(100 if is_short else 10)
    if unknown := set(asked.benches) - set(known):
        parser.error(f"no bench is called {', '.join(sorted(unknown))}")
    try:
        seconds = 0.0 if is_short else 60 * float(asked.minutes)
    except ValueError:
        parser.error(f"{asked.minutes!r} is not a number of minutes")
    results = []
    for name in asked.benches or known:
        began, n_runs, n_failed = time.monotonic(), 0, 0
        while time.monotonic() - began < seconds or (is_short and not n_runs):
            print(f"\n== {name}, run {n_runs + 1}", flush=True)
            done = subprocess.run([sys.executable, HERE / name, *known[name]])
            n_runs, n_failed = n_runs + 1, n_failed + bool(done.returncode)
        results.append((name, n_runs, n_failed, (time.monotonic() - began) / 60))
    print()
    for name, n_runs, n_failed, minutes in results:
        print(f"{name:<18} {n_failed} of {n_runs} runs found something, {minutes:.1f} minutes")
    return int(any(n_failed for _, _, n_failed, _ in results))


if __name__ == "__main__":
    sys.exit(main())
