"""The progress line of a training."""

from __future__ import annotations

import io

import pytest

from tokviz.cli.progress import ProgressLine, format_duration, progress_text
from tokviz.training.progress import NewMerge, TrainProgress

MERGING = TrainProgress(
    "merging", 0.25, 3.0, 65.4, 3000, 7, 10, 40, 1000, (NewMerge(b" \x1b", b"\xff", 3),)
)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_merging_shows_the_time_left_the_compression_and_the_newest_token():
    assert progress_text(MERGING, 120) == (
        "merging   ██████░░░░░░░░░░░░░░░░░░  25%  1:05 left  10 of 40 merges  3.00 bytes/token"
        "  ·␛‹ff›"
    )


def test_reading_shows_what_was_read():
    text = progress_text(MERGING._replace(phase="reading", n_bytes=2_500_000), 120)
    assert text.endswith("2.5 MB  7 distinct pre-tokens")


@pytest.mark.parametrize("phase", ["saving", "comparing"])
def test_a_phase_of_unknown_length_has_no_percentage(phase):
    assert progress_text(MERGING._replace(phase=phase, fraction=0.0), 120) == f"{phase}…"


@pytest.mark.parametrize("width", [10, 40, 60, 79])
def test_the_line_fits_the_terminal(width):
    wide = MERGING._replace(newest=(NewMerge("你好".encode(), "世界".encode(), 1),))
    text = progress_text(wide, width)
    assert len(text) + sum(char in "你好世界" for char in text) <= width


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (7.6, "0:08"), (59.7, "1:00"), (3723, "1:02:03")]
)
def test_times_are_written_as_on_a_clock(seconds, shown):
    assert format_duration(seconds) == shown


def test_the_line_is_drawn_over_itself_and_leaves_no_trace():
    terminal = _Terminal()
    line = ProgressLine(terminal)
    line.show(MERGING._replace(phase="reading"))
    line.show(MERGING)
    line.clear()
    drawn = terminal.getvalue().split("\r")
    assert [text.split(" ")[0] for text in drawn] == ["", "reading", "merging", "\x1b[K"]
    assert "\n" not in terminal.getvalue()


def test_nothing_is_drawn_where_there_is_no_terminal():
    stream = io.StringIO()
    line = ProgressLine(stream)
    line.show(MERGING)
    line.clear()
    assert stream.getvalue() == ""
