"""The line of buttons below the replay."""

from __future__ import annotations

from tokviz.tui.screens.replay.position import SPEEDS, Position, speed_label
from tokviz.tui.widgets.bar import BarItem


def transport_items(playing: bool, speed: float) -> list[BarItem]:
    """Give the buttons: to the start, back, play or pause, on, to the end, and the speed."""
    play = ("‖ pause", "‖") if playing else ("▶ play ", "▶")
    return [
        _button("play_pause", *play),
        _button("step_back", "◀ back", "◀"),
        _button("step_forward", "on ▶", "▶"),
        _button("go_start", "▏◀ start", "▏◀"),
        _button("go_end", "end ▶▕", "▶▕"),
        BarItem((("−" if speed > SPEEDS[0] else " ", "key"),), "screen.slower"),
        BarItem(((f"{speed_label(speed):<4}", "active"),)),
        BarItem((("+" if speed < SPEEDS[-1] else " ", "key"),), "screen.faster"),
    ]


def _button(action: str, words: str, shorter: str) -> BarItem:
    return BarItem(((words, "key"),), f"screen.{action}", ((shorter, "key"),))


def status_items(position: Position, n_merges: int) -> list[BarItem]:
    """Say which merge it is, of how many, and which frame of it."""
    if not n_merges:
        return []
    where = f"{position.number:,} of {n_merges:,}"
    phase = "merged" if position.merged else "the pair"
    if not position.number:
        phase = "bytes"
    return [
        BarItem(((phase, "plain"),), "", (("", "plain"),)),
        BarItem((("merge ", "plain"), (where, "chip")), "", ((where, "chip"),)),
    ]
