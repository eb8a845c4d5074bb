"""Conversations: the check of a file, and what a key costs in a long conversation.

- `tokviz chat FILE --lint` on JSON Lines of mixed text, the whole process: rows of one to three
  turns, many of more bytes than tokens may be kept. `fresh` is a machine on which the compiled
  loops are not there yet.
- Rendering a conversation of 100 messages (20,000 tokens) after one character more in one of them,
  with all that is shown beside it: findings, targets, counts.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from _report import Report, Target, arguments, median, p95
from _terminal import PROJECT, environment, temporary_folder, tokviz_command
from _texts import mixed_text, parse_size

COLUMNS = ("what", "median", "p95", "min", "unit")
TEMPLATES = ("nanochat", "chatml", "qwen")


def write_rows(path: Path, n_bytes: int) -> None:
    """Write conversations of mixed text."""
    text = mixed_text(min(n_bytes, 5_000_000))
    generator = random.Random(0)

    def pre_token(n_chars: int) -> str:
        start = generator.randrange(max(1, len(text) - n_chars))
        return text[start : start + n_chars].strip() or "x"

    with open(path, "w", encoding="utf-8") as file:
        while file.tell() < n_bytes:
            messages: list[dict[str, Any]] = []
            for _ in range(generator.choice([1, 1, 1, 2, 3])):
                messages.append(
                    {"role": "user", "content": pre_token(generator.choice([40, 100, 300]))}
                )
                answer = pre_token(generator.choice([100, 400, 1200, 2500]))
                messages.append({"role": "assistant", "content": answer})
            file.write(json.dumps({"messages": messages}) + "\n")


def lint_rates(path: Path, template: str, runs: int, variables: dict[str, str]) -> list[float]:
    """Return the megabytes a second of whole processes."""
    command = tokviz_command("chat", str(path), "--lint", "--template", template)
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, cwd=PROJECT, env=variables, stdout=subprocess.DEVNULL, check=False)
        rates.append(path.stat().st_size / 1e6 / (time.perf_counter() - start))
    return rates


def key_times(runs: int) -> list[float]:
    """Return the milliseconds that rendering takes after each of many small changes."""
    sys.path.insert(0, str(PROJECT))
    from tokviz.chat.conversation import Conversation
    from tokviz.chat.lint import lint
    from tokviz.chat.render import render
    from tokviz.formats.loader import load

    tokenizer = load("cl100k_base")
    tokenizer.prepare()
    text = mixed_text(90_000)
    messages = [
        {"role": ("user", "assistant")[i % 2], "content": text[i * 600 : i * 600 + 600]}
        for i in range(100)
    ]
    times = []
    for key in range(runs + 1):
        messages[key % 100]["content"] += "x"
        start = time.perf_counter()
        conversation = Conversation.from_json(messages)
        rendering = render(tokenizer, conversation, "nanochat", 32_768)
        lint(conversation, rendering)
        times.append((time.perf_counter() - start) * 1000)
    return times[1:]  # the first renders all for the first time


def main() -> None:
    """Measure and report."""
    parser = arguments(__doc__)
    parser.add_argument("--size", default="60M")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rows: list[list[str | float]] = []
    targets = []
    with temporary_folder() as folder:
        path = folder / "rows.jsonl"
        write_rows(path, parse_size(options.size))
        machines = {"": dict(os.environ), " (fresh)": environment(folder)}
        for note, variables in machines.items():
            for template in TEMPLATES if not note else TEMPLATES[:1]:
                rates = lint_rates(path, template, options.runs, variables)
                name = f"lint {template}{note}"
                rows.append([name, median(rates), p95(rates), min(rates), "MB/s"])
                targets.append(Target(name, median(rates), "≥", 20, "MB/s"))
    times = key_times(100 * options.runs)
    rows.append(["100 messages, a key", median(times), p95(times), min(times), "ms"])
    targets.append(Target("100 messages, a key", median(times), "≤", 16, "ms"))
    Report("chat", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
