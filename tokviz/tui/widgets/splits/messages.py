"""What the parts of the Splits panel tell each other and the screen."""

from __future__ import annotations

from textual.message import Message


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
