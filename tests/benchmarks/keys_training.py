"""Key to frame while a training runs, against the same app while nothing else does.

The training is `tokviz train` at the niceness of the app's child process. Rounds with and without
it take turns, so that both are measured under the same conditions; a round with it begins with the
first report and lasts into the merging.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _report import Report, Target, arguments, p95
from _terminal import PROJECT, environment, on_terminal, temporary_folder, tokviz_command
from _texts import count_tokens, mixed_text, parse_size
from keys import COLUMNS, Subject, place_cursor, type_burst
from train import Task, run, tokviz_train, write_corpus

KEYS_PER_ROUND = 40
NICENESS = 10
"""As in `tokviz.process.jobs.train_client.LIMITS`."""


@contextmanager
def training(task: Task, folder: Path) -> Iterator[None]:
    """Have a training run that ends with the block at the latest."""
    train = tokviz_train(task, folder / "run", "first")
    command = ["nice", "-n", str(NICENESS), *train, "--json"]
    process = subprocess.Popen(
        command, cwd=PROJECT, env=environment(folder), stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        # A full pipe would stop the training.
        drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        process.stdout.close()
        yield
        process.kill()
        drain.wait()


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="100K", help="the document")
    parser.add_argument("--corpus", default="100M", help="what the training reads")
    parser.add_argument("--keys", type=int, default=120, help="measured keys, with and without")
    options = parser.parse_args()
    with temporary_folder() as folder:
        corpus, path = folder / "corpus.txt", folder / "document.txt"
        write_corpus(corpus, parse_size(options.corpus))
        path.write_text(mixed_text(parse_size(options.size)), encoding="utf-8", newline="")
        task = Task(options.corpus, corpus, "gpt4", 32_000)
        run(tokviz_train(task, folder / "run", "first"), environment(folder))
        with on_terminal(tokviz_command(str(path)), folder) as terminal:
            terminal.wait_counted(count_tokens(path), timeout=120)
            idle, busy = (
                Subject(options.size, path.stat().st_size, name, terminal)
                for name in ("idle", "while training")
            )
            for done in range(0, options.keys, KEYS_PER_ROUND):
                n_keys = min(KEYS_PER_ROUND, options.keys - done)
                place_cursor(terminal, near_end=False)
                type_burst(idle, n_keys)
                with training(task, folder):
                    type_burst(busy, n_keys)
            for subject in (idle, busy):
                subject.resident = terminal.resident_megabytes()
                subject.peak = terminal.peak_megabytes()
    slower = p95(busy.latencies()) - p95(idle.latencies())
    targets = [Target("p95 while training above p95 idle", slower, "≤", 10, "ms")]
    Report("keys_training", COLUMNS, [idle.row(), busy.row()], targets).show(options.json)


if __name__ == "__main__":
    main()
