"""What the apps of one process need not do again and again: all have the same styles, unseen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.notifications import Notification

from tests.forks import Forks, forked_jobs
from tests.tui.waiting import WAIT
from tokviz.explain.vocabulary.index import VocabularyIndex
from tokviz.tokenizer.tokenizer import Tokenizer
from tokviz.tui import clipboard
from tokviz.tui.clipboard import CopyResult
from tokviz.tui.screens.vocabulary import searching

SHEETS: dict[Any, list[RuleSet]] = {}
TRIED: list[tuple[Tokenizer, Any]] = []
LARGE = 10_000
"""Tokens of a vocabulary that comes with tokviz; those that tests make are small."""


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Take what is copied, in place of the clipboard."""
    texts: list[str] = []

    async def copy(app: object, text: str) -> CopyResult:
        texts.append(text)
        return CopyResult("clipboard")

    monkeypatch.setattr(clipboard, "copy", copy)
    return texts


@pytest.fixture(autouse=True)
def every_key_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no key overtake what the one before does, however busy the machine is."""
    monkeypatch.setattr("tokviz.tui.input_queue.ANSWER_SECONDS", WAIT)


@pytest.fixture(autouse=True)
def what_was_said_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what the app says stand until the test has read it, however busy the machine is."""
    monkeypatch.setattr(Notification, "has_expired", False)


@pytest.fixture(autouse=True, scope="module")
def jobs_are_forks(forks: Forks) -> Iterator[None]:
    """Start Python for no job: to import what it needs is most of its work."""

    with forked_jobs(forks):
        yield


@pytest.fixture(autouse=True, scope="module")
def parse_style_sheets_once() -> Iterator[None]:
    """Parse every style sheet once: the apps of one process have the same."""
    parse = Stylesheet._parse_rules

    def parse_rules(self: Stylesheet, *sheet: Any, **about: Any) -> list[RuleSet]:
        key = (sheet, *about.values(), *self._variables.items())
        if key not in SHEETS:
            SHEETS[key] = parse(self, *sheet, **about)
        return SHEETS[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_rules)
        yield


@pytest.fixture(autouse=True, scope="module")
def tried_once() -> Iterator[None]:
    """Try every token of a large vocabulary once: it takes a second each time."""
    find = searching.unreachable_rows

    def unreachable_rows(index: VocabularyIndex, **options: Any) -> Any:
        for tokenizer, found in TRIED:
            if tokenizer is index.tokenizer:
                return found.copy()
        found = find(index, **options)
        if len(index) > LARGE:
            TRIED.append((index.tokenizer, found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "unreachable_rows", unreachable_rows)
        yield
