"""One process that replays: `_replay_probe.py SOURCE N_STEPS TEXT`; prints milliseconds as JSON.

SOURCE is a run folder or a name, TEXT a file that is shown at many merges.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

STARTED = time.perf_counter()


def milliseconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def main() -> None:
    """Open, jump, step and scrub."""
    source, n_steps, text = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).read_text("utf-8")
    from tokviz.training.replay.replay import Replay

    replay = Replay.open(source)
    middle = replay.n_merges // 2
    replay.step(middle)
    replay.state(middle).top_pairs()
    times = {"open": [(time.perf_counter() - STARTED) * 1000]}
    numbers = random.Random(1)

    def show(k: int) -> None:
        replay.step(max(k, 1))
        state = replay.state(k)
        state.top_pairs(10)
        state.pre_tokens_of_next(20)
        state.pre_tokens(0, 40)

    if replay.has_counts:
        jumps = [numbers.randrange(replay.n_merges) for _ in range(n_steps)]
        times["jump"] = [milliseconds(lambda k=k: show(k)) for k in jumps]
        times["blame"] = [milliseconds(lambda k=k: replay.files(max(k, 1))) for k in jumps]
        times["step"] = []
        for start in (1, replay.n_merges // 20, replay.n_merges // 2, replay.n_merges - n_steps):
            there = range(max(start, 1), min(start + n_steps, replay.n_merges))
            show(there[0])
            for k in [*there, *reversed(there)]:
                times["step"].append(milliseconds(lambda k=k: show(k)))
    times["prepare text"] = [milliseconds(lambda: replay.text(text))]
    prepared = replay.text(text)
    places = [numbers.randrange(replay.n_merges) for _ in range(n_steps)]
    times["text at k"] = [milliseconds(lambda k=k: prepared.at(k)) for k in places]
    times["find"] = [milliseconds(lambda: list(replay.find("the")))]
    scale = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale / 1e6
    print(json.dumps({"times": times, "peak_mb": peak}))


if __name__ == "__main__":
    main()
