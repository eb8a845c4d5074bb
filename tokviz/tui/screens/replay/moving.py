"""Going through the merges: playing, stepping, scrubbing and leaping."""

from __future__ import annotations

from time import monotonic

from textual import on
from textual.timer import Timer

from tokviz.tui.screens.replay.base import ReplayBase
from tokviz.tui.screens.replay.position import Position, clamped, frame_back, frame_on
from tokviz.tui.widgets.cursor_curve import CursorCurve
from tokviz.tui.widgets.scrubber import Scrubber

FRAMES_PER_SECOND = 30
_LEAST_LEAP = 10


class Moving(ReplayBase):
    """Answers everything that leads to another merge."""

    _clock: Timer | None = None
    _last_tick = 0.0

    # -- playing

    def action_play_pause(self) -> None:
        """Begin or stop to go on by itself; from the end it begins anew."""
        if self.player.playing:
            self.pause()
            return
        if not self.n_merges:
            return
        if self.position == Position(self.n_merges):
            self.go_to(Position(0))
        self.player.start()
        self._last_tick = monotonic()
        if self._clock is None:
            self._clock = self.set_interval(1 / FRAMES_PER_SECOND, self._tick)
        self._clock.resume()
        self.show_transport()

    def pause(self) -> None:
        """Stop where it is."""
        if self._clock is not None:
            self._clock.pause()
        if self.player.playing:
            self.player.playing = False
            self.show_transport()

    def _tick(self) -> None:
        now = monotonic()
        seconds, self._last_tick = now - self._last_tick, now
        position = self.player.advance(self.position, seconds, self.n_merges)
        if position != self.position:
            self.go_to(position)
        if self.position == Position(self.n_merges):
            self.pause()

    def action_faster(self) -> None:
        """Play faster."""
        self._change_speed(1)

    def action_slower(self) -> None:
        """Play slower."""
        self._change_speed(-1)

    def _change_speed(self, by: int) -> None:
        self.player.faster(by)
        self.show_transport()

    # -- one by one

    def action_step_forward(self) -> None:
        """Go one frame on."""
        self._go(frame_on(self.position, self.n_merges))

    def action_step_back(self) -> None:
        """Go one frame back."""
        self._go(frame_back(self.position))

    def action_next_merge(self) -> None:
        """Go one merge on."""
        self._go_to_number(self.position.n_done + 1)

    def action_previous_merge(self) -> None:
        """Go one merge back."""
        self._go_to_number(self.position.n_done - self.position.merged)

    def action_leap_forward(self) -> None:
        """Go on by many merges."""
        self._go_to_number(self.position.n_done + self._leap)

    def action_leap_back(self) -> None:
        """Go back by many merges."""
        self._go_to_number(self.position.n_done - self._leap)

    @property
    def _leap(self) -> int:
        return max(_LEAST_LEAP, self.n_merges // 100)

    def action_go_start(self) -> None:
        """Go before the first merge."""
        self._go_to_number(0)

    def action_go_end(self) -> None:
        """Go behind the last merge."""
        self._go_to_number(self.n_merges)

    def action_next_in_text(self) -> None:
        """Go on to the next merge that changes the user's text."""
        text = self.own.prepared
        if text is not None:
            self._go_in_text(text.next_change(self.position.number), "later")

    def action_previous_in_text(self) -> None:
        """Go back to the merge before that changed the user's text."""
        text, here = self.own.prepared, self.position.number
        if text is not None:
            self._go_in_text(text.previous_change(here - 1) if here else None, "earlier")

    def _go_in_text(self, number: int | None, which: str) -> None:
        if number is None:
            self.say(f"No {which} merge changes your text.")
        else:
            self._go(Position(number, False))

    def _go_to_number(self, number: int) -> None:
        self._go(clamped(number, self.n_merges))

    def _go(self, position: Position) -> None:
        """Go where the user wants to; that ends playing."""
        if self.replay is not None:
            self.pause()
            self.go_to(position)

    def jump_to(self, number: int) -> None:
        """Go to a merge that the user has pointed out, and show its pair first."""
        self._go(clamped(number, self.n_merges, merged=False))

    # -- by the mouse

    @on(Scrubber.Moved)
    def _scrubbed(self, event: Scrubber.Moved) -> None:
        event.stop()
        self._go_to_number(event.value)

    @on(CursorCurve.Moved)
    def _curve_scrubbed(self, event: CursorCurve.Moved) -> None:
        event.stop()
        self._go_to_number(event.x)
