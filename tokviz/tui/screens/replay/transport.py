"""Navigation through the merges: play, step, scrub and jump."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic

from textual import on
from textual.timer import Timer
from textual.widgets import Input, TextArea

from tokviz.tui.actions import action
from tokviz.tui.screens.base import Controller
from tokviz.tui.screens.replay.position import (
    SPEEDS,
    START,
    Player,
    Position,
    clamped,
    frame_back,
    frame_on,
    speed_label,
)
from tokviz.tui.screens.replay.state import ReplayState
from tokviz.tui.widgets.bar import Bar, BarItem
from tokviz.tui.widgets.cursor_curve import Dragged, Scale, Scrubber
from tokviz.tui.widgets.lists import PickList
from tokviz.tui.widgets.rows_view import RowsView
from tokviz.tui.widgets.spans import Span, ToMerge, ToToken
from tokviz.tui.widgets.token_text import TokenText

FRAMES_PER_SECOND = 30
FIRST_SECONDS = 1.0
"""Seconds that a tiny corpus is shown as bytes before its first merge."""
WORDS_A_SECOND = 4.0
"""Reading speed for the words of a lesson."""
_LEAST_LEAP = 10
# These keys are printable or move a cursor, so the focused widget handles them first.
_play = partial(action, section="Play", priority=False)


def _may_leap(transport: Transport) -> bool:
    """Return True if Home and End move through the merges, not through a focused text."""
    screen = transport.screen
    return not (screen.is_current and isinstance(screen.focused, Input | TextArea))


class Transport(Controller):
    """Handle all commands that change the position, and show it."""

    _state: ReplayState
    _bar: Bar
    _scrubber: Scrubber
    _moved: Callable[[], object]

    def set_up(self) -> None:
        """Create the other fields."""
        self._clock: Timer | None = None
        self._last_tick = 0.0
        self._was_playing = self._is_log = False

    def show(self) -> None:
        """Show the playback state, the speed and the position."""
        state = self._state
        first = state.comparison.diff.first_number if state.comparison is not None else None
        self._bar.show(
            transport_items(state.player),
            status_items(state.position, state.n_merges, is_log=self._is_log),
        )
        self._scrubber.show(state.position.n_done, Scale(state.n_merges, self._is_log), first)

    def set_scale(self, is_log: bool) -> None:
        """Scrub on a linear or a logarithmic scale."""
        self._is_log = is_log
        self.show()

    # -- playing

    @_play("Play or pause", "space", footer="play")
    def play_pause(self) -> None:
        """Play the merges, each in two frames: the pair highlighted, then merged."""
        state = self._state
        if state.player.playing:
            self.pause()
            return
        if not state.n_merges:
            return
        if state.position == Position(state.n_merges):
            # At the end, start again.
            self.show_position(START)
        state.player.start()
        self._last_tick = monotonic()
        if self._clock is None:
            self._clock = self.screen.set_interval(1 / FRAMES_PER_SECOND, self._tick)
        self._clock.resume()
        self.show()

    def pause(self) -> None:
        """Pause."""
        if self._clock is not None:
            self._clock.pause()
        if self._state.player.playing:
            self._state.player.playing = False
            self.show()

    def end(self) -> None:
        """Stop the timer."""
        self.pause()

    def rest(self) -> None:
        """Pause while the screen is hidden."""
        self._was_playing = self._state.player.playing
        self.pause()

    def go_on(self) -> None:
        """Continue playing after the screen was hidden."""
        if self._was_playing:
            self._was_playing = False
            (self.begin if self._state.position == START else self.play_pause)()

    def _tick(self) -> None:
        state, now = self._state, monotonic()
        seconds, self._last_tick = now - self._last_tick, now
        position = state.player.advance(state.position, seconds, state.n_merges)
        if position != state.position:
            self.show_position(position)
            self._let_read()
        if state.position == Position(state.n_merges):
            self.pause()

    def begin(self) -> None:
        """Play from the start, after time to read the screen."""
        if not self.screen.is_current:
            self._was_playing = True
            return
        self.play_pause()
        self._state.player.hold(FIRST_SECONDS)
        self._let_read()

    def _let_read(self) -> None:
        """Hold a merge of a lesson as long as it takes to read its text."""
        lesson, position = self._state.lesson, self._state.position
        if lesson is not None and position.merged:
            words = next((look.say for look in lesson.looks if look.at == position.number), "")
            self._state.player.hold(len(words.split()) / WORDS_A_SECOND)
            self.show()

    # -- one by one

    @_play("Next frame", "right", footer="on")
    def step_forward(self) -> None:
        """Highlight the next pair, then merge it."""
        self._go(frame_on(self._state.position, self._state.n_merges))

    @_play("Previous frame", "left", footer="back")
    def step_back(self) -> None:
        """Undo the merge, then go to the previous one."""
        self._go(frame_back(self._state.position))

    @_play("Next merge", "n", "shift+right")
    def next_merge(self) -> None:
        """Go forward by one merge."""
        self._go_by(1)

    @_play("Previous merge", "p", "shift+left")
    def previous_merge(self) -> None:
        """Go back by one merge."""
        self._go_by(-self._state.position.merged)

    @_play("Next merge in your text", "full_stop", footer="next in your text")
    def next_in_text(self) -> None:
        """Go to the next merge that changes your text."""
        text = self._state.prepared
        if text is not None:
            self._go_in_text(text.next_change(self._state.position.number), "later")

    @_play("Previous merge in your text", "comma", footer="previous")
    def previous_in_text(self) -> None:
        """Go to the previous merge that changes your text."""
        text, here = self._state.prepared, self._state.position.number
        if text is not None:
            self._go_in_text(text.previous_change(here - 1) if here else None, "earlier")

    def _go_in_text(self, number: int | None, which: str) -> None:
        if number is None:
            self.say(f"No {which} merge changes your text.")
        else:
            self.jump_to(number)

    @_play("Jump forward", "pagedown")
    def leap_forward(self) -> None:
        """Go forward by a hundredth of all merges, at least ten."""
        self._go_by(self._leap)

    @_play("Jump back", "pageup")
    def leap_back(self) -> None:
        """Go back by a hundredth of all merges, at least ten."""
        self._go_by(-self._leap)

    @property
    def _leap(self) -> int:
        return max(_LEAST_LEAP, self._state.n_merges // 100)

    @_play("To the start", "home", priority=True, when=_may_leap)
    def go_start(self) -> None:
        """Go before the first merge, where every byte is a token."""
        self._go_to_number(0)

    @_play("To the end", "end", priority=True, when=_may_leap)
    def go_end(self) -> None:
        """Go after the last merge, where the vocabulary is complete."""
        self._go_to_number(self._state.n_merges)

    # -- how fast

    @_play("Play faster", "plus", "equals_sign")
    def faster(self) -> None:
        """Go up to 1,024 merges per second. From 8 on only the frame after each merge is shown."""
        self._change_speed(1)

    @_play("Play slower", "minus")
    def slower(self) -> None:
        """Go down to one merge in four seconds, for example in class."""
        self._change_speed(-1)

    def _change_speed(self, by: int) -> None:
        self._state.player.faster(by)
        self.show()

    # -- navigation

    def show_position(self, position: Position) -> None:
        """Show another frame."""
        self._state.position = position
        self.show()
        self._moved()

    def jump_to(self, number: int) -> None:
        """Go to a merge chosen by the user, and show its pair first."""
        self._go_to_number(number, merged=False)

    def _go_by(self, merges: int) -> None:
        self._go_to_number(self._state.position.n_done + merges)

    def _go_to_number(self, number: int, *, merged: bool = True) -> None:
        self._go(clamped(number, self._state.n_merges, merged))

    def _go(self, position: Position) -> None:
        """Go to a position and pause."""
        if self._state.replay is not None:
            self.pause()
            self.show_position(position)

    # -- by the mouse

    @on(Dragged.Moved)
    def _scrubbed(self, event: Dragged.Moved) -> None:
        self._go_to_number(event.value)

    @on(TokenText.Picked)
    def _token_picked(self, event: TokenText.Picked) -> None:
        self.jump_to_token(event.token_id)

    @on(RowsView.Picked)
    def _word_picked(self, event: RowsView.Picked) -> None:
        match event.action:
            case ToMerge(number):
                self.jump_to(number)
            case ToToken(token_id):
                self.jump_to_token(token_id)

    def jump_to_token(self, token_id: int) -> None:
        """Go to the merge that creates a token, or report that none does."""
        replay = self._state.replay
        token = None if replay is None else replay.tokenizer.bytes_of(token_id)
        if replay is None or token is None:  # the click was on a token of another tokenizer
            return
        number = replay.tokenizer.merge_number(token_id)
        if number is None:
            if replay.tokenizer.is_special(token_id):
                what = ": it is a special token"
            else:
                what = ": it is a single byte" if len(token) == 1 else ""
            self.say(f"No merge creates this token{what}.")
        else:
            self.jump_to(number)

    @on(PickList.Picked, "#candidates")
    def _candidate_picked(self, event: PickList.Picked) -> None:
        number = event.row.number
        if number is None:
            self.say("This pair is never merged.")
        else:
            self.jump_to(number)


def transport_items(player: Player) -> list[BarItem]:
    """Return the buttons: start, back, play or pause, forward, end, and speed."""
    play, speed = ("‖ pause", "‖") if player.playing else ("▶ play ", "▶"), player.speed
    pace = ("time to read", "read") if player.is_held else (speed_label(speed), f"{speed:g}/s")
    return [
        _button("play_pause", *play),
        _button("step_back", "◀ back", "◀"),
        _button("step_forward", "on ▶", "▶"),
        _button("go_start", "▏◀ start", "▏◀"),
        _button("go_end", "end ▶▕", "▶▕"),
        BarItem((Span("−" if speed > SPEEDS[0] else " ", "key"),), "screen.slower"),
        BarItem((Span(pace[0], "heading"),), "", (Span(pace[1], "heading"),)),
        BarItem((Span("+" if speed < SPEEDS[-1] else " ", "key"),), "screen.faster"),
    ]


def _button(action: str, words: str, shorter: str) -> BarItem:
    return BarItem((Span(words, "key"),), f"screen.{action}", (Span(shorter, "key"),))


def status_items(position: Position, n_merges: int, *, is_log: bool = False) -> list[BarItem]:
    """Return the number of the merge, the total, its frame, and a logarithmic scale."""
    if not n_merges:
        return []
    where = f"{position.number:,} of {n_merges:,}"
    phase = "after" if position.merged else "before"
    if not position.number:
        phase = "start"
    scale = BarItem((Span("logarithmic"),), "screen.toggle_scale", (Span("log"),))
    return [
        *((scale,) if is_log else ()),
        BarItem((Span(phase),), "", (Span(""),)),
        BarItem((Span("merge "), Span(where, "heading")), "", (Span(where, "heading"),)),
    ]
