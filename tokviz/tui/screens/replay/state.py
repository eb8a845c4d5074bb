"""What the Replay screen is about: what is replayed, where it is, and the user's text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokviz.guide.lessons import Lesson, lessons
from tokviz.tui.screens.replay.position import START, Player, Position, clamped

if TYPE_CHECKING:
    from tokviz.training.replay.replay import Replay
    from tokviz.training.replay.steps import MergeStep
    from tokviz.training.replay.text import ReplayText
    from tokviz.tui.screens.replay.comparison import Comparison
    from tokviz.tui.screens.replay.loaded_replay import Opened
    from tokviz.tui.screens.replay.merge_frame import Frame

MOST_CHARS = 1_000_000
"""A longer text of the user is cut."""


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
        lit: A pre-token of the corpus that is lit up, and at which merge.
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
    def lit_pre_token(self) -> bytes:
        """The pre-token that is lit up at this merge, empty for none."""
        number, pre_token = self.lit
        return pre_token if number == self.position.number else b""

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
