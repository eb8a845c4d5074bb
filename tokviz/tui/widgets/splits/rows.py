"""The rows of the gloss: each knows its pieces around any place, as well as it can by now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tokviz.jobs.split_result import Piece, SplitPart, SplitResult
from tokviz.live.document import LiveDocument
from tokviz.live.pieces import PieceCounter
from tokviz.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tui.widgets.splits.known import NO_CHANGE, KnownPieces
from tokviz.tui.widgets.splits.named import pieces_near

TITLES = {
    "gpt2": "GPT-2",
    "gpt4": "GPT-4",
    "gpt4o": "GPT-4o",
    "llama3": "Llama 3",
    "qwen2": "Qwen2",
    "cs336": "CS336",
    "whitespace": "words",
}
"""What to call a named pattern in no more than 8 columns; others go by their names."""

CUSTOM = "custom"


def title_of(name: str) -> str:
    """Give a pattern's short title."""
    return TITLES.get(name, name)


class Row(Protocol):
    """What the gloss asks of a row."""

    @property
    def title(self) -> str:
        """The label beside the row."""

    def pieces_in(self, lo: int, hi: int) -> list[Piece]:
        """List the pieces that touch the characters `lo` to `hi`; others are not known yet."""


class NamedRow:
    """The pieces of a named pattern.

    Attributes:
        pattern: The pattern.
        counter: Counts all its pieces, in a thread.
    """

    def __init__(self, live: LiveDocument, name: str, want: Callable[[str, int], object]) -> None:
        """Take the document, the pattern's name and whom to ask for pieces that need a thread.

        `want` is called with the name and an offset; `take_far` is the answer.
        """
        self.pattern = SPLIT_PATTERNS[name]
        self.counter = PieceCounter(self.pattern)
        self._live = live
        self._want = want
        self._asked_at = -1
        self._far: KnownPieces | None = None

    @property
    def title(self) -> str:
        """The pattern's short title."""
        return title_of(self.pattern.name)

    def pieces_in(self, lo: int, hi: int) -> list[Piece]:
        """List the pieces that touch the characters `lo` to `hi`; others are not known yet."""
        live, far = self._live, self._far
        if far is not None and far.change == NO_CHANGE and far.result.covers(lo, hi):
            return far.pieces_in(lo, hi)
        near = pieces_near(self.pattern, live.text_in, live.n_chars, lo, hi)
        if near is not None:
            return near
        if self._asked_at != live.revision:
            self._asked_at = live.revision
            self._want(self.pattern.name, lo)
        return [] if far is None else far.pieces_in(lo, hi)

    def take_far(self, revision: int, result: SplitResult) -> None:
        """Take the pieces that a thread found around a wanted place."""
        self._far = KnownPieces(revision, result)
        self._asked_at = revision
        self.note_changes()

    def note_changes(self) -> None:
        """Notice that the text was edited."""
        if self._far is not None:
            self._far.change = self._live.changes.since(self._far.revision)


class CustomRow:
    """The pieces of the custom regex, as the child process gives them.

    Attributes:
        running: Whether more pieces are on their way.
    """

    def __init__(self, live: LiveDocument) -> None:
        """Take the document."""
        self.running = False
        self._live = live
        self._known = KnownPieces(live.revision)
        self._incoming: KnownPieces | None = None

    @property
    def title(self) -> str:
        """The label of the row."""
        return CUSTOM

    @property
    def result(self) -> SplitResult:
        """The newest result that is complete, or the one on its way if there is none yet."""
        if self._incoming is not None and not self._known.result.complete:
            return self._incoming.result
        return self._known.result

    @property
    def outdated(self) -> bool:
        """Whether the text is not the one any more that was split."""
        return self._known.revision != self._live.revision

    @property
    def progress(self) -> SplitResult | None:
        """The result that is on its way."""
        return None if self._incoming is None else self._incoming.result

    def begin(self) -> None:
        """Expect the pieces of the text as it is now; the old ones stay until then."""
        self._incoming = KnownPieces(self._live.revision)
        self.running = True

    def add(self, part: SplitPart) -> int:
        """Take more pieces and return the offset of the first one."""
        if self._incoming is not None:
            self._incoming.result.add(part)
        return part.start

    def finish(self) -> None:
        """Use the new pieces from now on."""
        if self._incoming is not None:
            self._incoming.result.complete = True
            self._known, self._incoming = self._incoming, None
        self.running = False

    def fail(self) -> None:
        """Keep the old pieces."""
        self._incoming = None
        self.running = False

    def pieces_in(self, lo: int, hi: int) -> list[Piece]:
        """List the pieces that touch the characters `lo` to `hi`; others are not known yet."""
        incoming = self._incoming
        if incoming and incoming.change == NO_CHANGE and incoming.result.covers(lo, hi):
            return incoming.pieces_in(lo, hi)
        old = self._known if incoming is None or self._known.result.complete else incoming
        return old.pieces_in(lo, hi)

    def note_changes(self) -> None:
        """Notice that the text was edited."""
        for known in (self._known, self._incoming):
            if known is not None:
                known.change = self._live.changes.since(known.revision)
