"""What the Replay screen is about: what is replayed, where it is, and the user's text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tokviz.lessons import Lesson, lessons

if TYPE_CHECKING:
    from tokviz.replay.replay import Replay
    from tokviz.replay.steps import MergeStep
    from tokviz.replay.text import ReplayText
    from tokviz.tui.screens.replay.comparison import Comparison
    from tokviz.tui.screens.replay.frames import Frame
    from tokviz.tui.screens.replay.opened import Opened

MOST_CHARS = 1_000_000
"""A longer text of the user is cut."""


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


@dataclass(slots=True, eq=False)
class ReplayState:
    """The state of the Replay screen, on which its controllers work.

    Attributes:
        opened: What is replayed, None until something is.
        position: The frame that is wanted.
        frame: The newest one that has been worked out; it may be of another merge.
        player: How it goes on by itself.
        lesson: The words that go with what is replayed, None if it is not a lesson.
        comparison: What the replay is compared with.
        text: The user's text, as byte text.
        revision: Grows with every other text, and with every other way to read it.
        parse_specials: Whether special-token text in it is read as special tokens.
        is_own: Whether the user has typed or given it, so that no other may take its place.
        prepared: The text prepared for the replay, None until it is.
        lit: A piece of the corpus that is lit up, and at which merge.
    """

    opened: Opened | None = None
    position: Position = START
    frame: Frame | None = None
    player: Player = field(default_factory=Player)
    lesson: Lesson | None = None
    comparison: Comparison | None = None
    text: str = ""
    revision: int = 0
    parse_specials: bool = True
    is_own: bool = False
    prepared: ReplayText | None = None
    lit: tuple[int, bytes] = (0, b"")

    @property
    def replay(self) -> Replay | None:
        """The states of what is replayed."""
        return None if self.opened is None else self.opened.replay

    @property
    def n_merges(self) -> int:
        """How many merges there are."""
        return 0 if self.opened is None else self.opened.replay.n_merges

    @property
    def number(self) -> int:
        """The number of the merge at hand; 0 at the start."""
        return self.position.number

    @property
    def step(self) -> MergeStep | None:
        """The merge at hand; None at the start, before the first one."""
        number = self.position.number
        return self.opened.replay.step(number) if self.opened is not None and number else None

    @property
    def lit_piece(self) -> bytes:
        """The piece that is lit up at this merge, empty for none."""
        number, piece = self.lit
        return piece if number == self.position.number else b""

    @property
    def shown(self) -> Position:
        """The frame that can be shown by now: that of the newest merge that is worked out."""
        number = 0 if self.frame is None else self.frame.number
        return clamped(number, self.n_merges, self.position.merged)

    def take(self, opened: Opened, lesson: str) -> None:
        """Replay something else from now on; if it is a lesson, take its name."""
        self.opened, self.lesson = opened, lessons().get(lesson)
        self.position, self.lit = START, (0, b"")
        self.frame = self.comparison = self.prepared = None

    def take_text(self, text: str, *, is_own: bool, parse_specials: bool) -> None:
        """Show what becomes of another text."""
        self.text = text[:MOST_CHARS]
        self.is_own = is_own
        self.parse_specials = parse_specials
        self.revision += 1
        self.prepared = None
