"""Conversations: the check of a file, and what a key costs in a long conversation.

- `tokviz chat FILE --lint` on JSON Lines of mixed text, the whole process: rows of one to three
  turns, many of more bytes than tokens may be kept. `fresh` is a machine on which the compiled
  loops are not there yet.
- `tokviz chat FILE --export`, the whole process, with two workers.
- Processor time of all processes for the ids and the mask of rows with a Jinja template, divided
  by that of transformers (`apply_chat_template` with `return_assistant_tokens_mask`).
- Rendering a conversation of 100 messages (20,000 tokens) after one character more in one of them,
  with all that is shown beside it: findings, targets, counts.
"""

from __future__ import annotations

import json
import os
import random
import resource
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
_TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role + '\\n' }}{% if m.role == 'assistant' %}"
    "{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{{ '\\n' }}{% endfor %}"
)
JINJA = {
    "with marks": _TURNS,
    "without marks": _TURNS.replace("{% generation %}", "").replace("{% endgeneration %}", ""),
}


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


def export_rates(path: Path, template: str, ending: str, runs: int) -> list[float]:
    """Return the megabytes a second of exports with two workers."""
    out = path.with_name(f"out{ending}")
    options = ("-t", "qwen2", "--workers", "2", "--max-tokens", "1000000", "--template", template)
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        command = tokviz_command("chat", str(path), "--export", str(out), *options)
        subprocess.run(command, cwd=PROJECT, stdout=subprocess.DEVNULL, check=True)
        rates.append(path.stat().st_size / 1e6 / (time.perf_counter() - start))
    return rates


def _processor_seconds() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def jinja_ratio(path: Path, source: str, n_rows: int) -> float:
    """Return tokviz's processor time for the first rows, divided by that of transformers."""
    sys.path.insert(0, str(PROJECT))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from transformers import PreTrainedTokenizerFast

    from tokviz.chat.dataset import Dataset
    from tokviz.chat.export import RowEncoder
    from tokviz.chat.jinja_template import JinjaTemplate
    from tokviz.formats.loader import load

    ours = load("qwen2")
    file = path.parent / "tokenizer.json"
    ours.save(str(file))
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(file))
    dataset = Dataset.open(str(path))
    rows = [dataset.value(row)[0]["messages"] for row in range(n_rows) if dataset.has_row(row)]
    start = _processor_seconds()
    template = JinjaTemplate("template", source)
    RowEncoder(ours, template, 10**9).encode(dataset, 0, n_rows)
    template.close()
    time.sleep(0.5)  # its child ends
    middle = _processor_seconds()
    wanted = {"return_dict": True, "return_assistant_tokens_mask": True}
    for messages in rows:
        theirs.apply_chat_template(messages, chat_template=source, tokenize=True, **wanted)
    return (middle - start) / (_processor_seconds() - middle)


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
    parser.add_argument("--rows", type=int, default=3000, help="rows for the Jinja templates")
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
        for ending in (".npz", ".jsonl"):
            rates = export_rates(path, "chatml", ending, options.runs)
            rows.append([f"export chatml {ending}", median(rates), p95(rates), min(rates), "MB/s"])
            targets.append(Target(f"export {ending}", median(rates), "≥", 20, "MB/s"))
        for name, source in JINJA.items():
            ratios = [jinja_ratio(path, source, options.rows) for _ in range(options.runs)]
            name = f"Jinja {name} / transformers"
            rows.append([name, median(ratios), p95(ratios), min(ratios), ""])
            targets.append(Target(name, median(ratios), "≤", 1, ""))
    times = key_times(100 * options.runs)
    rows.append(["100 messages, a key", median(times), p95(times), min(times), "ms"])
    targets.append(Target("100 messages, a key", median(times), "≤", 16, "ms"))
    Report("chat", COLUMNS, rows, targets).show(options.json)


if __name__ == "__main__":
    main()
