"""Look for new faults: run the property tests with many random examples.

    python tests/robustness/search.py 10000
    python tests/robustness/search.py 1000000 --seed 7 tests/tui/test_editor_breaks.py

A test with 100 examples in the suite gets this number; the others get proportionally more. A fault
is printed as the smallest example; add it to the suite as a test when it is fixed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run the search and return pytest's exit code, which is 0 if there is no fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("examples", type=int, help="of a test that has 100 in the suite")
    parser.add_argument("--seed", type=int, help="the same one finds the same (random)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (all cores)")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or folders (all tests)")
    asked = parser.parse_intermixed_args(arguments)
    seed = random.randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    os.environ["TOKVIZ_EXAMPLES"] = str(asked.examples)
    options = ["-m", "hypothesis", "-q", "--timeout=0", f"--hypothesis-seed={seed}"]
    options += [f"-n{asked.workers}", "--dist=worksteal", "-p", "tests.profiles"]
    code = int(pytest.main([f"--rootdir={ROOT}", f"--config-file={ROOT / 'pyproject.toml'}",
                            *options, *asked.tests]))  # fmt: skip
    print(f"{asked.examples:,} examples a test: {'faults' if code else 'no fault'}; must be none")
    return code


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
