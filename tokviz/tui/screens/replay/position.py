"""Position and playback of a replay, without widgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SPEEDS = (0.25, 0.5, *map(float, (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)))
"""Available speeds in merges per second."""
FRAMES_SHOWN_UP_TO = 4.0
"""At higher speeds the frame before each merge is left out, too short to see."""


class Position(NamedTuple):
    """A frame of a replay.

    Attributes:
        number: The merge, from 1 on; 0 is the start, where every byte is a token.
        merged: Whether the merge is applied. Before that its pair is highlighted.
    """

    number: int
    merged: bool = True

    @property
    def n_done(self) -> int:
        """Number of applied merges."""
        return self.number if self.merged else self.number - 1


START = Position(0)


def clamped(number: int, n_merges: int, merged: bool = True) -> Position:
    """Return the position of a number, clamped to the existing merges."""
    number = min(max(number, 0), n_merges)
    return Position(number, merged or number == 0)


def frame_on(position: Position, n_merges: int) -> Position:
    """Return the next frame: the pair is highlighted, then merged.

    >>> frame_on(Position(3), 9), frame_on(Position(4, False), 9)
    (Position(number=4, merged=False), Position(number=4, merged=True))
    """
    if not position.merged:
        return Position(position.number)
    if position.number >= n_merges:
        return position
    return Position(position.number + 1, False)


def frame_back(position: Position) -> Position:
    """Return the previous frame.

    >>> frame_back(Position(4)), frame_back(Position(4, False))
    (Position(number=4, merged=False), Position(number=3, merged=True))
    """
    if not position.number:
        return position
    return Position(position.number, False) if position.merged else Position(position.number - 1)


@dataclass(slots=True)
class Player:
    """Playback of a replay.

    Attributes:
        speed: Merges per second.
        playing: Whether it is playing.
    """

    speed: float = 1.0
    playing: bool = False
    _owed: float = 0.0

    def start(self) -> None:
        """Start playing with the next frame at once."""
        self.playing = True
        self._owed = 1.0

    def hold(self, seconds: float) -> None:
        """Hold the current frame, in seconds at one merge per second; shorter at higher speeds."""
        self._owed -= 2 * seconds

    @property
    def is_held(self) -> bool:
        """True while the current frame is held longer than usual."""
        return self.playing and self._owed < -1

    def faster(self, by: int) -> bool:
        """Choose the next or previous speed; return False if there is none."""
        index = min(max(SPEEDS.index(self.speed) + by, 0), len(SPEEDS) - 1)
        changed = SPEEDS[index] != self.speed
        self.speed = SPEEDS[index]
        return changed

    @property
    def frames_per_second(self) -> float:
        """Frames per second, if the terminal keeps up."""
        return self.speed * (2 if self.shows_pairs else 1)

    @property
    def shows_pairs(self) -> bool:
        """True if the frame before each merge is shown."""
        return self.speed <= FRAMES_SHOWN_UP_TO

    def advance(self, position: Position, seconds: float, n_merges: int) -> Position:
        """Return the position after some time.

        One call may skip merges only at speeds that do not show every frame. At lower speeds a busy
        app delays frames instead.
        """
        self._owed += seconds * self.frames_per_second
        n_frames = max(0, int(self._owed))
        self._owed -= n_frames
        if self.shows_pairs:
            return frame_on(position, n_merges) if n_frames else position
        return clamped(position.number + n_frames, n_merges) if n_frames else position


def speed_label(speed: float) -> str:
    """Format a speed.

    >>> speed_label(0.5), speed_label(1.0), speed_label(16.0)
    ('0.5 merges/s', '1 merge/s', '16 merges/s')
    """
    return f"{speed:g} merge{'s' * (speed != 1)}/s"
