"""Timers that end once end, however short their time is and however late they begin.

Textual's work out which of their periods were missed. One whose time was up before it began then
goes round for ever, and the app with it; one whose time passes just then never ends.
"""

from __future__ import annotations

from typing import Any

from textual.timer import Timer

_begin = Timer.__init__


def _begin_timer(timer: Timer, *arguments: Any, **options: Any) -> None:
    _begin(timer, *arguments, **options)
    timer._skip = timer._skip and timer._repeat != 0


def let_timers_end() -> None:
    """Have no timer that ends once miss a period, from now on."""
    setattr(Timer, "__init__", _begin_timer)  # noqa: B010  # Textual makes most of them itself
