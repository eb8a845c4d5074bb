"""Text that is one long run: opening and counting it, a key in its middle, pasting it.

    python tests/robustness/pathological.py
    python tests/robustness/pathological.py --kinds spaces,newlines --sizes 10K,100K --keys 5
    python tests/robustness/pathological.py --splits --paste 0

Every size is ten times the previous one. The slope is the logarithm to base ten of the cost ratio:
1 for a linear cost. A key must cost the same anywhere. The longest gap of a paste is the longest
time between two frames after the first, while letters are typed, because an idle app draws nothing.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "benchmarks")]

from _report import Report, Target, arguments, median, p95  # noqa: E402
from _terminal import (  # noqa: E402
    PAGE_DOWN,
    PASTE_END,
    PASTE_START,
    on_terminal,
    temporary_folder,
    tokviz_command,
)
from _texts import mixed_text, parse_size  # noqa: E402

from tests.oracles.edits import RUNS  # noqa: E402
from tests.terminal import END_OF_FRAME, Terminal  # noqa: E402

TEXTS = {kind: char for kind, char in RUNS.items() if kind != "raw bytes"}
"""The characters of a run."""

PASTED = ("mixed", "letters", "spaces", "newlines", "CJK")
LAST_WORD = "the-pasted-text-ends-here"
PATIENCE = 300.0
KEYS, SPLITS = b"etaoin", b"\x1bs"
STEEPEST, SLOWEST_KEY, SLOWEST_PASTE, LONGEST_GAP = 1.1, 33.0, 1.0, 100.0
COLUMNS = (
    "text", "bytes", "count s", "open s", "key p50 ms", "key p95 ms", "paste s", "gap ms"
)  # fmt: skip


class Cost(NamedTuple):
    """The cost of one text of one length."""

    kind: str
    n_bytes: int
    count: float
    open: float
    keys: list[float]


def run_of(kind: str, n_bytes: int) -> str:
    """Return a text of one character."""
    return TEXTS[kind] * (n_bytes // len(TEXTS[kind].encode()))


def cost_of(kind: str, size: str, n_keys: int, folder: Path, splits: bool = False) -> Cost:
    """Count a text, open it, and type in its middle, optionally with the Splits panel."""
    path = folder / f"{kind}-{size}.txt"
    path.write_text(run_of(kind, parse_size(size)), encoding="utf-8", newline="")
    command = tokviz_command("count", str(path), "-t", "cl100k_base", "--json")
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    count = time.perf_counter() - start
    with on_terminal(tokviz_command(str(path)), folder) as terminal:
        opened = terminal.wait_counted(n_tokens_in(done.stdout), PATIENCE) - terminal.started
        terminal.wait_quiet(0.5)
        terminal.type(SPLITS * splits + PAGE_DOWN * 8)
        terminal.wait_quiet(0.5)
        terminal.key(b"x")
        keys = [terminal.key(bytes([KEYS[n % len(KEYS)]])).first * 1000 for n in range(n_keys)]
    return Cost(kind, parse_size(size), count, opened, keys)


def n_tokens_in(answer: str) -> int:
    """Read the number of tokens from the output of `tokviz count --json`."""
    return int(json.loads(answer)["n_tokens"])


def paste(kind: str, size: str, folder: Path) -> tuple[float, float]:
    """Paste a text into an empty document; return seconds until shown, and longest gap in ms."""
    text = mixed_text(parse_size(size)) if kind == "mixed" else run_of(kind, parse_size(size))
    text += "\n" + LAST_WORD  # in a separate row, because a wrapped word would never be found
    path = folder / "empty.txt"
    path.write_text("", encoding="utf-8")
    with on_terminal(tokviz_command(str(path)), folder) as terminal:
        terminal.wait_counted(0, PATIENCE)
        terminal.wait_quiet(0.5)
        before = len(terminal.output)
        start = time.perf_counter()
        terminal.type(PASTE_START + text.replace("\n", "\r").encode() + PASTE_END)
        shown = terminal.wait_until(lambda: terminal.shows(LAST_WORD), PATIENCE) - start
        gaps = [later - earlier for earlier, later in pairwise(frames(terminal, before, 3.0))]
    return shown, max(gaps, default=0.0) * 1000


def frames(terminal: Terminal, start: int, seconds: float) -> Iterator[float]:
    """Type a letter at each frame, and yield its end, for some time or until all is counted.

    Moving the cursor back and forth could leave nothing to draw.
    """
    deadline = time.perf_counter() + seconds
    terminal.type(b"x")
    while time.perf_counter() < deadline and "+ tokens" in terminal.screen().text():
        end = terminal.output.rfind(END_OF_FRAME, start)
        if end >= 0:
            start = end + 1
            yield terminal.last_arrival
            terminal.type(b"x")
        terminal.pump(0.05)


def targets_of(costs: list[Cost]) -> Iterator[Target]:
    """List the targets for the texts of a kind, in ascending order of their length."""
    for kind in dict.fromkeys(cost.kind for cost in costs):
        of_kind = [cost for cost in costs if cost.kind == kind]
        for smaller, larger in islice(pairwise(of_kind), max(len(of_kind) - 2, 0), None):
            decades = math.log10(larger.n_bytes / smaller.n_bytes)
            for name in ("count", "open"):
                growth = getattr(larger, name) / getattr(smaller, name)
                slope = math.log10(growth) / decades
                yield Target(f"{kind}: slope of {name}", slope, "≤", STEEPEST, "")
        key = median(of_kind[-1].keys)
        yield Target(f"{kind}: key in the longest", key, "≤", SLOWEST_KEY, "ms")


def main() -> int:
    """Measure and report; 1 if a target is missed."""
    parser = arguments(__doc__)
    parser.add_argument("--kinds", default=",".join(TEXTS))
    parser.add_argument("--sizes", default="10K,100K,1M,10M", help="ascending")
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--paste", default="10M", help="bytes of each paste, 0 for none")
    parser.add_argument("--splits", action="store_true", help="type beside the Splits panel")
    options = parser.parse_args()
    rows: list[list[str | float]] = []
    costs: list[Cost] = []
    targets: list[Target] = []
    with temporary_folder() as folder:
        for kind in filter(None, options.kinds.split(",")):
            for size in options.sizes.split(","):
                cost = cost_of(kind, size, options.keys, folder, options.splits)
                costs.append(cost)
                times = [cost.count, cost.open, median(cost.keys), p95(cost.keys)]
                rows.append([kind, size, *times, "", ""])
        targets += targets_of(costs)
        for kind in PASTED if parse_size(options.paste) else ():
            shown, gap = paste(kind, options.paste, folder)
            rows.append([kind, options.paste, "", "", "", "", shown, gap])
            targets.append(Target(f"paste of {kind}", shown, "≤", SLOWEST_PASTE, "s"))
            targets.append(Target(f"gap after a paste of {kind}", gap, "≤", LONGEST_GAP, "ms"))
    Report("pathological", COLUMNS, rows, targets).show(options.json)
    return int(not all(target.reached for target in targets))


if __name__ == "__main__":
    sys.exit(main())
