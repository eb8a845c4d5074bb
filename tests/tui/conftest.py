"""What the apps of one process need not do again and again: all have the same styles, unseen."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
from textual import _callback
from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual._styles_cache import StylesCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.notifications import Notification
from textual.strip import Strip
from textual.widget import Widget

from tests.forks import Forks, Job, is_as_begun
from tests.tui.known_styles import PARSE_RULES, KnownStyles
from tests.tui.waiting import WAIT
from tokviz.tokenizer import Tokenizer
from tokviz.tui import clipboard, handlers
from tokviz.tui.clipboard import CopyResult
from tokviz.tui.screens.vocabulary import searching
from tokviz.vocabulary.index import VocabularyIndex

handlers.find_handlers_once()
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
    monkeypatch.setattr("tokviz.tui.app.ANSWER_SECONDS", WAIT)


@pytest.fixture(autouse=True)
def what_was_said_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what the app says stand until the test has read it, however busy the machine is."""
    monkeypatch.setattr(Notification, "has_expired", False)


@pytest.fixture(autouse=True)
def handlers_of_before_are_forgotten() -> None:
    """Have no test meet what another one had put in the place of a handler."""
    handlers._found.clear()


@pytest.fixture(autouse=True)
def no_screen_is_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no app of a test make all screens only since a busy machine gives it time."""
    monkeypatch.setattr("tokviz.tui.app.PAUSE_SECONDS", 8 * WAIT)


@pytest.fixture(autouse=True, scope="module")
def jobs_are_forks(forks: Forks) -> Iterator[None]:
    """Start Python for no job: to import what it needs is most of its work."""

    def begin(command: list[str], **options: Any) -> Any:
        if is_as_begun():
            return Job(forks, command, **options)
        return subprocess.Popen(command, **options)

    with pytest.MonkeyPatch.context() as patch:
        popen = SimpleNamespace(Popen=begin, PIPE=subprocess.PIPE)
        patch.setattr("tokviz.child.process.subprocess", popen)
        yield


@pytest.fixture(autouse=True, scope="module")
def same_styles() -> Iterator[None]:
    """Read every style sheet once, and find the rules of every place in the app once."""

    def parse_rules(self: Stylesheet, *sheet: Any, **about: Any) -> list[RuleSet]:
        key = (sheet, *about.values(), *self._variables.items())
        if key not in SHEETS:
            SHEETS[key] = PARSE_RULES(self, *sheet, **about)
        return SHEETS[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.app.Stylesheet", KnownStyles)
        patch.setattr("tokviz.tui.app.StylesOnDemand", KnownStyles)
        patch.setattr(Stylesheet, "_parse_rules", parse_rules)
        yield


class UnseenLines(StylesCache):
    """Has a widget draw the lines in it that changed, and nothing around them, if nobody looks."""

    nobody_looks = False

    def __init__(self) -> None:
        super().__init__()
        self.drawn: set[int] = set()
        self.size: Any = None

    def set_dirty(self, *regions: Region) -> None:
        super().set_dirty(*regions)
        for region in regions:
            self.drawn.difference_update(region.line_range)

    def clear(self) -> None:
        super().clear()
        self.drawn.clear()

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        if not self.nobody_looks:
            return super().render_widget(widget, crop)
        top, size = widget.styles.gutter.top, widget.content_size
        if size != self.size:
            self.size = size
            self.drawn.clear()
        for y in range(max(crop.y, top), min(crop.bottom, top + size.height)):
            if y not in self.drawn:
                self.drawn.add(y)
                widget.render_line(y - top)
        return []


@pytest.fixture(autouse=True, scope="module")
def unseen() -> Iterator[None]:
    """Let widgets draw their lines, and none be put together for a terminal that is not there."""
    whole = Compositor.render_update

    def render_update(
        self: Compositor,
        full: bool = False,
        screen_stack: list[Any] | None = None,
        simplify: bool = False,
    ) -> Any:
        if simplify or not active_app.get().is_headless:
            return whole(self, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        screen = self.size.region
        changed = {screen} if full else self._dirty_regions.copy()
        self._dirty_regions.clear()
        if changed:
            UnseenLines.nobody_looks = True
            try:
                deque(self._get_renders(Region.from_union(changed).intersection(screen)), maxlen=0)
            finally:
                UnseenLines.nobody_looks = False
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", render_update)
        patch.setattr("textual.widget.StylesCache", UnseenLines)
        yield


@pytest.fixture(autouse=True, scope="module")
def counted_by_code() -> Iterator[None]:
    """Count a function's parameters by its code: Textual inspects every lambda that it calls."""
    count = _callback._count_parameters

    def count_parameters(func: Callable[..., object]) -> int:
        if not isinstance(func, FunctionType) or "__wrapped__" in func.__dict__:
            return count(func)
        code = func.__code__
        rest = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
        return code.co_argcount + code.co_kwonlyargcount + rest

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_callback, "_count_parameters", count_parameters)
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
