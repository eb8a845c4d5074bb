"""Where a replay is: after which merge, and in which of its two frames. No widgets here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SPEEDS = (0.25, 0.5, *map(float, (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)))
"""Merges per second that can be chosen."""
FRAMES_SHOWN_UP_TO = 4.0
"""At higher speeds the frame before each merge is left out: nobody could see it."""


class Position(NamedTuple):
    """A frame of a replay.

    Attributes:
        number: The merge it is about, from 1 on; 0 is the start, where every byte is a token.
        merged: Whether the merge is done. Before that its pair is lit up.
    """

    number: int
    merged: bool = True

    @property
    def n_done(self) -> int:
        """How many merges are done."""
        return self.number if self.merged else self.number - 1


START = Position(0)


def clamped(number: int, n_merges: int, merged: bool = True) -> Position:
    """Make the position nearest to a number that may be too small or too large."""
    number = min(max(number, 0), n_merges)
    return Position(number, merged or number == 0)


def frame_on(position: Position, n_merges: int) -> Position:
    """Go one frame on: a pair lights up, then it is merged.

    >>> frame_on(Position(3), 9), frame_on(Position(4, False), 9)
    (Position(number=4, merged=False), Position(number=4, merged=True))
    """
    if not position.merged:
        return Position(position.number)
    if position.number >= n_merges:
        return position
    return Position(position.number + 1, False)


def frame_back(position: Position) -> Position:
    """Go one frame back.

    >>> frame_back(Position(4)), frame_back(Position(4, False))
    (Position(number=4, merged=False), Position(number=3, merged=True))
    """
    if not position.number:
        return position
    return Position(position.number, False) if position.merged else Position(position.number - 1)


@dataclass(slots=True)
class Player:
    """Goes through a replay at a speed.

    Attributes:
        speed: Merges per second.
        playing: Whether it goes on.
    """

    speed: float = 1.0
    playing: bool = False
    _owed: float = 0.0

    def start(self) -> None:
        """Go on; the first frame comes at once."""
        self.playing = True
        self._owed = 1.0

    def hold(self, seconds: float) -> None:
        """Stay that long where it is, at a speed of one merge a second; less at higher ones."""
        self._owed -= 2 * seconds

    @property
    def is_held(self) -> bool:
        """Whether the next frame waits for longer than the speed says."""
        return self.playing and self._owed < -1

    def faster(self, by: int) -> bool:
        """Choose a neighbouring speed; say whether there was one."""
        index = min(max(SPEEDS.index(self.speed) + by, 0), len(SPEEDS) - 1)
        changed = SPEEDS[index] != self.speed
        self.speed = SPEEDS[index]
        return changed

    @property
    def frames_per_second(self) -> float:
        """How many frames are shown in a second, as far as the terminal keeps up."""
        return self.speed * (2 if self.shows_pairs else 1)

    @property
    def shows_pairs(self) -> bool:
        """Whether the frame before a merge is shown."""
        return self.speed <= FRAMES_SHOWN_UP_TO

    def advance(self, position: Position, seconds: float, n_merges: int) -> Position:
        """Say where to be some time later.

        Several merges may pass in one call, but none whose frames are meant to be seen one by one:
        where the app was busy, those come later instead.
        """
        self._owed += seconds * self.frames_per_second
        n_frames = max(0, int(self._owed))
        self._owed -= n_frames
        if self.shows_pairs:
            return frame_on(position, n_merges) if n_frames else position
        return clamped(position.number + n_frames, n_merges) if n_frames else position


def speed_label(speed: float) -> str:
    """Spell a speed.

    >>> speed_label(0.5), speed_label(1.0), speed_label(16.0)
    ('0.5 merges/s', '1 merge/s', '16 merges/s')
    """
    return f"{speed:g} merge{'s' * (speed != 1)}/s"
