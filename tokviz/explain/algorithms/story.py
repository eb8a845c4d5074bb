"""The result of explaining an algorithm: a table of steps, and sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple, Protocol

from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, pluralize

MOST_STORIES = 8
"""Maximum number of pre-tokens that are explained at once."""
MAX_STORY_CHARS = 256
"""Longer pre-tokens are encoded without recording the steps."""
MAX_ROWS = 200
"""Further steps are not recorded."""


class Piece(NamedTuple):
    """A token of a model, in the spelling of its vocabulary, and the characters that it covers."""

    text: str
    id: int
    start: int
    end: int


class StoryRow(NamedTuple):
    """A row of a table of steps.

    Attributes:
        label: The number of a merge or step, or a log-probability.
        tokens: The tokens after the step.
        new: The index of the token that the step made; None if it made none.
    """

    label: str
    tokens: tuple[bytes, ...]
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """The encoding of a pre-token, step by step.

    Attributes:
        text: The pre-token as the model reads it, after normalization.
        tokens: The tokens in the spelling of the vocabulary, with their ids.
        rows: The steps; of a Unigram model, its most probable paths.
        sentences: Explanations of the steps.
        whole: The id of the text in the vocabulary, None if the vocabulary lacks it.
        reason: The reason why the text is not this one token.
        n_rows: The number of rows to show first; 0 for all.
        changes: What normalization changed: original text, and the model's text.
    """

    text: bytes
    tokens: tuple[tuple[bytes, int], ...]
    rows: tuple[StoryRow, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    whole: int | None = None
    reason: Sentence = ()
    n_rows: int = 0
    changes: tuple[tuple[bytes, bytes], ...] = ()

    def packed(self) -> Any:
        """Convert the story to JSON values."""
        return _packed(astuple(self))

    @classmethod
    def unpacked(cls, values: Any) -> Story:
        """Restore a story from the output of `packed`."""
        story = cls(*_unpacked(values))
        return replace(story, rows=tuple(StoryRow(*row) for row in story.rows))


class Model(Protocol):
    """A model whose encoding is explained."""

    def encode(self, text: str) -> list[Piece]:
        """Encode a pre-token."""

    def story(self, text: str, *, is_part: bool = False) -> Story:
        """Explain the encoding of a pre-token, or of some of its tokens."""


Show = Callable[[str], bytes]
"""Converts the spelling of a token to the bytes to show."""


def story_of(pieces: list[Piece], text: str, show: Show, **fields: Any) -> Story:
    """Create a story about the pieces of a text."""
    return Story(show(text), tuple((show(piece.text), piece.id) for piece in pieces), **fields)


def too_long(pieces: list[Piece], text: str, show: Show) -> Story:
    """Create a story without steps."""
    n_chars = pluralize(len(text), "character")
    return story_of(
        pieces, text, show, sentences=((f"{n_chars} are too many to show step by step.",),)
    )


def joined(tokens: list[bytes], between: str = " + ") -> Sentence:
    """Join tokens to a part of a sentence."""
    parts: list[str | bytes] = []
    for token in tokens:
        parts += [between, token] if parts else [token]
    return tuple(parts)


def byte_pieces(char: str) -> list[str]:
    """Return the spellings of the bytes of a text, for byte fallback.

    >>> byte_pieces("é")
    ['<0xC3>', '<0xA9>']
    """
    return [f"<0x{byte:02X}>" for byte in bytetext.to_bytes(char)]


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    return [_packed(part) for part in value] if isinstance(value, (tuple, list)) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return tuple(_unpacked(part) for part in value) if isinstance(value, list) else value
