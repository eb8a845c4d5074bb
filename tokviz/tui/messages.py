"""The messages that widgets send and screens answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message
from textual.notifications import SeverityLevel

RIGHT = 3
"""The mouse button that asks why."""


@dataclass
class TokenHovered(Message):
    """The mouse is over a token, or over none."""

    index: int | None
    """The token's index in the document, None where there is no token."""

    def can_replace(self, message: Message) -> bool:
        """Only the newest position matters."""
        return isinstance(message, TokenHovered)


@dataclass
class TokenPicked(Message):
    """The user chose a token: the editor and every panel go there."""

    index: int
    """The token's index in the document."""


class WhyWanted(Message):
    """The user asked why the token, or the selection, that is chosen now is as it is."""


@dataclass
class Pasted(Message):
    """Something short was pasted, and stands where it was pasted by now."""

    text: str
    version: object = None
    """What tells whether anything was edited since: who undoes then takes back the paste."""


@dataclass
class CopyRequested(Message):
    """The user asked to copy something that a panel shows."""

    text: str
    what: str
    """Its name for the notice, such as "the token id"."""


@dataclass
class TextWanted(Message):
    """A panel offers another text, such as an example."""

    text: str


@dataclass
class Notice(Message):
    """A sentence for the user."""

    text: str
    severity: SeverityLevel = "information"


@dataclass
class Question(Message):
    """Something that the user must allow before work goes on."""

    text: str
    yes: Callable[[], object]
    """What is done if it is allowed."""
    no: Callable[[], object]


class ScreenReady(Message, bubble=False):
    """A screen can take input."""
