"""State of the Replay screen: the replay, its position and the user's text."""

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
"""Maximum length of the user's text in characters; the rest is cut."""


@dataclass(slots=True, eq=False)
class ReplayState:
    """State shared by the controllers of the Replay screen.

    Attributes:
        opened: The current replay, None until one is opened.
        position: The current position.
        frame: The newest computed frame, which may belong to another merge.
        player: The playback.
        lesson: The lesson of the replay, None if it is not a lesson.
        comparison: The comparison with other sources, None if there is none.
        text: The user's text, as byte text.
        revision: Increases with every change of the text, and of `parse_specials`.
        parse_specials: Whether special-token text in it is read as special tokens.
        is_own: Whether the user typed or chose it, so that it must not be replaced.
        prepared: The text prepared for the replay, None until it is.
        lit: The merge number and the highlighted pre-token of the corpus.
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
        """The current replay."""
        return None if self.opened is None else self.opened.replay

    @property
    def n_merges(self) -> int:
        """Number of merges."""
        return 0 if self.opened is None else self.opened.replay.n_merges

    @property
    def number(self) -> int:
        """Number of the current merge; 0 at the start."""
        return self.position.number

    @property
    def step(self) -> MergeStep | None:
        """The current merge; None at the start."""
        number = self.position.number
        return self.opened.replay.step(number) if self.opened is not None and number else None

    @property
    def lit_pre_token(self) -> bytes:
        """The pre-token highlighted at the current merge, empty for none."""
        number, pre_token = self.lit
        return pre_token if number == self.position.number else b""

    @property
    def shown(self) -> Position:
        """The position of the newest computed frame."""
        number = 0 if self.frame is None else self.frame.number
        return clamped(number, self.n_merges, self.position.merged)

    def take(self, opened: Opened, lesson: str) -> None:
        """Replace the current replay; `lesson` names a lesson, or is empty."""
        self.opened, self.lesson = opened, lessons().get(lesson)
        self.position, self.lit = START, (0, b"")
        self.frame = self.comparison = self.prepared = None

    def take_text(self, text: str, *, is_own: bool, parse_specials: bool) -> None:
        """Replace the user's text."""
        self.text = text[:MOST_CHARS]
        self.is_own = is_own
        self.parse_specials = parse_specials
        self.revision += 1
        self.prepared = None
