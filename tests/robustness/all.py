"""Run every program of this folder for a long time, one after another.

    python tests/robustness/all.py 30
    python tests/robustness/all.py 5 lossless.py leaks.py
    python tests/robustness/all.py short

Each program runs for this number of minutes: it is repeated, with another seed, until the time is
over. Its docstring contains its command line; a run here is a tenth of that, with `short` a
hundredth, and only one run. All output stays on the screen. The last lines are a table with the
figures of each program's last run, their limits, and the number of runs that found a fault. The
exit code is 1 if there was one. README.md lists the duration of complete runs.
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
NO_BENCHES = {"all.py", "inside.py", "newest_textual.py", "real_files.py"}
_COMMAND = re.compile(r"^ +python tests/robustness/(\w+\.py)([^#\n]*)", re.MULTILINE)
_FIGURE = re.compile(r"(.+?)(?:; must be| \(target) (.+?)\)?")
"""The format in which programs print a figure and its limit."""


def benches(part: int = 10) -> dict[str, list[str]]:
    """Return every program, with arguments for this share of the run in its docstring."""
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
    """Run the programs, and return 1 if one of them found a fault."""
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
    results, n_found = list[tuple[str, str, str]](), 0
    for name in asked.benches or known:
        began, n_runs, n_failed = time.monotonic(), 0, 0
        figures: list[tuple[str, str]] = []
        while time.monotonic() - began < seconds or (is_short and not n_runs):
            print(f"\n== {name}, run {n_runs + 1}", flush=True)
            code, figures = run([sys.executable, "-u", str(HERE / name), *known[name]])
            n_runs, n_failed = n_runs + 1, n_failed + bool(code)
        minutes = (time.monotonic() - began) / 60
        results += [(name, figure, limit) for figure, limit in figures]
        n_found += n_failed
        told = f"{n_failed} of {n_runs} runs found something, {minutes:.1f} minutes"
        results.append((name, told, "0"))
    print()
    for name, figure, limit in (("bench", "figure", "must be"), *results):
        print(f"{name:<18}  {figure:<70}  {limit}")
    return int(n_found > 0)


def run(command: list[str]) -> tuple[int, list[tuple[str, str]]]:
    """Run a program, show its output, and return its exit code and each figure with its limit."""
    figures = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as bench:
        for line in bench.stdout or ():
            print(line, end="", flush=True)
            if found := _FIGURE.fullmatch(line.strip()):
                figures.append((found[1], found[2]))
    return bench.returncode, figures


if __name__ == "__main__":
    sys.exit(main())
