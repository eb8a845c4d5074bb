"""Choosing a tokenizer: from the choice until its ids are known, in a process that is running.

Built-in vocabularies, and files of any kind made from one of them. Each load is the first one in a
fresh process. "first ids" is until a screenful of text is encoded, "ready" until a text of any
length is encoded at full speed. "stall" is how long another thread, such as the one that draws,
had to wait at most.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from _report import Report, Target, arguments, median, p95
from _terminal import PROJECT, environment, temporary_folder

COLUMNS = ("tokenizer", "MB", "first ids ms", "ready ms", "p95 ms", "min ms", "stall ms")

FILES = {
    "tokenizer.json": ("huggingface", "tokenizer.json"),
    ".tiktoken": ("tiktoken", "ranks.tiktoken"),
    "vocab + merges": ("gpt2", "pair"),
}

SAVE = """
import json, sys, tokviz
tok = tokviz.load(sys.argv[1])
for format, path in zip(sys.argv[2::2], sys.argv[3::2]):
    tok.save(path, format=format)
# As large as they come: as Hugging Face writes it today, with a line for each half of a merge.
content = json.load(open(sys.argv[3], encoding="utf-8"))
content["model"]["merges"] = [merge.split(" ") for merge in content["model"]["merges"]]
json.dump(content, open(sys.argv[3], "w", encoding="utf-8"), ensure_ascii=False, indent=2)
"""

LOAD = """
import json, sys, threading, time
import tokviz, tokviz.tokenizer.tokenizer, tokviz.formats.loader, regex, tiktoken
text = "The quick brown fox, 12345 naïve cafés and 你好世界.\\n" * 40
gaps, over = [], threading.Event()
def tick():
    last = time.perf_counter()
    while not over.is_set():
        time.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now
thread = threading.Thread(target=tick)
thread.start()
start = time.perf_counter()
tok = tokviz.load(sys.argv[1])
tok.encode(text)
shown = time.perf_counter() - start
tok.prepare()
ready = time.perf_counter() - start
over.set()
thread.join()
tok.close()
print(json.dumps([shown * 1000, ready * 1000, max(gaps) * 1000]))
"""


def run(script: str, folder: Path, *words: str) -> str:
    """Return what a script prints in a fresh process."""
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=PROJECT,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--vocabulary", default="o200k_base", help="what the files are made from")
    options = parser.parse_args()
    with temporary_folder() as folder:
        made = {name: (kind, str(folder / file)) for name, (kind, file) in FILES.items()}
        run(SAVE, folder, options.vocabulary, *(word for pair in made.values() for word in pair))
        sources = {"cl100k_base": "cl100k_base", "o200k_base": "o200k_base"}
        sources |= {name: path for name, (_, path) in made.items()}
        times: dict[str, list[list[float]]] = {name: [] for name in sources}
        for _ in range(options.runs):
            for name, source in sources.items():
                times[name].append(json.loads(run(LOAD, folder, source)))
        sizes = {
            name: sum(f.stat().st_size for f in (path.iterdir() if path.is_dir() else [path])) / 1e6
            for name, (_, file) in made.items()
            if (path := Path(file))
        }
    ready = {name: [each[1] for each in runs] for name, runs in times.items()}
    rows: list[list[str | float]] = [
        [
            name,
            sizes.get(name, ""),
            median([shown for shown, _, _ in times[name]]),
            median(each),
            p95(each),
            min(each),
            median([stall for _, _, stall in times[name]]),
        ]
        for name, each in ready.items()
    ]
    targets = [
        Target("cl100k_base ready", median(ready["cl100k_base"]), "≤", 150, "ms"),
        Target("o200k_base ready", median(ready["o200k_base"]), "≤", 300, "ms"),
        Target("tokenizer.json ready", median(ready["tokenizer.json"]), "≤", 2000, "ms"),
    ]
    Report("load", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
