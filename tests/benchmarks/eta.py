"""The time that a training says is left: `tokviz train --json`, whole jobs, as they went.

Shown is by how much the whole time that each report implies (the time so far and the time left)
misses the true one, at its worst from a third of the job on, and the longest silence.
"""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

from _corpus import write_corpus
from _report import Report, Target, arguments
from _terminal import PROJECT, environment, temporary_folder, tokviz_command
from _texts import mixed_text, parse_size

COLUMNS = ("text", "pattern", "tokens", "seconds", "worst %", "longest silence s")
CUSTOM = r" ?\p{L}+| ?\p{N}{1,4}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def play(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Give the seconds of a job, the worst error of what was left, and the longest silence."""
    done = subprocess.run(
        command, cwd=PROJECT, env=environment(folder), capture_output=True, text=True, check=True
    )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    said = [(one["seconds"], one["eta_seconds"]) for one in reports if "eta_seconds" in one]
    # The last report is the beginning of saving.
    whole = max(seconds for seconds, _ in said) + reports[-1]["seconds_by_phase"]["saving"]
    late = [
        seconds + left - whole for seconds, left in said if seconds > whole / 3 and left is not None
    ]
    silence = max((b - a for (a, _), (b, _) in pairwise(said)), default=0.0)
    return whole, max(map(abs, late), default=0.0) / whole, silence


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="100M")
    parser.add_argument("--vocabs", default="1000,32000")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rows: list[list[str | float]] = []
    targets: list[Target] = []
    with temporary_folder() as folder:
        texts = {name: folder / f"{name}.txt" for name in ("mixed", "sources")}
        size = parse_size(options.size)
        texts["mixed"].write_text(mixed_text(size), encoding="utf-8", newline="")
        write_corpus(texts["sources"], size)
        for name, path in texts.items():
            for label, pattern in {"gpt4": "gpt4", "custom": CUSTOM}.items():
                for vocab in options.vocabs.split(","):
                    train = ("train", str(path), "-o", str(folder / "run"), "--pattern", pattern)
                    command = tokviz_command(*train, "--vocab-size", vocab, "--force", "--json")
                    costs = min(play(command, folder) for _ in range(options.runs))
                    rows.append([name, label, vocab, costs[0], 100 * costs[1], costs[2]])
                    what = f"{name}, {label}, {vocab} tokens"
                    targets.append(Target(f"{what}: worst", 100 * costs[1], "≤", 30, "%"))
                    targets.append(Target(f"{what}: silence", costs[2], "≤", 1, "s"))
    Report("eta", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
