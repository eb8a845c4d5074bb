"""Encoding much text at once: processor time against tiktoken's, with the same ids.

Each text as an array, as a list, and with all spans (`tokenize`), by one thread; the array by all
processors too, in wall time. The least of several runs, in turn.
"""

from __future__ import annotations

import base64
import random
import sys
import time
from collections.abc import Callable

from _report import Report, Target, arguments
from _terminal import PROJECT
from _texts import cjk_line, mixed_text, parse_size, word_line

import tokviz
from tokviz.tokenizer.encoding import bulk

sys.path.insert(0, str(PROJECT))

from tests.reference import tiktoken_encoding

COLUMNS = ("vocabulary", "text", "MB", "tiktoken MB/s", "array ×", "list ×", "spans ×",
           "threads ×")  # fmt: skip
WANTED = {
    "mixed": {"cl100k_base": 8.0, "o200k_base": 6.0},
    "CJK": {"cl100k_base": 4.0},
    "base64": {"cl100k_base": 4.0},
    "equal letters": {"cl100k_base": 2.0},
}
"""How many times as fast as tiktoken a text becomes an array."""


def texts_of(size: int) -> dict[str, str]:
    """Make the texts, the same on every run."""
    rng = random.Random(3)
    return {
        "mixed": mixed_text(size),
        "words": word_line(size),
        "CJK": cjk_line(size // 5),
        "base64": base64.b64encode(rng.randbytes(size // 7)).decode(),
        "equal letters": "a" * (size // 10),
    }


def least(clock: Callable[[], float], runs: int, *ways: Callable[[], object]) -> list[float]:
    """Time some ways to do it in turn, and return the least seconds of each."""
    found = [float("inf")] * len(ways)
    for _ in range(runs):
        for number, way in enumerate(ways):
            start = clock()
            way()
            found[number] = min(found[number], clock() - start)
    return found


def measure(name: str, label: str, text: str, runs: int) -> tuple[list[float], list[Target]]:
    """Give the columns of a text, and what it should reach."""
    tok, reference = tokviz.load(name), tiktoken_encoding(name)
    if tok.encode(text, "none") != reference.encode_ordinary(text):
        sys.exit(f"the ids differ: {name}, {label}")
    all_processors = bulk.n_processors

    def by_threads(count: Callable[[], int]) -> None:
        bulk.n_processors = count
        tok.encode_to_numpy(text)

    def by_one() -> None:
        by_threads(lambda: 0)

    by_one()
    base, *ours = least(
        time.process_time,
        runs,
        lambda: reference.encode_ordinary(text),
        by_one,
        lambda: tok.encode(text),
        lambda: tok.tokenize(text),
    )
    one, wall = least(time.perf_counter, 3 * runs, by_one, lambda: by_threads(all_processors))
    bulk.n_processors = all_processors
    targets = []
    if label in WANTED:
        wanted = WANTED[label].get(name, min(WANTED[label].values()))
        targets.append(Target(f"{name}, {label}, array", base / ours[0], "≥", wanted, "×"))
    if label == "mixed":
        targets.append(Target(f"{name}, spans by list", ours[1] / ours[2], "≥", 0.8, "×"))
        if all_processors() == 2:
            targets.append(Target(f"{name}, two threads by one", one / wall, "≥", 1.7, "×"))
    size = len(text.encode()) / 1e6
    return [size, size / base, *(base / seconds for seconds in (*ours, wall))], targets


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="10M", help="of mixed text; others are shorter")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--vocabularies", default="cl100k_base,o200k_base")
    options = parser.parse_args()
    rows: list[list[str | float]] = []
    targets: list[Target] = []
    for name in options.vocabularies.split(","):
        tokviz.load(name).prepare()
        for label, text in texts_of(parse_size(options.size)).items():
            columns, wanted = measure(name, label, text, options.runs)
            rows.append([name, label, *columns])
            targets += wanted
    Report("bulk", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
