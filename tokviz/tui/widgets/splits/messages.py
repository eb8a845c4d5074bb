"""What the parts of the Splits panel tell each other and the screen."""

from __future__ import annotations

from textual.message import Message

from tokviz.errors import TokvizError
from tokviz.jobs.split_result import SplitPart, SplitResult


class PieceClicked(Message):
    """The user pointed at a piece: the editor goes there."""

    def __init__(self, offset: int, end: int) -> None:
        """Take the characters of the piece."""
        super().__init__()
        self.offset = offset
        self.end = end


class PatternChosen(Message):
    """The user chose another named pattern in one of the heads."""

    def __init__(self, row: int, name: str) -> None:
        """Take the row of the head and the pattern's name."""
        super().__init__()
        self.row = row
        self.name = name


class RegexEdited(Message):
    """The custom regex is another one now."""

    def __init__(self, regex: str) -> None:
        """Take the regex."""
        super().__init__()
        self.regex = regex

    def can_replace(self, message: Message) -> bool:
        """Only the newest regex matters."""
        return isinstance(message, RegexEdited)


class CustomAnswered(Message):
    """The child process has cut more of the text, all of it, or failed."""

    def __init__(self, run: int, answer: SplitPart | TokvizError | None) -> None:
        """Take the run, and more pieces, the error, or None for the end."""
        super().__init__()
        self.run = run
        self.answer = answer


class Counted(Message):
    """A thread has counted more pieces of the named patterns."""

    def can_replace(self, message: Message) -> bool:
        """One look at the counters is enough."""
        return isinstance(message, Counted)


class FarPiecesFound(Message):
    """A thread has split a stretch that was too long to be split while drawing."""

    def __init__(self, pattern: str, revision: int, result: SplitResult) -> None:
        """Take the pattern's name, the text's revision and the pieces."""
        super().__init__()
        self.pattern = pattern
        self.revision = revision
        self.result = result
