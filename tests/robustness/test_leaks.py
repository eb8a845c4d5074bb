"""A few places and payloads; the long run is `python tests/robustness/leaks.py`."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import Forks, forked_jobs
from tests.robustness import leaks
from tests.robustness.monkey import apart
from tests.robustness.payloads import PAYLOADS
from tests.robustness.payloads import leaks as leaks_in
from tokviz.cli import output
from tokviz.tui.line_filter import SafeLineFilter
from tokviz.tui.screens.tokens import screen as tokens_screen

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[leaks.Kit]:
    with apart():
        yield leaks.Kit(tmp_path, "".join(PAYLOADS))


def test_no_payload_is_harmless_and_each_is_seen() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 83
    assert [payload for payload in PAYLOADS if not leaks_in(f"a{payload}b", payload)] == []


def test_what_the_programs_write_themselves_is_no_leak() -> None:
    own = "\x1b[1;38;5;39mx\x1b[0m\x1b[K\r\n\x1b[2;7H世界 e\u0301\r10 %"
    assert leaks_in(own, PAYLOADS[0], (120, 40)) == []
    assert leaks_in("\x1b[41;7H", PAYLOADS[0], (120, 40))


def test_nothing_reaches_the_terminal_from_the_command_line(kit: leaks.Kit) -> None:
    chance = random.Random(3)
    results = list(leaks.try_command_line(0, kit, lambda _: chance.random() < 0.04))
    assert len(results) > 3
    assert [found for found in results if found] == []


def test_a_job_in_a_fork_says_what_one_in_a_process_of_its_own_does(
    kit: leaks.Kit, forks: Forks
) -> None:
    way = leaks.Way("replay", ["replay", kit.run, "--print", "--diff", kit.broken[0]])
    cold = leaks.run_command(way)
    forks.start()
    with forked_jobs(forks):
        assert leaks.run_command(way) == cold
    assert "is not JSON" in cold[1]


def test_nothing_reaches_the_terminal_from_the_app(kit: leaks.Kit) -> None:
    chance = random.Random(3)
    results = list(leaks.try_app(0, kit, lambda _: chance.random() < 0.04, ["tokens"]))
    assert len(results) > 10
    assert [found for found in results if found] == []


def test_nothing_does_so_where_the_net_under_the_widgets_is_taken_away(
    kit: leaks.Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SafeLineFilter, "apply", lambda self, segments, background: segments)
    chance = random.Random(5)
    chosen = lambda what: "command_palette" in what or chance.random() < 0.03  # noqa: E731
    results = list(leaks.try_app(0, kit, chosen, ["train"]))
    assert len(results) > 5
    assert [found for found in results if found] == []


def test_a_leak_of_the_command_line_is_found(
    kit: leaks.Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "safe", str)
    results = list(leaks.try_command_line(0, kit, lambda way: way[1] == ["count", kit.missing]))
    assert ["leak" in found.what for found in results if found] == [True]


def test_a_leak_of_the_app_is_found(kit: leaks.Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SafeLineFilter, "apply", lambda self, segments, background: segments)
    monkeypatch.setattr(tokens_screen, "safe", str)
    results = list(leaks.try_app(0, kit, lambda _: False, ["tokens"]))
    assert any(found and "leak" in found.what for found in results)
