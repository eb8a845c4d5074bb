"""The result of explaining an algorithm: a table of steps, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple

from tokviz.text.sentences import Sentence

MOST_STORIES = 8
"""Maximum number of pre-tokens that are explained at once."""
MAX_STORY_CHARS = 256
"""Longer pre-tokens are encoded without recording the steps."""

TokenId = Callable[[str], int | None]
"""Returns the id of a token, None if the vocabulary lacks it."""


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
        n_rows: The number of rows to show first; 0 for all.
    """

    text: bytes
    tokens: tuple[tuple[bytes, int], ...]
    rows: tuple[StoryRow, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    whole: int | None = None
    n_rows: int = 0

    def brief(self) -> Story:
        """Return the story with the rows to show first."""
        return replace(self, rows=self.rows[: self.n_rows or None])

    def packed(self, show: Callable[[bytes], bytes]) -> Any:
        """Convert the story to JSON values.

        Args:
            show: Converts the spelling of a token to the bytes to show.
        """

        def pack(value: Any) -> Any:
            if isinstance(value, bytes):
                return {"hex": show(value).hex()}
            return list(map(pack, value)) if isinstance(value, tuple) else value

        return pack(astuple(self))

    @classmethod
    def unpacked(cls, values: Any) -> Story:
        """Restore a story from the output of `packed`."""
        text, tokens, rows, *others = _unpacked(values)
        return cls(text, tokens, tuple(StoryRow(*row) for row in rows), *others)


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return tuple(map(_unpacked, value)) if isinstance(value, list) else value


def joined(tokens: Iterable[bytes], between: str = " + ") -> Sentence:
    """Join tokens to a part of a sentence."""
    parts = [part for token in tokens for part in (between, token)]
    return tuple(parts[1:])


def byte_tokens(text: str) -> list[str]:
    """Return the tokens of the bytes of a text, for byte fallback.

    >>> byte_tokens("é")
    ['<0xC3>', '<0xA9>']
    """
    return [f"<0x{byte:02X}>" for byte in text.encode()]
