r"""What a program shows of an answer while its tokens arrive.

A token may end within a character. Whoever decodes each token by itself prints U+FFFD there; a
program that does it right holds these bytes back until the rest has come.

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
from tokviz.sentences import Sentence

if TYPE_CHECKING:
    from tokviz.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class StreamStep:
    """What the arrival of one token changes.

    Attributes:
        token_id: The id that arrives.
        token: Its bytes.
        shown: What can be shown now that could not be before.
        held: Bytes that are held back, as the rest of their character has not come; after the last
            step they are shown as U+FFFD, or never.
        alone: What decoding this token by itself gives.
    """

    token_id: int
    token: bytes
    shown: str
    held: bytes
    alone: str

    @property
    def is_broken_alone(self) -> bool:
        """True if decoding this token by itself shows what does not stand in the text."""
        return "\ufffd" in self.alone and "\ufffd".encode() not in self.token

    @property
    def words(self) -> Sentence:
        """Say what a program shows when the token has come."""
        shown: Sentence = ("nothing yet",)
        if self.shown:
            shown = "“", self.shown.encode(), "” here"
        held = f", holding {self.held.hex(' ')} back" if self.held else ""
        alone = "; this token by itself would print \ufffd" if self.is_broken_alone else ""
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
