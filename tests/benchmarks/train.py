"""`tokviz train` and other trainers, as whole processes in turn, on the same text and sizes.

The text is made from installed sources and documents. Shown are the wall time from start to saved
result, the peak of the memory, and how many of tokviz's tokens a peer has too. Peers that are not
installed are left out (`pip install gigabpe rustbpe bpeasy tokenizers`). gigabpe knows GPT-2's
pattern only, so for GPT-4's pattern the comparison is with its time for GPT-2's.

`--sizes 10M,100M,300M,1000M` measures tokviz alone on growing texts instead.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from _report import Report, Target, arguments, median
from _terminal import HERE, PROJECT, environment, peer_command, temporary_folder, tokviz_command
from _texts import parse_size
from _train_peer import PEERS, WITH_OWN_GPT2

COLUMNS = ("trainer", "text", "pattern", "tokens", "median s", "min s", "peak MB", "same tokens %")
SLOPE_COLUMNS = ("text", "MB", "pre-tokens", "median s", "ns/byte", "peak MB", "bytes/pre-token")
TIMES_FASTER = {"gigabpe": 3.0, "rustbpe": 4.0, "tokenizers": 9.0}
MOST_MEMORY_MB = 210
FIRST_TRAINING = """
import sys, tokviz
vocab, merges = tokviz.train_bpe(sys.argv[1], int(sys.argv[2]), ["<|endoftext|>"])
"""


class Cost(NamedTuple):
    """What one process cost."""

    seconds: float
    peak_mb: float


class Task(NamedTuple):
    """One thing to train on."""

    label: str
    corpus: Path
    pattern: str
    vocab_size: int


def write_corpus(path: Path, n_bytes: int) -> None:
    """Write a corpus, in another process: what this one ever needed counts for its children too."""
    subprocess.run([sys.executable, str(HERE / "_corpus.py"), str(path), str(n_bytes)], check=True)


def run(command: Sequence[str], variables: dict[str, str]) -> Cost:
    """Run a process to its end, with nothing to show."""
    start = time.perf_counter()
    with subprocess.Popen(
        command,
        cwd=PROJECT,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} failed: {errors}")
    kilobytes = usage.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Cost(seconds, kilobytes * 1024 / 1e6)


def regex_of(pattern: str) -> str:
    """Return the regex of a named split pattern."""
    program = (
        "import sys; from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS;"
        "print(SPLIT_PATTERNS[sys.argv[1]].regex)"
    )
    command = [sys.executable, "-c", program, pattern]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


def tokviz_train(task: Task, output: Path, ties: str) -> list[str]:
    """Return the command that trains with tokviz."""
    return tokviz_command(
        *("train", str(task.corpus), "-o", str(output), "--vocab-size", str(task.vocab_size)),
        *("--pattern", task.pattern, "--ties", ties, "--force"),
    )


def peer_train(name: str, task: Task, output: Path) -> list[str]:
    """Return the command that trains with a peer."""
    own_code = task.pattern == "gpt2" and name in WITH_OWN_GPT2
    regex = "" if own_code else regex_of(task.pattern)
    script = "_train_peer.py"
    return peer_command(script, name, str(task.corpus), str(output), str(task.vocab_size), regex)


def peers_for(pattern: str, wanted: Sequence[str]) -> list[str]:
    """Return the peers that are installed and know the pattern."""
    able = (name for name in wanted if name != "gigabpe" or pattern == "gpt2")
    return [name for name in able if find_spec(name) is not None]


def tokens_in(output: Path) -> set[str]:
    """Read the tokens of a result, each in GPT-2's printable alphabet of bytes."""
    if output.is_dir():
        output = output / "tokenizer.json"
    text = output.read_text(encoding="utf-8")
    if text.startswith("{"):
        return set(json.loads(text)["model"]["vocab"])
    shown = [
        n for first, last in ((33, 126), (161, 172), (174, 255)) for n in range(first, last + 1)
    ]
    hidden = [n for n in range(256) if n not in shown]
    alphabet = {n: chr(n) for n in shown} | {n: chr(256 + i) for i, n in enumerate(hidden)}
    tokens = (base64.b64decode(line.split()[0]) for line in text.splitlines())
    return {"".join(alphabet[byte] for byte in token) for token in tokens}


class Contest:
    """Runs trainers in turn and keeps what they cost."""

    def __init__(self, folder: Path, n_runs: int, peers: Sequence[str]) -> None:
        """Take a folder for results, the runs of each trainer, and the peers to run."""
        self._folder = folder
        self._n_runs = n_runs
        self._peers = peers
        self._variables = environment(folder)
        self.rows: list[list[str | float]] = []
        self.medians: dict[tuple[str, str], float] = {}
        self.peak_mb = 0.0

    def warm_up(self, task: Task) -> None:
        """Let tokviz make machine code for the cache."""
        run(tokviz_train(task, self._folder / "warm", "smallest_id"), self._variables)

    def hold(self, task: Task) -> None:
        """Run everybody on a task."""
        outputs = {name: self._folder / f"{name}.out" for name in PEERS}
        outputs |= {name: self._folder / f"run-{name}" for name in ("smallest_id", "first")}
        commands = {
            "tokviz": tokviz_train(task, outputs["smallest_id"], "smallest_id"),
            "tokviz, ties: first": tokviz_train(task, outputs["first"], "first"),
        }
        results = {"tokviz": outputs["smallest_id"], "tokviz, ties: first": outputs["first"]}
        for name in peers_for(task.pattern, self._peers):
            commands[name] = peer_train(name, task, outputs[name])
            results[name] = outputs[name]
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for _ in range(self._n_runs):
            for name, command in commands.items():
                costs[name].append(run(command, self._variables))
        ours = tokens_in(results["tokviz"])
        for name, all_costs in costs.items():
            seconds = [cost.seconds for cost in all_costs]
            peak = max(cost.peak_mb for cost in all_costs)
            same = 100 * len(ours & tokens_in(results[name])) / len(ours)
            sizes = (task.label, task.pattern, f"{task.vocab_size:,}")
            self.rows.append([name, *sizes, median(seconds), min(seconds), peak, same])
            self.medians[name, f"{task.label} {task.pattern}"] = median(seconds)
            if name == "tokviz":
                self.peak_mb = max(self.peak_mb, peak)

    def time_of(self, name: str, task: Task) -> float | None:
        """Return a trainer's median on a task; gigabpe's is always that for GPT-2's pattern."""
        pattern = "gpt2" if name == "gigabpe" else task.pattern
        return self.medians.get((name, f"{task.label} {pattern}"))


def compare(options: argparse.Namespace, folder: Path) -> Report:
    """Measure everybody."""
    large, small = folder / "large.txt", folder / "small.txt"
    write_corpus(large, parse_size(options.size))
    write_corpus(small, parse_size(options.small))
    contest = Contest(folder, options.runs, options.peers)
    tasks = [Task(options.size, large, name, options.vocab) for name in ("gpt2", "gpt4")]
    small_task = Task(options.small, small, "gpt2", options.small_vocab)
    contest.warm_up(tasks[1])
    for task in (*tasks, small_task):
        contest.hold(task)
    targets = [Target("peak memory", contest.peak_mb, "≤", MOST_MEMORY_MB, "MB")]
    for task in tasks:
        ours = contest.medians["tokviz", f"{task.label} {task.pattern}"]
        for name, limit in TIMES_FASTER.items():
            theirs = contest.time_of(name, task)
            if theirs is not None:
                label = f"{task.label}, {task.pattern}: times faster than {name}"
                targets.append(Target(label, theirs / ours, "≥", limit, "×"))
    theirs = contest.time_of("gigabpe", small_task)
    ours = contest.time_of("tokviz", small_task)
    if theirs is not None and ours is not None:
        label = f"{options.small}, {options.small_vocab:,} tokens"
        targets.append(Target(f"{label}, against gigabpe's time", ours, "≤", theirs, "s"))
    first = first_training(folder, options.first)
    seconds = (first.seconds, first.seconds)
    contest.rows.append(
        ["train_bpe, nothing cached", options.first, "gpt2", "10,000", *seconds, first.peak_mb, ""]
    )
    targets.append(
        Target(f"{options.first}, 10,000 tokens, nothing cached", first.seconds, "≤", 3.0, "s")
    )
    targets.append(Target("the same, peak memory", first.peak_mb, "≤", 300, "MB"))
    return Report("train", COLUMNS, contest.rows, targets)


def first_training(folder: Path, size: str) -> Cost:
    """Train on a machine that has never made machine code of a kernel."""
    corpus = folder / "first.txt"
    write_corpus(corpus, parse_size(size))
    home = folder / "first home"
    home.mkdir()
    command = [sys.executable, "-c", FIRST_TRAINING, str(corpus), "10000"]
    return run(command, environment(home))


def slope(options: argparse.Namespace, folder: Path) -> Report:
    """Measure tokviz alone on growing texts."""
    rows: list[list[str | float]] = []
    variables = environment(folder)
    output = folder / "run"
    rates: list[float] = []
    for label in options.sizes.split(","):
        corpus = folder / "corpus.txt"
        write_corpus(corpus, parse_size(label))
        task = Task(label, corpus, "gpt4", options.vocab)
        command = tokviz_train(task, output, "smallest_id")
        if not rows:
            run(command, variables)
        costs = [run(command, variables) for _ in range(options.runs)]
        seconds = median([cost.seconds for cost in costs])
        peak = max(cost.peak_mb for cost in costs)
        summary = json.loads((output / "run.json").read_text(encoding="utf-8"))
        n_bytes, n_pre_tokens = parse_size(label), summary["corpus"]["n_distinct_pre_tokens"]
        rates.append(seconds / n_bytes * 1e9)
        times = (seconds, rates[-1])
        rows.append(
            [label, n_bytes / 1e6, float(n_pre_tokens), *times, peak, peak * 1e6 / n_pre_tokens]
        )
    growth = rates[-1] / min(rates)
    targets = [Target("time per byte, the largest text against the best", growth, "≤", 1.2, "×")]
    return Report("train slope", SLOPE_COLUMNS, rows, targets)


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="100M", help="the large text")
    parser.add_argument("--vocab", type=int, default=32_000, help="its tokens")
    parser.add_argument("--small", default="5M", help="the small text")
    parser.add_argument("--small-vocab", type=int, default=10_000, help="its tokens")
    parser.add_argument("--first", default="2M", help="the text where nothing is cached")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peers", nargs="*", choices=[*PEERS], default=[*PEERS])
    parser.add_argument("--sizes", metavar="SIZE,SIZE,…", help="measure tokviz alone on these")
    options = parser.parse_args()
    with temporary_folder() as folder:
        report = slope(options, folder) if options.sizes else compare(options, folder)
    report.show(options.json)


if __name__ == "__main__":
    main()
