"""Shared fixtures and hooks: the Hypothesis profile, separate folders, processes."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Generator, Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest

from tests import profiles as profiles  # loads the profile of Hypothesis
from tests.forks import Forks
from tokviz.tokenizer.pretokenize import guard

FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Variables set for each test. The cache folder, which has only machine code, is shared."""


WORKERS = 5


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Run all tests in five processes, because they wait a lot, and named tests in one."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        config.option.dist = "no"
        return 0
    return WORKERS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Compile the tests once, before every process would compile all of them."""
    if sys.dont_write_bytecode or any(Path(cache_from_source(__file__)).parent.glob("test_*")):
        return
    tui = "tests/tui"
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    halves = [
        subprocess.Popen([*collect, *half], stdout=subprocess.DEVNULL)
        for half in ([tui], ["tests", f"--ignore={tui}"])
    ]
    for one in halves:
        one.wait()


MAX_ID_CHARS = 60
"""Maximum length of a parameter in the id of its test."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten long texts, because every process sends and compares all ids."""
    if not isinstance(val, (str, bytes)) or len(val) <= MAX_ID_CHARS:
        return None
    return f"{val[:MAX_ID_CHARS]!r}, {len(val)} long"


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Escape lone surrogates in reports, because pytest-xdist cannot send them."""
    return _escape_surrogates((yield))


def _escape_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_escape_surrogates(key): _escape_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escape_surrogates(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(_escape_surrogates, value))
    return value


def pytest_collection_finish() -> None:
    """Run the garbage collector less often, because the tests and their modules are not garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's settings, runs, texts, tokenizer and clipboard out of every test."""
    for name in FOLDERS:
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("DISPLAY", "TOKVIZ_TOKENIZER", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True, scope="session")
def brief_steps() -> Iterator[None]:
    """Lower the time limit of regexes with catastrophic backtracking."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "STEP_SECONDS", guard.STEP_SECONDS / 4)
        yield


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """A process that is forked for every command and job."""
    forks = Forks()
    yield forks
    forks.close()


LONG = (
    "test_every_action.py", "test_dialog_focus.py", "test_mistakes.py", "test_benchmarks.py",
    "test_readme.py", "test_compiled.py", "/tui/screens/",
)  # fmt: skip
"""Slow files and folders, which must start first so that no worker is idle at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest files."""

    def rank(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((i for i, part in enumerate(LONG) if part in path), len(LONG))

    items.sort(key=rank)
