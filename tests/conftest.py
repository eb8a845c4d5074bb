"""What all tests share: the profile of Hypothesis, folders of their own."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from tests import profiles as profiles  # loads the profile of Hypothesis
from tests.forks import Forks
from tokviz.tokenizer.pretokenize import guard

FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""The folder of caches is shared: it holds nothing but machine code."""


WORKERS = 5


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests take five processes, as they wait a lot; those that are named take none more."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        config.option.dist = "no"
        return 0
    return WORKERS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Compile the tests before there are processes, each of which would compile all of them."""
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


SHOWN = 60
"""Characters of a parameter in the name of its test."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a long text by its beginning: every process gets, sends and compares all names."""
    if not isinstance(val, (str, bytes)) or len(val) <= SHOWN:
        return None
    return f"{val[:SHOWN]!r}, {len(val)} long"


def pytest_collection_finish() -> None:
    """Look for garbage less often: what the tests and their modules hold is none."""
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
    """Give up a regex that explodes after less processor time, all of which it would take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "STEP_SECONDS", guard.STEP_SECONDS / 4)
        yield


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Where commands and jobs are forks of one process."""
    forks = Forks()
    yield forks
    forks.close()


LONG = ("test_every_action.py", "test_benchmarks.py", "test_compiled.py", "/tui/screens/")
"""Files that take long, or their folder: begun last, they would leave one worker idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""

    def place(item: pytest.Item) -> int:
        path = item.path.as_posix()
        return next((i for i, part in enumerate(LONG) if part in path), len(LONG))

    items.sort(key=place)
