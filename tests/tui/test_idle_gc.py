"""Garbage is collected in small steps, and completely in a pause."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from tokviz.tui import idle_gc
from tokviz.tui.idle_gc import IdleCollector


class Node:
    itself: object


def make_garbage() -> Callable[[], object]:
    """Return a weak reference to an object that only the collector can free."""
    node = Node()
    node.itself = node
    return weakref.ref(node)


@pytest.fixture(autouse=True)
def returned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Collect at each call, and record when memory goes back to the system."""
    calls = list[bool]()
    monkeypatch.setattr(idle_gc, "give_back", lambda: calls.append(True))
    monkeypatch.setattr(idle_gc, "YOUNG_COLLECTIONS", 0)
    gc.unfreeze()
    return calls


@pytest.mark.parametrize("idle_seconds", [0.0, 2.0])
def test_new_garbage_is_collected_and_survivors_are_skipped(
    idle_seconds: float, returned: list[bool]
) -> None:
    gone = make_garbage()
    IdleCollector().collect(idle_seconds)
    assert gone() is None
    assert gc.get_freeze_count()
    assert bool(returned) == (idle_seconds > 0), "memory goes back in a pause only"


@pytest.mark.parametrize(
    ("idle_seconds", "per_full", "is_freed"),
    [(0.0, 1, False), (2.0, 9, False), (2.0, 1, True), (20.0, 9, True)],
)
def test_old_garbage_is_collected_in_a_long_pause_or_after_many_collections(
    idle_seconds: float, per_full: int, is_freed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_gc, "COLLECTIONS_PER_FULL", per_full)
    collector = IdleCollector()
    collector.collect(0.0)
    gone = make_garbage()
    gc.freeze()
    collector.collect(idle_seconds)
    assert (gone() is None) == is_freed


def test_nothing_is_collected_before_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_gc, "YOUNG_COLLECTIONS", float("inf"))
    gone = make_garbage()
    IdleCollector().collect(20.0)
    assert gone() is not None
