"""State of the Replay screen: the opened replay with its curves, and the user's text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tokviz.compare.trainings import open_merges
from tokviz.errors import TokvizError
from tokviz.formats.run import is_run
from tokviz.guide.lessons import Lesson, lessons
from tokviz.process.runner import raise_if_stopped
from tokviz.training.replay.reference_training import ReferenceTraining, newest_training
from tokviz.training.replay.replay import Replay
from tokviz.tui.screens.replay.merge_frame import Ladder, draw
from tokviz.tui.screens.replay.position import START, Player, Position, clamped
from tokviz.tui.widgets.cursor_curve import Curve, Scale, compression_curve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokviz.tokenizer.encoding.merging import Merge
    from tokviz.tokenizer.tokenizer import Tokenizer
    from tokviz.training.replay.replay import Replay
    from tokviz.training.replay.steps import MergeStep
    from tokviz.training.replay.text import ReplayText
    from tokviz.tui.screens.replay.comparison import Comparison
    from tokviz.tui.screens.replay.merge_frame import Frame


N_POINTS = 160
"""Points of a curve on each of its two scales."""


@dataclass(frozen=True, slots=True)
class Source:
    """A training or a vocabulary to replay.

    Attributes:
        name: Its name on the screen.
        opens: An argument of `open_merges`: a path, a built-in name, a tokenizer, a replay or
            merges.
    """

    name: str
    opens: str | Tokenizer | Replay | Sequence[Merge]


def source_named(opens: str) -> Source:
    """Return the source of a path or of a built-in name."""
    return Source(Path(opens).name or opens, opens)


def source_at_hand(tokenizer: Tokenizer, remembered: str) -> Source:
    """Return the source of the current tokenizer, or of the run folder it was loaded from.

    Args:
        tokenizer: The current tokenizer.
        remembered: The name or path of the tokenizer that was chosen last.
    """
    path = Path(remembered)
    if is_run(path) and path.resolve().name == tokenizer.name:
        return Source(tokenizer.name, str(path))
    return Source(tokenizer.name, tokenizer)


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """An opened replay.

    Attributes:
        source: The requested source.
        replay: The replay.
        compression: Compression curve of the corpus, empty without counts.
        counts: Curve of the merge counts, empty without counts.
        ladder: The tiny corpus after every merge, None if it is not tiny.
        beside: The user's newest training for reference if counts are unknown, otherwise None.
    """

    source: Source
    replay: Replay
    compression: Curve
    counts: Curve
    ladder: Ladder | None
    beside: ReferenceTraining | None = None


def open_source(source: Source) -> Opened:
    """Open a source, which takes a moment: for a worker.

    The states of a large training are computed with the first frame (`Replay.prepare`), so that
    its merges and curves are visible earlier.

    Raises:
        TokvizError: If it is damaged, missing or in an unknown format.
    """
    opens = source.opens
    is_training = isinstance(opens, str) and is_run(opens)
    replay = Replay.open(str(opens), prepare=False) if is_training else open_merges(opens)
    raise_if_stopped()
    if not replay.n_merges:
        raise TokvizError(f"{source.name} has no merges, so there is nothing to replay")
    curves = corpus_compression(replay), merge_counts(replay)
    beside = None if replay.has_counts else newest_training()
    return Opened(source, replay, *curves, draw(replay), beside)


def spread(last: int, n_points: int = N_POINTS) -> list[int]:
    """Spread whole numbers from 0 to `last` over a linear and over a logarithmic scale.

    >>> spread(1000, 4)
    [0, 9, 99, 333, 667, 1000]
    """
    scales = Scale(last), Scale(last, is_log=True)
    return sorted({scale.value_of(at, n_points) for scale in scales for at in range(n_points)})


def _compression(title: str, n_bytes: int, count: Callable[[int], int], last: int) -> Curve:
    points = [(float(k), n_bytes / max(count(k), 1)) for k in spread(last)]
    return compression_curve(title, points, last)


def corpus_compression(replay: Replay) -> Curve:
    """Return the curve of the corpus's bytes per token over the merges."""
    title = "Bytes per token"
    n_bytes = replay.n_bytes
    if not replay.has_counts or n_bytes is None:
        return Curve(title, empty_text="The corpus is unknown.")

    def count(k: int) -> int:
        return (replay.step(k).n_tokens_after or 1) if k else n_bytes

    return _compression(title, n_bytes, count, replay.n_merges)


def text_compression(text: ReplayText, last: int) -> Curve:
    """Return the compression curve of the user's text, used without a corpus."""
    title = "Bytes per token of your text"
    if not text.data:
        return Curve(title, empty_text="Your text is empty.")
    return _compression(title, len(text.data), text.n_tokens, last)


def merge_counts(replay: Replay) -> Curve:
    """Return the curve of the merge counts."""
    title = "Count of each merge"
    if not replay.has_counts:
        return Curve(title, empty_text="Unknown: the vocabulary comes without its corpus.")
    points = [(float(k), float(replay.step(k).count or 1)) for k in spread(replay.n_merges) if k]
    top = max(count for _, count in points)
    return Curve(title, points, replay.n_merges, (0.0, top), short_number, log_from=1.0)


def short_number(number: float) -> str:
    """Format a number in at most five characters.

    >>> short_number(950), short_number(12_345), short_number(4_200_000)
    ('950', '12k', '4.2M')
    """
    whole = round(number)
    if whole < 1000:
        return str(whole)
    units = (("G", 10**9), ("M", 10**6), ("k", 10**3))
    unit, size = next((unit, size) for unit, size in units if whole >= size)
    value = whole / size
    return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"


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
