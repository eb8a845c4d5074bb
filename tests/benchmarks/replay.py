"""The Replay: from the start of a process to the first state, jumps, steps, a text at any merge.

A run of many merges is trained on a large text first; then every source is opened in processes of
its own. A jump or a step is all that a frame needs: the merge, the candidates with their counts,
the pre-tokens that change. Then the app goes through all merges by keys and by the mouse on a
terminal of 200 columns and 60 rows, and trains once more with the advisor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

from _corpus import write_corpus
from _report import Report, Target, arguments, median, p95
from _terminal import PROJECT, RIGHT, environment, peer_command, temporary_folder, tokviz_command
from _texts import mixed_text, parse_size

from tests.terminal import END_OF_FRAME, Terminal

COLUMNS = ("source", "what", "median ms", "p95 ms", "max ms", "peak MB")
OPEN = "import sys; from tokviz.training.replay.replay import Replay; Replay.open(sys.argv[1])"
VOCABULARIES = ("gpt2", "cl100k_base", "o200k_base")
MOVES_PER_SECOND = 60


def run(command: list[str], variables: dict[str, str]) -> str:
    """Return what a process prints."""
    variables = variables | {"PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{command} failed: {done.stderr}")
    return done.stdout


def probe(source: str, n_steps: int, text: Path, variables: dict[str, str]) -> dict[str, Any]:
    """Return what one process measured."""
    command = peer_command("_replay_probe.py", source, str(n_steps), str(text))
    measured: dict[str, Any] = json.loads(run(command, variables))
    return measured


def scrub(source: str, folder: Path, how: str, seconds: float) -> float:
    """Count the frames in a second while keys or the mouse go through the merges."""
    columns, rows = 200, 60
    command = ("-m", "tokviz", "replay", source)
    with Terminal(*command, environment=environment(folder), size=(columns, rows)) as terminal:
        terminal.wait_quiet(1.5, 60)
        if how == "mouse":
            terminal.type(b"\x1b[<0;20;%dM" % (rows - 1))
        places, at = cycle(range(20, columns - 10)), len(terminal.output)
        began = due = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds:
            if now >= due:
                due += 1 / MOVES_PER_SECOND
                move = b"\x1b[<32;%d;%dM" % (next(places), rows - 1)
                os.write(terminal.master, move if how == "mouse" else RIGHT)
            terminal.pump(0.003)
        return terminal.output.count(END_OF_FRAME, at) / seconds


def seconds(command: list[str], variables: dict[str, str]) -> float:
    """Time a process."""
    began = time.perf_counter()
    run(command, variables)
    return time.perf_counter() - began


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="100M", help="the text of the training")
    parser.add_argument("--merges", type=int, default=32_000)
    parser.add_argument("--steps", type=int, default=150, help="jumps, and steps in each place")
    parser.add_argument("--vocabularies", nargs="*", choices=VOCABULARIES, default=VOCABULARIES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="how long to scrub")
    parser.add_argument("--long-text", default="1M", help="the longer text at any merge")
    options = parser.parse_args()
    with temporary_folder() as folder:
        variables = environment(folder)
        corpus, output = folder / "corpus.txt", folder / "run"
        write_corpus(corpus, parse_size(options.size))
        other = folder / "other.txt"
        other.write_text(mixed_text(100_000), encoding="utf-8", newline="")
        size = str(options.merges + 256)
        train = ("train", str(corpus), str(other), "--vocab-size", size, "-o")
        run(tokviz_command(*train, str(output)), variables)
        trained = [
            min(
                seconds(tokviz_command(*train, str(folder / f"{kind}{n}"), *advise), variables)
                for n in range(options.runs)
            )
            for kind, advise in (("plain", ()), ("advised", ("--advise",)))
        ]
        run([sys.executable, "-c", OPEN, str(output)], variables)
        texts = {f"{size}B": folder / f"{size}.txt" for size in ("10K", options.long_text)}
        for size, path in zip(("10K", options.long_text), texts.values(), strict=True):
            path.write_text(mixed_text(parse_size(size)), encoding="utf-8", newline="")
        rows: list[list[str | float]] = []
        found: dict[tuple[str, str], list[float]] = {}
        peak = 0.0
        sources = {"run": str(output)} | {name: name for name in options.vocabularies}
        frames = {
            f"{name} by {how}": scrub(source, folder, how, options.seconds)
            for name, source in list(sources.items())[:2]
            for how in ("keys", "mouse")
        }
        for name, source in sources.items():
            for label, path in texts.items():
                results = [
                    probe(source, options.steps, path, variables) for _ in range(options.runs)
                ]
                highest = max(result["peak_mb"] for result in results)
                peak = max(peak, highest)
                for what in results[0]["times"]:
                    about = f"{what}, {label}" if "text" in what else what
                    times = [time for result in results for time in result["times"][what]]
                    if (name, about) not in found:
                        found[name, about] = times
                        costs = (median(times), p95(times), max(times))
                        rows.append([name, about, *costs, highest])
    targets = [
        Target("run: first state", median(found["run", "open"]), "≤", 1000, "ms"),
        Target("run: jump, p95", p95(found["run", "jump"]), "≤", 100, "ms"),
        Target("run: step, p95", p95(found["run", "step"]), "≤", 16, "ms"),
        Target("run: blame, p95", p95(found["run", "blame"]), "≤", 100, "ms"),
        Target("advisor: more than its training", trained[1] - trained[0], "≤", 2, "s"),
        Target("peak memory", peak, "≤", 1000, "MB"),
        *(Target(f"scrubbing {how}", n, "≥", 30, "frames/s") for how, n in frames.items()),
    ]
    for name in ("run", *options.vocabularies):
        slowest = p95(found[name, "text at k, 10KB"])
        targets.append(Target(f"{name}: a text of 10KB", 1000 / slowest, "≥", 30, "frames/s"))
    for name in options.vocabularies:
        targets.append(Target(f"{name}: open", median(found[name, "open"]), "≤", 1000, "ms"))
    Report("replay", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
