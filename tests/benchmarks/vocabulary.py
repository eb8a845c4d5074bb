"""Searching the vocabulary of o200k_base, key by key: what a key costs, and what is read before.

Every query is typed from its first character on. A key's cost is that of finding, sorting and
counting; the screen does it in a thread and draws the rows in view, which costs the same whatever
was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from _report import Report, Target, arguments, median, p95

import tokviz
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.explain.vocabulary.query import parse_query
from tokviz.explain.vocabulary.reachable import unreachable_rows
from tokviz.explain.vocabulary.search import ORDERS, Searcher

COLUMNS = ("what", "median ms", "p95 ms", "max ms")
TYPED = (
    "the",
    "International",
    '" new york"',
    "^pre",
    "ization$",
    "0xe4b8ad",
    "#199000-199999",
    "len:>20 script:latin",
    "script:han,hiragana -is:partial",
    "e a i o",
    "世界",
)
REGEXES = ("/^ ?[A-Z][a-z]+$/", "/[0-9]{3}/", r"/\p{Han}{3}/", "/(.)\\1\\1/i")


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--tokenizer", default="o200k_base")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    tok = tokviz.load(options.tokenizer)
    times: dict[str, list[float]] = {"reading the vocabulary": [], "a key": [], "a regex": []}
    for _ in range(options.runs):
        times["reading the vocabulary"].append(seconds(lambda: VocabularyIndex(tok)))
    index = VocabularyIndex(tok)
    times["sorting by text, the first time"] = [seconds(lambda: index.text_order)]
    times["trying every token"] = [seconds(lambda: unreachable_rows(index))]
    for _ in range(options.runs):
        for typed in TYPED:
            searcher = Searcher(index)
            for n_typed in range(len(typed) + 1):
                query = parse_query(typed[:n_typed])
                times["a key"].append(seconds(lambda s=searcher, q=query: s.select(q)))
        for order in ORDERS:
            name = f"sorting all by {order}"
            call = seconds(lambda o=order: Searcher(index).select(parse_query(""), o))
            times.setdefault(name, []).append(call)
        for typed in REGEXES:
            query = parse_query(typed)
            times["a regex"].append(seconds(lambda q=query: Searcher(index).select(q)))
    rows: list[list[str | float]] = [
        [name, *(value * 1000 for value in (median(runs), p95(runs), max(runs)))]
        for name, runs in times.items()
    ]
    targets = [
        Target("a key, p95", p95(times["a key"]) * 1000, "≤", 50, "ms"),
        Target("a key, the slowest", max(times["a key"]) * 1000, "≤", 50, "ms"),
    ]
    Report("vocabulary", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
