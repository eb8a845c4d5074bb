"""Progress lines on the terminal."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TextIO

from tokviz.text.glyphs import n_cells, token_label
from tokviz.training.progress import TrainProgress

_REDRAW_SECONDS = 0.1
_BAR_CELLS = 24
_CLEAR_TO_END = "\x1b[K"


@contextmanager
def first_ctrl_c(then: Callable[[], object] = lambda: None) -> Iterator[Event]:
    """Set an event and call `then` at the first Ctrl+C; raise `KeyboardInterrupt` at the second."""
    interrupted = Event()

    def take(*_: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        then()

    previous = signal.signal(signal.SIGINT, take)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, previous)


class StatusLine:
    """A line of text that is redrawn in place; silent if the stream is not a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Set the stream to draw on, by default standard error."""
        self._stream = sys.stderr if stream is None else stream
        self._draws = self._stream is not None and self._stream.isatty()
        self._next = time.monotonic() + _REDRAW_SECONDS
        self._is_drawn = False

    def __enter__(self) -> StatusLine:
        """Return the line."""
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the line."""
        self.clear()

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed to draw again."""
        return self._draws and time.monotonic() >= self._next

    def draw(self, text: str) -> None:
        """Replace the line with a text."""
        self._next = time.monotonic() + _REDRAW_SECONDS
        self._is_drawn = True
        self._write(text)

    def clear(self) -> None:
        """Clear the line, so that other output can be printed."""
        if self._is_drawn:
            self._is_drawn = False
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}{_CLEAR_TO_END}")
        self._stream.flush()


class ProgressLine(StatusLine):
    """A progress line for the reports of a training."""

    _phase = ""

    def show(self, report: TrainProgress) -> None:
        """Draw a report, unless another one of the same phase was drawn a moment ago."""
        if self.is_due or (self._draws and report.phase != self._phase):
            self._phase = report.phase
            self.draw(progress_text(report, shutil.get_terminal_size().columns - 1))


def progress_text(report: TrainProgress, width: int) -> str:
    """Format a report as one line of at most `width` characters."""
    n_full = round(report.fraction * _BAR_CELLS)
    bar = "█" * n_full + "░" * (_BAR_CELLS - n_full)
    if report.phase not in ("reading", "merging"):
        return f"{report.phase}…"[:width]
    parts = [f"{report.phase:<9} {bar} {report.fraction:4.0%}", *_facts(report)]
    text = parts[0]
    for part in parts[1:]:
        if n_cells(text) + 2 + n_cells(part) > width:
            break
        text += "  " + part
    return text[:width]


def _facts(report: TrainProgress) -> list[str]:
    """Return the facts about the current phase, the most important first."""
    facts = []
    if report.eta_seconds is not None:
        facts.append(f"{format_duration(report.eta_seconds)} left")
    if report.phase == "reading":
        facts += [
            f"{report.n_bytes / 1e6:,.1f} MB",
            f"{report.n_pre_tokens:,} distinct pre-tokens",
        ]
    if report.phase == "merging":
        facts.append(f"{report.n_merges:,} of {report.n_merges_wanted:,} merges")
        if report.bytes_per_token is not None:
            facts.append(f"{report.bytes_per_token:.2f} bytes/token")
        if report.newest:
            facts.append(token_label(report.newest[-1].left + report.newest[-1].right))
    return facts


def format_duration(seconds: float) -> str:
    """Format a duration in minutes and seconds, or hours.

    >>> format_duration(7.6), format_duration(3723)
    ('0:08', '1:02:03')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
