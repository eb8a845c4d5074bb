"""Every benchmark script runs and prints a report; the figures are not checked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import pytest

import tokviz

BENCHMARKS = Path(__file__).parent / "benchmarks"
SMALLEST_RUNS = {
    "keys": ["--sizes", "1K", "--keys", "2"],
    "keys_training": ["--size", "1K", "--corpus", "20K", "--keys", "2"],
    "compare": ["--sizes", "1K", "--keys", "2", "--size", "10K", "--runs", "1"],
    "start": ["--runs", "1"],
    "opening": ["--size", "20K", "--runs", "1", "--typing-runs", "1"],
    "gestures": ["--sizes", "20K", "--seconds", "0.3", "--visits", "0"],
    "paste": ["--sizes", "5K", "--runs", "1"],
    "count": ["--runs", "1"],
    "bulk": ["--size", "20K", "--runs", "1", "--vocabularies", "gpt2"],
    "replay": [
        *("--size", "30K", "--merges", "60", "--steps", "3", "--runs", "1"),
        *("--vocabularies", "--seconds", "0.5", "--long-text", "20K"),
    ],
    "eta": ["--size", "30K", "--vocabs", "300", "--runs", "1"],
    "chat": ["--size", "50K", "--runs", "1", "--rows", "10"],
    "vocabulary": ["--tokenizer", "gpt2", "--runs", "1"],
    "load": ["--runs", "1"],
    "cluster": [
        *("--gigabytes", "1", "--file-bytes", "200000", "--workers", "1", "--vocab", "300"),
        *("--turns", "1"),
    ],
    "train": [
        *("--size", "30K", "--vocab", "300", "--small", "20K", "--small-vocab", "280"),
        *("--first", "20K", "--runs", "1"),
    ],
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Start all scripts at once, because they mostly wait."""
    # The scripts may use the kernel cache of this machine.
    cache = tmp_path_factory.mktemp("cache")
    if (known := platformdirs.user_cache_path("tokviz")).exists():
        shutil.copytree(known, cache / "tokviz")
    environment = {**os.environ, "TOKVIZ_BENCHMARK_CACHE": str(cache)}
    tiny = tmp_path_factory.mktemp("runs") / "tiny"
    tokviz.train(["the theme of the thesis"], 260, split_pattern="gpt2").save(tiny)
    made = {"load": ["--vocabulary", str(tiny)]}
    processes = {
        name: subprocess.Popen(
            [
                *(sys.executable, str(BENCHMARKS / f"{name}.py"), "--json"),
                *(*options, *made.get(name, ())),
            ],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, options in SMALLEST_RUNS.items()
    }
    yield processes
    for process in processes.values():
        process.kill()
        process.communicate()


def report_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    report: dict[str, Any] = json.loads(output)
    return report


@pytest.mark.parametrize("name", SMALLEST_RUNS)
def test_script_reports_numbers_and_targets(
    name: str, running: dict[str, subprocess.Popen[str]]
) -> None:
    report = report_of(running[name])
    assert report["benchmark"] == name
    numbers = [value for row in report["rows"] for value in row.values() if value != ""]
    measured = [value for value in numbers if isinstance(value, float)]
    assert measured
    assert min(measured) > 0
    assert all({"name", "value", "limit", "reached"} <= set(target) for target in report["targets"])


def test_every_script_is_run_here() -> None:
    scripts = {path.stem for path in BENCHMARKS.glob("[!_]*.py")}
    # `tests/cli/web/test_chromium.py` covers `web`, because starting Chromium takes seconds.
    assert scripts - {"web"} == set(SMALLEST_RUNS)
