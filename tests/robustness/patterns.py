"""Regexes that explode: typed into the search and into Splits, and in a tokenizer file.

    python tests/robustness/patterns.py 25
    python tests/robustness/patterns.py 3 --seed 7 --patient

Tries this number of classic regexes on a word that makes each explode. A search must end within a
second, and so must splitting, in Splits or with a file: the word becomes a gap, and the words next
to it are split. Meanwhile the app's event loop must keep running; its longest gap is the longest
delay of a key. The exit code is 1 if one of them takes longer; `--patient` only prints the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from textual.pilot import Pilot  # noqa: E402

import tokviz  # noqa: E402
from tests.tui.waiting import settle, until  # noqa: E402
from tokviz.tui.app import TokvizApp  # noqa: E402
from tokviz.tui.dialogs.find import FindDialog, FindField  # noqa: E402
from tokviz.tui.screens.tokens import TokensScreen  # noqa: E402
from tokviz.tui.widgets.splits.panel import SplitsPanel  # noqa: E402
from tokviz.tui.widgets.splits.regex_field import RegexInput  # noqa: E402
from tokviz.workspace.session import Opened, Session  # noqa: E402

A, SIGN = "a" * 40, "!"
PATTERNS: dict[str, str] = {
    **dict.fromkeys((
        r"(a+)+$", r"(a*)*$", r"(a|a)*$", r"(a|aa)+$", r"(?:a+)+b", r"(?:a|a)*b",
        r"(?:a?){40}a{40}b", r"(.*a){20}$", r"(a+a+)+$", r"((a+)+)+$", r"(?:a*)*b", r"([a-z]+)*$",
        r"(\w+)*$", r"(\w+\s?)*$", r"(a+b?)+$", r"(?:a|\w)*$", r"(?i:a|A)*$", r"(?:(?:a)|(?:a))+b",
        r"^(\w|\w\w)+$", r"(?:[aA]|a)*c",
    ), A + SIGN),
    r"^(([a-z])+.)+[A-Z]([a-z])+$": A,
    r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3}))$": A + SIGN,
    r"(\d+)*$": "1" * 40 + SIGN,
    r"(?:(?:(?:x+)x+)x+)+y": "x" * 40 + SIGN,
    r"(?:z|z)*b| ?\p{L}+|\s+|[^\s]": "z" * 40,
}  # fmt: skip
"""Classic exponential regexes, each with a word on which it explodes."""

MOST_SECONDS, LONGEST_GAP = 1.0, 0.05


class Figure(NamedTuple):
    """The effect of a pattern in a place: seconds until its end, and the loop's longest gap."""

    place: str
    pattern: str
    seconds: float
    gap: float

    @property
    def is_good(self) -> bool:
        """True if it ended in time and the loop kept running meanwhile."""
        return self.seconds <= MOST_SECONDS and self.gap <= LONGEST_GAP


@asynccontextmanager
async def watched(place: str, pattern: str, figures: list[Figure]) -> AsyncIterator[None]:
    """Measure the duration of the block, and the gaps of the event loop meanwhile."""
    gap = 0.0

    async def turn() -> None:
        nonlocal gap
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.002)
            now = time.monotonic()
            gap, last = max(gap, now - last), now

    turning = asyncio.create_task(turn())
    began = time.monotonic()
    try:
        yield
    finally:
        seconds = time.monotonic() - began
        turning.cancel()
    figures.append(Figure(place, pattern, seconds, gap))


async def holds(condition: Callable[[], object]) -> None:
    """Wait for a condition, checking it rarely."""
    while not condition():
        await asyncio.sleep(0.005)


async def search(pilot: Pilot[None], pattern: str, figures: list[Figure]) -> None:
    """Type a pattern into the search of the text."""
    await pilot.press("ctrl+f")
    dialog = pilot.app.screen
    assert isinstance(dialog, FindDialog)
    if not dialog.find_query.regex:
        dialog.action_toggle_regex()
    dialog.query_one(FindField).value = r"\d"  # the child starts
    await until(pilot, lambda: dialog._found_for == dialog.find_query)
    async with watched("search", pattern, figures):
        dialog.query_one(FindField).value = pattern
        await holds(lambda: dialog._found_for and dialog._found_for.text == pattern)
    dialog.dismiss(None)
    await settle(pilot)


async def splits(pilot: Pilot[None], pattern: str, figures: list[Figure]) -> None:
    """Write a pattern into the field of Splits."""
    screen = pilot.app.screen
    assert isinstance(screen, TokensScreen)
    screen.panels.show("splits")
    await until(pilot, lambda: pilot.app.query(SplitsPanel))
    panel = pilot.app.query_one(SplitsPanel)
    await until(pilot, lambda: panel._custom.known.result.complete)
    run = panel._run
    async with watched("Splits", pattern, figures):
        panel.query_one(RegexInput).value = pattern
        await holds(lambda: panel._run != run and panel._custom.incoming is None)


async def loaded(pilot: Pilot[None], folder: Path, pattern: str, figures: list[Figure]) -> None:
    """Use a tokenizer file that splits by a pattern."""
    path = folder / "exploding.model"
    path.write_text(f"minbpe v1\n{pattern}\n0\n", encoding="utf-8")
    tokenizer = tokviz.load(path)
    screen = pilot.app.screen
    assert isinstance(screen, TokensScreen)
    async with watched("file", pattern, figures):
        screen.session.use_tokenizer(tokenizer, str(path))
        await holds(lambda: screen.live.tokenizer is tokenizer and screen.live.settled)
    await settle(pilot)


async def measure(patterns: list[str]) -> list[Figure]:
    """Try patterns in every place, each in a new app."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for pattern in patterns:
            text = f"one\n{PATTERNS[pattern]}\ntwo"
            app = TokvizApp(Session(Opened(text), tokviz.load("gpt2"), remember=False))
            async with app.run_test(size=(120, 40)) as pilot:
                await settle(pilot)
                await search(pilot, pattern, figures)
                await splits(pilot, pattern, figures)
                await loaded(pilot, Path(folder), pattern, figures)
    return figures


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("number", type=int, help=f"of {len(PATTERNS)} patterns")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patient", action="store_true")
    asked = parser.parse_args(arguments)
    chosen = random.Random(asked.seed).sample(sorted(PATTERNS), min(asked.number, len(PATTERNS)))
    figures = asyncio.run(measure(chosen))
    bad = [figure for figure in figures if not figure.is_good]
    for figure in figures:
        mark = "✗" if figure in bad else "✓"
        shown = figure.pattern if len(figure.pattern) <= 40 else figure.pattern[:39] + "…"
        print(
            f"{mark} {figure.place:<7} {figure.seconds:5.2f} s {figure.gap * 1000:5.0f} ms  {shown}"
        )
    for place in ("search", "Splits", "file"):
        here = [figure for figure in figures if figure.place == place]
        seconds, gap = max(f.seconds for f in here), max(f.gap for f in here)
        print(
            f"{place}: {len(here)} ended, the last in {seconds:.2f} s, gap {gap * 1000:.0f} ms; "
            f"must be ≤ {MOST_SECONDS:.0f} s, ≤ {LONGEST_GAP * 1000:.0f} ms"
        )
    return int(bool(bad) and not asked.patient)


if __name__ == "__main__":
    sys.exit(main())
