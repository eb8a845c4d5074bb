"""Commands print the same with and without workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokviz.cli import chat, main, workers
from tokviz.training.dask_cluster import local_cluster

TEXT = "It's the naïve 你好 world, 1234 <|endoftext|> of \r\n  code: x = {'a': [1]} \udcff\n" * 40


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_cluster(2) as client:
        yield str(client.scheduler_info()["address"])


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    contents = {"a.txt": TEXT, "empty.txt": "", "word.txt": "x" * 2000}
    for name, text in contents.items():
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    return [*(str(tmp_path / name) for name in contents), str(tmp_path / "missing.txt")]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    good = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    odd = [{"role": "user", "content": "<|im_end|>"}]
    lines = [json.dumps(odd if number % 5 == 0 else good) for number in range(23)]
    lines[7:7] = ["", "{"]
    path.write_text("\n".join(lines))
    return str(path)


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main.main([*arguments])
    return code, *capfd.readouterr()


@pytest.mark.parametrize(
    "command",
    [
        "count -t gpt2",
        "count -t o200k_base --json --specials text",
        "eval -t gpt2 --markdown",
        "eval -t gpt2 --json --by-script",
    ],
)
def test_counting_by_workers_says_the_same(
    command: str,
    files: list[str],
    address: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, *options = command.split()
    alone = printed(capfd, name, *options, *files)
    monkeypatch.setattr(workers, "MAX_PART_BYTES", 100)
    assert printed(capfd, name, *options, *files, "--scheduler", address) == alone
    assert "missing.txt: there is no such file" in alone[2]


@pytest.mark.parametrize(
    "options",
    ["--lint", "--lint --json", "--json", "--mask --lint", "--stats --json", "--packing 20"],
)
def test_rows_of_conversations_by_workers_are_printed_in_order(
    options: str,
    rows: str,
    address: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = ["chat", rows, *options.split(), "--template", "chatml"]
    alone = printed(capfd, *command)
    monkeypatch.setattr(chat, "ROWS_PER_TASK", 4)
    assert printed(capfd, *command, "--scheduler", address) == alone
    assert alone[1]
