"""Undo for everything that changes a conversation: typing, messages, template and file."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tokviz.chat.conversation import Conversation
from tokviz.tui.widgets.conversation.rows import PartPlace

_MAX_STATES = 1_000
_MAX_CHARS = 64_000_000
_SECONDS_PER_RUN = 2.0
_CHARS_PER_RUN = 100


class Origin(NamedTuple):
    """Where a conversation comes from.

    Attributes:
        path: The file, None for one that has not been saved.
        row: Its row in the file, from 0; None where the file is one conversation.
    """

    path: Path | None = None
    row: int | None = None


class State(NamedTuple):
    """What undo brings back.

    Attributes:
        conversation: The conversation.
        template: The name of the template.
        origin: Where the conversation comes from.
        place: The part that was edited, None in an empty conversation.
        location: The line and column of the cursor in it.
    """

    conversation: Conversation
    template: str
    origin: Origin = Origin()
    place: PartPlace | None = None
    location: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class _Entry:
    state: State
    cost: int
    run: PartPlace | None
    began: float
    length: int


class History:
    """States in order, one of which is the present one.

    Typing in one part without a pause is one step. The oldest steps are forgotten when there are
    too many or when they hold too much text.
    """

    def __init__(self, first: State, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with a state that cannot be undone.

        Args:
            first: The state.
            clock: Gives the seconds that tell a pause in typing.
        """
        self._clock = clock
        self._entries = [_Entry(first, 0, None, 0.0, 0)]
        self._at = 0

    @property
    def state(self) -> State:
        """The present state."""
        return self._entries[self._at].state

    def move(self, place: PartPlace | None, location: tuple[int, int]) -> None:
        """Remember where the cursor is in the present state."""
        entry = self._entries[self._at]
        entry.state = entry.state._replace(place=place, location=location)

    def relocate(self, conversation: Conversation, origin: Origin) -> None:
        """Say where a conversation is from now on: it has been saved there."""
        for entry in self._entries:
            if entry.state.conversation is conversation:
                entry.state = entry.state._replace(origin=origin)

    def is_ahead(self, conversation: Conversation) -> bool:
        """Tell whether a conversation is the present one, or one that redo leads to."""
        return any(entry.state.conversation is conversation for entry in self._entries[self._at :])

    def restart(self, first: State) -> None:
        """Forget all states, and begin with another one."""
        self._entries = [_Entry(first, 0, None, 0.0, 0)]
        self._at = 0

    def break_run(self) -> None:
        """Let what is typed next be a step of its own."""
        self._entries[self._at].run = None

    def record(
        self,
        state: State,
        *,
        typed_in: PartPlace | None = None,
        n_chars: int = 0,
        instead: bool = False,
    ) -> None:
        """Go to a new state; what was undone can no longer be done again.

        Args:
            state: The state.
            typed_in: The part that was typed in, None for any other change.
            n_chars: How much text the state holds that the one before did not.
            instead: Whether it takes the place of the present state, if there is one before that.
        """
        if instead and self._at > 0:
            self._at -= 1
        del self._entries[self._at + 1 :]
        now = self._clock()
        last = self._entries[-1]
        if (
            typed_in is not None
            and last.run == typed_in
            and now - last.began < _SECONDS_PER_RUN
            and last.length < _CHARS_PER_RUN
        ):
            last.state, last.cost = state, n_chars
            last.length += 1
            return
        self._entries.append(_Entry(state, n_chars, typed_in, now, 1))
        self._at += 1
        self._forget()

    def _forget(self) -> None:
        n_chars = sum(entry.cost for entry in self._entries)
        while len(self._entries) > 2 and (len(self._entries) > _MAX_STATES or n_chars > _MAX_CHARS):
            n_chars -= self._entries.pop(0).cost
            self._at -= 1

    def undo(self) -> State | None:
        """Go back a step; None if there is none."""
        return self._step(-1)

    def redo(self) -> State | None:
        """Go forward a step; None if there is none."""
        return self._step(1)

    def _step(self, step: int) -> State | None:
        if not 0 <= self._at + step < len(self._entries):
            return None
        self._at += step
        self.break_run()
        return self.state
