"""A worker that is killed at any moment changes nothing, and no process is left.

    python tests/robustness/workers.py 20

Train that often with two workers, kill one of them at a random moment, and compare the merges, the
history, the pre-tokens and the attribution with those of a training in one process.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import uuid
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from tests.robustness.subject import MARK, marked  # noqa: E402
from tokviz.training.dask_cluster import local_cluster  # noqa: E402
from tokviz.training.run import TrainingRun  # noqa: E402
from tokviz.training.train import train  # noqa: E402

N_FILES = 12
VOCABULARY = 1000


def write_corpus(folder: Path, n_words: int) -> None:
    """Write files of words, some of which are rare."""
    chance = random.Random(1)
    for number in range(N_FILES):
        words = (f"{int(1.0001 ** chance.uniform(0, 150_000)):x}" for _ in range(n_words))
        (folder / f"{number}.txt").write_text(" ".join(words))


def content(run: TrainingRun) -> list[bytes]:
    """Return the values that must be equal."""
    assert run.attribution is not None
    parts = run.history.memory, run.pre_token_counts.memory, run.attribution.memory
    return [bytes(column) for memory in parts for column in memory.values()]


def killed(corpus: Path, alone: list[bytes], chance: random.Random) -> tuple[bool, int, list[int]]:
    """Train, and kill a worker meanwhile.

    Returns:
        Whether the result is the same, how many workers were there at the end that were not at the
        beginning, and the processes that are left.
    """
    mark = os.environ[MARK] = uuid.uuid4().hex
    try:
        with local_cluster(2) as client:
            pids = list(client.run(os.getpid).values())
            begun = time.monotonic()
            train(corpus, VOCABULARY, client=client)
            most = time.monotonic() - begun
            timer = Timer(chance.uniform(0, most), os.kill, (chance.choice(pids), signal.SIGKILL))
            timer.start()
            run = train(corpus, VOCABULARY, client=client)
            timer.join()
            n_new, deadline = 0, time.monotonic() + 60
            while not n_new and time.monotonic() < deadline:
                there = client.run(os.getpid, on_error="ignore").values()
                n_new = len({*there} - {*pids})
        deadline = time.monotonic() + 10
        while (left := list(marked(mark))) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        del os.environ[MARK]
    return content(run) == alone, n_new, left


def main(arguments: list[str] | None = None) -> int:
    """Kill, print the results, and return 1 if there was a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("runs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--words", type=int, default=400_000, help="of each of the files")
    asked = parser.parse_args(arguments)
    chance = random.Random(asked.seed)
    n_same, n_killed, n_left = 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        write_corpus(Path(name), asked.words)
        alone = content(train(Path(name), VOCABULARY))
        for _ in range(asked.runs):
            is_same, n_new, left = killed(Path(name), alone, chance)
            n_same, n_killed, n_left = n_same + is_same, n_killed + n_new, n_left + len(left)
    print(
        f"{asked.runs} runs, {n_killed} workers killed and replaced: {n_same} results the same, "
        f"{n_left} processes left"
    )
    return int(n_same < asked.runs or n_left > 0)


if __name__ == "__main__":
    sys.exit(main())
