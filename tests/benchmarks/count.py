"""`tokviz count` on a small file: the wall time of the whole process.

In turn with a Python process that does the same with tiktoken alone (reads OpenAI's `.tiktoken`
file, builds the encoding, counts), and with one that does nothing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from _report import Report, Target, arguments, median, p95
from _terminal import PROJECT, environment, temporary_folder, tokviz_command
from _texts import mixed_text, parse_size

COLUMNS = ("program", "median ms", "p95 ms", "min ms")
TIKTOKEN = """
import base64, sys, tiktoken
text = open(sys.argv[1], encoding="utf-8", newline="").read()
ranks = {}
for line in open(sys.argv[2], "rb"):
    token, rank = line.split()
    ranks[base64.b64decode(token)] = int(rank)
pattern = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+"
    r"| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"
)
encoding = tiktoken.Encoding("c", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
print(len(encoding.encode(text)))
"""
WRITE_TIKTOKEN_FILE = """
import base64, sys, tokviz
tok = tokviz.load("cl100k_base")
with open(sys.argv[1], "wb") as file:
    for id, token in tok.vocab.items():
        if id not in tok.special_tokens.values():
            file.write(base64.b64encode(token) + b" %d\\n" % id)
"""


def run(command: Sequence[str], folder: Path) -> tuple[float, str]:
    """Return the wall time in seconds and the output of a process."""
    start = time.perf_counter()
    finished = subprocess.run(
        command, cwd=PROJECT, env=environment(folder), capture_output=True, text=True, check=True
    )
    return time.perf_counter() - start, finished.stdout


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="2K")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with temporary_folder() as folder:
        path = folder / "small.txt"
        path.write_text(mixed_text(parse_size(options.size)), encoding="utf-8", newline="")
        ranks = folder / "cl100k_base.tiktoken"
        run([sys.executable, "-c", WRITE_TIKTOKEN_FILE, str(ranks)], folder)
        commands = {
            "tokviz count": tokviz_command("count", str(path)),
            "tiktoken alone": [sys.executable, "-c", TIKTOKEN, str(path), str(ranks)],
            "empty Python": [sys.executable, "-c", "pass"],
        }
        outputs = {name: run(command, folder)[1] for name, command in commands.items()}
        if outputs["tiktoken alone"].strip() not in outputs["tokviz count"]:
            sys.exit(f"the counts differ: {outputs}")
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                times[name].append(run(command, folder)[0])
    rows: list[list[str | float]] = [
        [name, *(value * 1000 for value in (median(runs), p95(runs), min(runs)))]
        for name, runs in times.items()
    ]
    targets = [Target("tokviz count", median(times["tokviz count"]), "≤", 0.4, "s")]
    Report("count", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
