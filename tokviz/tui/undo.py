"""Undo histories with a bound on their memory: of states, and of a text area's edits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.widgets.text_area import Edit, EditHistory

_MAX_STEPS = 1_000
_MAX_CHARS = 64_000_000
_SECONDS_PER_STEP = 2.0
_CHARS_PER_STEP = 100

StateT = TypeVar("StateT")


@dataclass(slots=True)
class _Entry(Generic[StateT]):
    state: StateT
    n_chars: int
    run: object
    started_at: float
    length: int = 1


class UndoHistory(Generic[StateT]):
    """States in order, one of which is the current one.

    Typing without a pause is one step. The oldest steps are forgotten when there are too many or
    when they contain too much text.
    """

    def __init__(self, first: StateT, clock: Callable[[], float] = time.monotonic) -> None:
        """Start with a state that cannot be undone.

        Args:
            first: The state.
            clock: Returns the time in seconds, to recognize a pause in typing.
        """
        self._clock = clock
        self.restart(first)

    def restart(self, first: StateT) -> None:
        """Forget all states, and start with another one."""
        self.entries = [_Entry(first, 0, None, 0.0)]
        self.index = 0

    @property
    def state(self) -> StateT:
        """The current state."""
        return self.entries[self.index].state

    @state.setter
    def state(self, state: StateT) -> None:
        self.entries[self.index].state = state

    def break_run(self) -> None:
        """Start a new step with the next change."""
        self.entries[self.index].run = None

    def record(
        self, state: StateT, *, run: object = None, n_chars: int = 0, instead: bool = False
    ) -> None:
        """Add a new state and discard the states that redo led to.

        Args:
            state: The state.
            run: Consecutive changes with an equal run and without a pause are one step; None
                starts a new step.
            n_chars: The number of characters of text that the previous state did not contain.
            instead: Whether it replaces the current state, unless that is the first one.
        """
        if instead and self.index > 0:
            self.index -= 1
        del self.entries[self.index + 1 :]
        now, last = self._clock(), self.entries[-1]
        if (
            run is not None
            and last.run == run
            and now - last.started_at < _SECONDS_PER_STEP
            and last.length < _CHARS_PER_STEP
        ):
            last.state, last.n_chars = state, n_chars
            last.length += 1
            return
        self.entries.append(_Entry(state, n_chars, run, now))
        self.index += 1
        total = sum(entry.n_chars for entry in self.entries)
        while len(self.entries) > 2 and (len(self.entries) > _MAX_STEPS or total > _MAX_CHARS):
            total -= self.entries.pop(0).n_chars
            self.index -= 1

    def undo(self) -> bool:
        """Go back a step; return False if there is none."""
        return self._step(-1)

    def redo(self) -> bool:
        """Go forward a step; return False if there is none."""
        return self._step(1)

    def _step(self, step: int) -> bool:
        if not 0 <= self.index + step < len(self.entries):
            return False
        self.index += step
        self.break_run()
        return True


class BoundedHistory(EditHistory):
    """Undo history of a text area that forgets the oldest edits when they hold too much text.

    The newest edit can always be undone, however large it is.
    """

    def __init__(self, max_chars: int = _MAX_CHARS) -> None:
        """Take the number of characters, inserted and removed, that may be remembered."""
        super().__init__(_MAX_STEPS, _SECONDS_PER_STEP, _CHARS_PER_STEP)
        self._max_chars = max_chars
        self._forgotten: object = None

    @property
    def version(self) -> object:
        """The next edit to be undone; equal only if the text is the same."""
        return self._undo_stack[-1][-1] if self._undo_stack else self._forgotten

    def clear(self) -> None:
        """Forget all edits."""
        super().clear()
        self._forgotten = None

    def record(self, edit: Edit) -> None:
        """Record an edit, and forget old ones if they hold too much text."""
        oldest = self._undo_stack[0] if self._undo_stack else None
        super().record(edit)
        if _n_chars([edit]) > _CHARS_PER_STEP:
            self._forget_oldest()
        if oldest and self._undo_stack[0] is not oldest:
            self._forgotten = object()

    def _forget_oldest(self) -> None:
        n_chars = sum(map(_n_chars, self._undo_stack))
        while n_chars > self._max_chars and len(self._undo_stack) > 1:
            n_chars -= _n_chars(self._undo_stack.popleft())


def _n_chars(edits: Iterable[Edit]) -> int:
    """Count the characters that edits keep alive."""
    return sum(
        len(edit.text) + len(edit._edit_result.replaced_text if edit._edit_result else "")
        for edit in edits
    )
