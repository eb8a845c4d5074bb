"""What the Chat screen is asked to show first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

DEFAULT_MAX_TOKENS = 2048
"""nanochat's context size."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A file of conversations and how to render it.

    Attributes:
        path: The file.
        template: The name of a template, or the path of a file with a Jinja template.
        max_tokens: Where a rendering is cut off.
    """

    screen: ClassVar[str] = "chat"

    path: str
    template: str = "nanochat"
    max_tokens: int = DEFAULT_MAX_TOKENS
