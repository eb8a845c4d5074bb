"""Run every bench of this folder for long, one after the other.

    python tests/robustness/all.py 30
    python tests/robustness/all.py 5 lossless.py leaks.py

Each gets so many minutes: it is begun again, with another seed, until they are over. What a bench
prints stays on the screen, and the last lines are what each of them found. The exit code is 1 if
one of them found something.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent

BENCHES: dict[str, tuple[str, ...]] = {
    "hostile_input.py": (),
    "leaks.py": ("--share", "0.1"),
    "lossless.py": ("100000",),
    "monkey.py": ("5000",),
    "search.py": ("1000",),
}
"""The programs, and the arguments of a run that takes minutes."""

NO_BENCHES = {"all.py", "newest_textual.py", "payloads.py"}


def main(arguments: list[str] | None = None) -> int:
    """Run the benches, and return 1 if one of them found something."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("minutes", type=float, help="for each bench")
    parser.add_argument("benches", nargs="*", help="only these (all)")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.benches) - set(BENCHES):
        parser.error(f"no bench is called {', '.join(sorted(unknown))}")
    results = []
    for name in asked.benches or BENCHES:
        began, n_runs, n_failed = time.monotonic(), 0, 0
        while time.monotonic() - began < asked.minutes * 60:
            print(f"\n== {name}, run {n_runs + 1}", flush=True)
            done = subprocess.run([sys.executable, HERE / name, *BENCHES[name]])
            n_runs, n_failed = n_runs + 1, n_failed + bool(done.returncode)
        results.append((name, n_runs, n_failed, (time.monotonic() - began) / 60))
    print()
    for name, n_runs, n_failed, minutes in results:
        print(f"{name:<18} {n_failed} of {n_runs} runs found something, {minutes:.1f} minutes")
    return int(any(n_failed for _, _, n_failed, _ in results))


if __name__ == "__main__":
    sys.exit(main())
