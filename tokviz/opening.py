"""What the app begins with, and what there is to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokviz import bytetext
from tokviz.assets import asset_path
from tokviz.files import looks_binary
from tokviz.tokenizer import Tokenizer


@dataclass(slots=True)
class Opening:
    """What the app begins with.

    Attributes:
        text: Byte text, until it is taken.
        path: The file it came from, None if from nowhere.
        tokenizer: The tokenizer, whose tables are built when first needed.
        parse_specials: Whether special-token text is read as special tokens.
        notes: Sentences for the user about what was opened.
        is_sample: Whether the text is the sample, which nobody would miss.
        screen: The id of the screen to begin on.
        request: What that screen is asked to show first, of a type of its own; None for nothing.
    """

    text: str
    tokenizer: Tokenizer
    path: Path | None = None
    parse_specials: bool = True
    notes: tuple[str, ...] = ()
    is_sample: bool = False
    screen: str = "tokens"
    request: object = None

    def take_request(self) -> object:
        """Give away what the screen is asked to show, which it shows once."""
        request, self.request = self.request, None
        return request

    def take_text(self) -> str:
        """Give the text away, so that it is not kept in memory twice."""
        text, self.text = self.text, ""
        return text


def sample_text() -> str:
    """Read the sample text that ships with tokviz."""
    return asset_path("samples/welcome.txt").read_text("utf-8")


def notes_about(data: bytes, text: str) -> list[str]:
    """Say what a user should know about bytes that were opened."""
    if looks_binary(data):
        return ["This looks like a binary file. Its bytes are shown and kept as they are."]
    n_raw = bytetext.n_raw_bytes(text)
    if n_raw:
        subject = "1 byte is" if n_raw == 1 else f"{n_raw:,} bytes are"
        return [f"{subject} not valid UTF-8: shown as ‹hex› and kept."]
    return []
