"""Four tokenizers compared: key to frame with their counts below the text, and a report on 1 MB.

Each document is open twice: alone, and with the strip of three more tokenizers. Bursts of keys go
to one after the other. Beside the time from a key to its frame stands the processor time that the
app's main thread took for the key, which load on the machine changes little.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from _report import Report, Target, arguments, median, p95
from _terminal import on_terminal, temporary_folder, tokviz_command
from _texts import count_tokens, mixed_text, parse_size
from keys import KEYS_PER_BURST, Subject, place_cursor, write_documents

import tokviz
from tokviz.compare.report import measured, report_on

COLUMNS = ("measured", "p50 ms", "p95 ms", "processor p50", "processor p95")
OTHERS = ("gpt2", "o200k_base", "qwen2")
LIMITS = {"100K": 40.0, "10M": 60.0}


def processor_ms(subject: Subject) -> float:
    """Return the processor time that the main thread has taken."""
    pid = subject.terminal.pid
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e6


def measure_keys(sizes: list[str], n_keys: int, folder: Path) -> dict[str, tuple[list[float], ...]]:
    """Return the milliseconds from key to frame, and those of the processor, by subject."""
    with ExitStack() as stack:
        subjects = []
        for name, path in write_documents(folder, sizes, lines=False).items():
            for label, strip in ((f"{name} alone", False), (f"{name} with 3 more", True)):
                command = tokviz_command(str(path))
                app = on_terminal(command, folder, strip=strip, compared=OTHERS)
                stack.enter_context(app)
                app.wait_counted(count_tokens(path), timeout=240)
                app.wait_quiet(2.0, timeout=240)
                subjects.append(Subject(label, path.stat().st_size, "tokviz", app))
        spent: dict[str, list[float]] = {subject.document: [] for subject in subjects}
        for done in range(0, n_keys, KEYS_PER_BURST):
            for subject in subjects:
                place_cursor(subject.terminal, near_end=done // KEYS_PER_BURST % 2 == 1)
                subject.terminal.key(b"x")  # not counted, as in `keys.py`
                for _ in range(min(KEYS_PER_BURST, n_keys - done)):
                    before = processor_ms(subject)
                    subject.type_one()
                    spent[subject.document].append(processor_ms(subject) - before)
        return {one.document: (one.latencies(), spent[one.document]) for one in subjects}


def measure_reports(size: str, runs: int) -> Iterator[tuple[float, float]]:
    """Return wall and processor milliseconds of reports on a text of that size."""
    tokenizers = [tokviz.load(name) for name in ("cl100k_base", *OTHERS)]
    text = mixed_text(parse_size(size))
    for number in range(runs + 1):
        started, spent = time.perf_counter(), time.process_time()
        report_on(tokenizers, [measured(tokenizers, "text", text, allowed=True)])
        if number:  # The first run builds the tables.
            yield (time.perf_counter() - started) * 1000, (time.process_time() - spent) * 1000


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--sizes", default="100K,10M", help="of the documents typed into")
    parser.add_argument("--keys", type=int, default=60, help="measured keys per document")
    parser.add_argument("--size", default="1M", help="of the text reported on")
    parser.add_argument("--runs", type=int, default=5, help="reports")
    options = parser.parse_args()
    with temporary_folder() as folder:
        found = measure_keys(options.sizes.split(","), options.keys, folder)
    walls, spent = zip(*measure_reports(options.size, options.runs), strict=True)
    found[f"report on {options.size}"] = list(walls), list(spent)
    rows: list[list[str | float]] = [
        [name, *(take(list(times)) for times in both for take in (median, p95))]
        for name, both in found.items()
    ]
    targets = [
        Target(f"{size} with 3 more, p95", p95(found[f"{size} with 3 more"][0]), "≤", limit, "ms")
        for size, limit in LIMITS.items()
        if f"{size} with 3 more" in found
    ]
    targets.append(Target(f"report on {options.size}", median(list(walls)), "≤", 1000, "ms"))
    Report("compare", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
