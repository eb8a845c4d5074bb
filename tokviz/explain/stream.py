r"""Streamed decoding: the text that each arriving token adds.

A token may end within a character. Decoding each token separately yields U+FFFD there; a correct
program holds these bytes back until the rest arrives.

>>> import tokviz
>>> tok = tokviz.load("gpt2")
>>> for step in stream(tok, tok.encode("a 世")):
...     print(step.token, repr(step.shown), step.held, repr(step.alone))
b'a' 'a' b'' 'a'
b' ' ' ' b'' ' '
b'\xe4\xb8' '' b'\xe4\xb8' '�'
b'\x96' '世' b'' '�'
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokviz.explain.ids import tokens_of
from tokviz.text.sentences import Sentence

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class StreamStep:
    """The effect of one arriving token.

    Attributes:
        token_id: The arriving id.
        token: Its bytes.
        shown: The text that can be shown now and could not be before.
        held: Bytes held back until the rest of their character arrives; after the last step they
            are shown as U+FFFD, or never.
        alone: The result of decoding this token by itself.
    """

    token_id: int
    token: bytes
    shown: str
    held: bytes
    alone: str

    @property
    def is_broken_alone(self) -> bool:
        """True if decoding this token by itself shows a U+FFFD that the text does not contain."""
        return "\ufffd" in self.alone and "\ufffd".encode() not in self.token

    @property
    def words(self) -> Sentence:
        """A sentence about the text that a program adds after this token."""
        shown: Sentence = ("nothing yet",)
        if self.shown:
            shown = "“", self.shown.encode(), "” here"
        held = f", and holds {self.held.hex(' ')} back" if self.held else ""
        alone = "; decoded alone, this token would print \ufffd" if self.is_broken_alone else ""
        return ("A streaming program adds ", *shown, f"{held}{alone}.")


def stream(tokenizer: Tokenizer, ids: Sequence[int]) -> Iterator[StreamStep]:
    """Decode ids one by one.

    Raises:
        TokenIdError: If an id is not in the vocabulary.
        TokvizError: If the tokenizer cannot decode ids one by one.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token_id, token in zip(ids, tokens_of(tokenizer, ids), strict=True):
        shown = decoder.decode(token)
        held = decoder.getstate()[0]
        yield StreamStep(token_id, token, shown, held, token.decode("utf-8", "replace"))
