"""Prevent one-shot timers from looping forever.

Upstream problem: `Timer._run` skips the periods that have passed, also for a timer with `repeat=0`.
A delay of zero divides by zero, a delay that is over before the task starts loops forever without
yielding, and a delay that passes at just that moment never fires. `ToastRack.show` creates such
timers from the time a notification has left. A timer that fires once should not skip periods.
"""

from __future__ import annotations

from typing import Any

from textual.timer import Timer

_init = Timer.__init__


def _init_timer(timer: Timer, *arguments: Any, **options: Any) -> None:
    _init(timer, *arguments, **options)
    timer._skip = timer._skip and timer._repeat != 0


def fix_one_shot_timers() -> None:
    """Disable period skipping for timers that fire once, from now on."""
    # Textual creates most timers itself, so a subclass would not reach them.
    setattr(Timer, "__init__", _init_timer)  # noqa: B010
