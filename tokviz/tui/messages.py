"""Messages that widgets send and screens handle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message
from textual.notifications import SeverityLevel

RIGHT = 3
"""The right mouse button, which asks "Why?"."""


@dataclass
class TokenHovered(Message):
    """The mouse moved to another token, or off all tokens."""

    index: int | None
    """The token's index in the document, None if the mouse is over no token."""

    def can_replace(self, message: Message) -> bool:
        """Only the newest position matters."""
        return isinstance(message, TokenHovered)


@dataclass
class TokenPicked(Message):
    """The user chose a token: the editor and every panel show it."""

    index: int
    """The token's index in the document."""


class WhyWanted(Message):
    """The user asked why the current token or selection is tokenized as it is."""


@dataclass
class Pasted(Message):
    """A short text was pasted and inserted."""

    text: str
    version: object = None
    """The version of the text after the paste. While it is current, undo removes the paste."""


@dataclass
class CopyRequested(Message):
    """The user asked to copy something that a panel shows."""

    text: str
    what: str
    """Name for the notice, such as "the token id"."""


@dataclass
class TextWanted(Message):
    """A panel offers a text, such as an example."""

    text: str


@dataclass
class Notice(Message):
    """A notification for the user."""

    text: str
    severity: SeverityLevel = "information"


@dataclass
class Question(Message):
    """A question that the user must answer before work continues."""

    text: str
    yes: Callable[[], object]
    """Called if the user agrees."""
    no: Callable[[], object]


class ScreenReady(Message, bubble=False):
    """A screen can take input."""
