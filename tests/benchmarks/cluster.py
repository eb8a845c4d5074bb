"""`tokviz train --workers` on 1, 2, 5, 10 and 20 GB of varied text, and what that says of more.

Shown are the seconds, the distinct pre-tokens, and the most memory of a worker and of the process
that merges; 1 GB is also trained without workers, in turn. A model of time and memory is fitted to
all sizes but the largest, which it then has to foretell; what it says of 100 GB and 1 TB on 16, 64
and 256 cores is printed as a table for the guide.

The text takes as much disk as the largest size and a tenth more, in --folder (default: the system's
folder for temporary files), and is removed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from _report import Report, Target, arguments
from _terminal import HERE, PROJECT, tokviz_command

COLUMNS = ("GB", "workers", "s", "reading s", "merging s", "pre-tokens", "worker MB", "merging MB")
_SECONDS_BETWEEN_LOOKS = 0.1


class Cost(NamedTuple):
    """What a training cost."""

    n_bytes: int
    n_workers: int
    seconds: float
    reading: float
    merging: float
    n_pre_tokens: int
    worker_mb: float
    merging_mb: float


def train(files: Sequence[Path], n_workers: int, vocab_size: int) -> Cost:
    """Train in a process of its own."""
    with tempfile.TemporaryDirectory(dir=files[0].parent) as folder:
        words = [*map(str, files), "-o", f"{folder}/run", "--vocab-size", str(vocab_size)]
        words += ["--workers", str(n_workers)] if n_workers else []
        begun = time.perf_counter()
        most = {"worker": 0, "merging": 0}
        with psutil.Popen(
            tokviz_command("train", *words, "--json"), cwd=PROJECT, stdout=subprocess.PIPE
        ) as process:
            os.set_blocking(process.stdout.fileno(), False)
            said = bytearray()
            while process.poll() is None:
                said += process.stdout.read() or b""
                _look(process, most)
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            seconds = time.perf_counter() - begun
            said += process.stdout.read() or b""
        if process.returncode:
            sys.exit(f"the training of {len(files)} files failed")
    done = json.loads(said.splitlines()[-1])
    phases = done["seconds_by_phase"]
    return Cost(
        done["n_bytes"],
        n_workers,
        seconds,
        phases["reading"],
        seconds - phases["reading"],
        done["n_pre_tokens"],
        most["worker"] / 1e6,
        max(most["merging"], done["peak_memory_bytes"]) / 1e6,
    )


def _look(process: psutil.Popen, most: dict[str, int]) -> None:
    try:
        most["merging"] = max(most["merging"], process.memory_info().rss)
        for child in process.children(recursive=True):
            most["worker"] = max(most["worker"], child.memory_info().rss)
    except psutil.NoSuchProcess:
        pass


class Model:
    """What a training takes, by its size and its workers.

    Reading takes a time of its own, and one for each byte that all cores share; merging and its
    memory grow with the distinct pre-tokens, and these as a power of the bytes.
    """

    def __init__(self, costs: Sequence[Cost]) -> None:
        """Fit it, with relative errors."""
        n = np.array([cost.n_bytes for cost in costs], float)
        pre_tokens = np.array([cost.n_pre_tokens for cost in costs], float)
        self.heaps = np.polyfit(np.log(n), np.log(pre_tokens), min(1, len(costs) - 1))
        cores = np.array([cost.n_workers for cost in costs], float)
        one = np.ones(len(n))
        self._reading = _fitted([one, n / cores], [cost.reading for cost in costs])
        self._merging = _fitted([one, pre_tokens], [cost.merging for cost in costs])
        self._memory = _fitted([one, pre_tokens], [cost.merging_mb for cost in costs])
        self.worker_mb = max(cost.worker_mb for cost in costs)

    def pre_tokens(self, n_bytes: float) -> float:
        """Foretell the distinct pre-tokens."""
        return float(np.exp(np.polyval(self.heaps, np.log(n_bytes))))

    def seconds(self, n_bytes: float, n_cores: int) -> float:
        """Foretell the time."""
        reading = self._reading @ [1, n_bytes / n_cores]
        return float(reading + self._merging @ [1, self.pre_tokens(n_bytes)])

    def merging_mb(self, n_bytes: float) -> float:
        """Foretell the memory of the process that merges."""
        return float(self._memory @ [1, self.pre_tokens(n_bytes)])


def _fitted(columns: Sequence[np.ndarray], wanted: Sequence[float]) -> np.ndarray:
    """Find factors that are not below zero and miss the least, relative to what is wanted."""
    goal = np.array(wanted)
    matrix = np.stack(columns, 1) / goal[:, None]
    factors = np.linalg.lstsq(matrix, np.ones(len(goal)), rcond=None)[0]
    if factors.min() >= 0:
        return factors
    kept = int(factors.argmax())
    column = matrix[:, kept]
    alone = np.zeros(len(columns))
    alone[kept] = column.sum() / (column @ column)
    return alone


def _error(foretold: float, found: float) -> float:
    return abs(foretold / found - 1)


def main() -> int:
    """Measure, fit and print."""
    parser = arguments(__doc__)
    parser.add_argument("--gigabytes", default="1,2,5,10,20", help="the sizes (%(default)s)")
    parser.add_argument("--file-bytes", type=int, default=1_000_000_000, help="of a “GB”")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--vocab", type=int, default=32_000)
    parser.add_argument("--turns", type=int, default=3, help="at the first size, with and without")
    parser.add_argument("--folder", help="where the text is written")
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.gigabytes.split(",")]
    rows: list[Cost] = []
    with tempfile.TemporaryDirectory(dir=asked.folder, prefix="tokviz-benchmark-") as name:
        folder = Path(name)
        program = (
            f"import sys; sys.path[:0] = [{str(HERE)!r}, {str(PROJECT)!r}]\n"
            "from pathlib import Path; from _varied import write_varied\n"
            "print(*write_varied(Path(sys.argv[1]), *map(int, sys.argv[2:])))"
        )
        words = [sys.executable, "-c", program, name, str(max(sizes)), str(asked.file_bytes)]
        made = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        files = sorted(folder.glob("*.txt"))
        turns = [
            [train(files[: sizes[0]], n, asked.vocab) for n in (0, asked.workers)]
            for _ in range(asked.turns)
        ]
        alone, first = (min(one, key=lambda cost: cost.seconds) for one in zip(*turns, strict=True))
        costs = [first]
        costs += [train(files[:size], asked.workers, asked.vocab) for size in sizes[1:]]
    rows = [alone, *costs]
    model, held_out = Model(costs[:-1] or costs), costs[-1]
    seconds = model.seconds(held_out.n_bytes, asked.workers)
    memory = model.merging_mb(held_out.n_bytes)
    targets = [
        Target("speed by that without workers", alone.seconds / first.seconds, "≥", 0.9, ""),
        Target("memory of a worker", max(cost.worker_mb for cost in costs), "≤", 2000, "MB"),
        Target(
            "error of the time at the largest", abs(seconds / held_out.seconds - 1), "≤", 0.2, ""
        ),
        Target("error of the memory there", abs(memory / held_out.merging_mb - 1), "≤", 0.2, ""),
    ]
    shown = [
        (f"{cost.n_bytes / 1e9:.3g}", *cost[1:-2], cost.worker_mb or "", cost.merging_mb)
        for cost in rows
    ]
    Report("cluster", COLUMNS, shown, targets).show(asked.json)
    if not asked.json:
        model = Model(costs)
        n_source, exponent = int(made[1]), float(made[0])
        print(f"\nβ of the source ({n_source:,} bytes) {exponent:.3f}, of all {model.heaps[0]:.3f}")
        print("\n| text | distinct pre-tokens | 16 cores | 64 cores | 256 cores | memory |")
        print("|---|---|---|---|---|---|")
        for label, n_bytes in (("100 GB", 1e11), ("1 TB", 1e12)):
            times = " | ".join(f"{model.seconds(n_bytes, n) / 60:.1f} min" for n in (16, 64, 256))
            pre_tokens = f"{model.pre_tokens(n_bytes) / 1e6:.0f} million"
            print(
                f"| {label} | {pre_tokens} | {times} | {model.merging_mb(n_bytes) / 1e3:.1f} GB |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
