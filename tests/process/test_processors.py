"""Number of threads for compiled loops."""

from __future__ import annotations

import os

import pytest

from tokviz.process.limits import n_processors


@pytest.mark.parametrize(
    ("n_available", "niceness", "expected"),
    [(1, 0, 0), (2, 0, 2), (3, 0, 3), (8, 0, 4), (2, 5, 0), (3, 5, 2), (8, 5, 4)],
)
def test_a_process_in_the_background_leaves_one_processor_free(
    monkeypatch: pytest.MonkeyPatch, n_available: int, niceness: int, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(n_available)), raising=False)
    monkeypatch.setattr(os, "nice", lambda _: niceness, raising=False)
    assert n_processors() == expected
