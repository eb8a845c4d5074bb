"""The messages that widgets send and screens answer."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message
from textual.notifications import SeverityLevel

RIGHT = 3
"""The mouse button that asks why."""


class TokenHovered(Message):
    """The mouse is over a token, or over none."""

    def __init__(self, index: int | None) -> None:
        """Take the token's index in the document, None where there is no token."""
        super().__init__()
        self.index = index

    def can_replace(self, message: Message) -> bool:
        """Only the newest position matters."""
        return isinstance(message, TokenHovered)


class TokenPicked(Message):
    """The user chose a token: the editor and every panel go there."""

    def __init__(self, index: int) -> None:
        """Take the token's index in the document."""
        super().__init__()
        self.index = index


class WhyWanted(Message):
    """The user asked why the token, or the selection, that is chosen now is as it is."""


class Pasted(Message):
    """Something short was pasted, and stands where it was pasted by now."""

    def __init__(self, text: str) -> None:
        """Take the text."""
        super().__init__()
        self.text = text


class CopyRequested(Message):
    """The user asked to copy something that a panel shows."""

    def __init__(self, text: str, what: str) -> None:
        """Take the text and its name for the notice, such as "the token id"."""
        super().__init__()
        self.text = text
        self.what = what


class TextWanted(Message):
    """A panel offers another text, such as an example."""

    def __init__(self, text: str) -> None:
        """Take the text."""
        super().__init__()
        self.text = text


class Notice(Message):
    """A sentence for the user."""

    def __init__(self, text: str, severity: SeverityLevel = "information") -> None:
        """Take the sentence and "information", "warning" or "error"."""
        super().__init__()
        self.text = text
        self.severity = severity


class Question(Message):
    """Something that the user must allow before work goes on."""

    def __init__(self, text: str, yes: Callable[[], object], no: Callable[[], object]) -> None:
        """Take the question and what is done after either answer."""
        super().__init__()
        self.text, self.yes, self.no = text, yes, no


class Begun(Message, bubble=False):
    """A screen shows what it begins with: it can take input."""
