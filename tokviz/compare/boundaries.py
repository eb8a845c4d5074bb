"""Disagreements of tokenizers about a text, and their causes.

A *disagreement* is the smallest stretch of text whose ends are token borders in every tokenizer,
and which the tokenizers do not all encode as the same tokens. Its cause is found by experiment; see
`tokviz.compare.causes`.

>>> import tokviz
>>> gpt2, gpt4 = tokviz.load("gpt2"), tokviz.load("gpt-4")
>>> comparison = compare("I paid 12345", [gpt2, gpt4])
>>> comparison.counts
(4, 5)
>>> [(found.byte_span, found.cause) for found in comparison.disagreements]
[((6, 10), 'split')]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tokviz.compare.causes import Cause, Reason, reasons_of, why_other
from tokviz.compare.figures import Figures, figures_of
from tokviz.compare.tokenized_text import Int64s, Side, shared_stretches
from tokviz.formats.loader import AnyTokenizer, as_tokenizers
from tokviz.text import bytetext
from tokviz.text.notebooks import displayed
from tokviz.text.sentences import Sentence, format_sentences
from tokviz.tokenizer.encoding.specials import AllowedSpecial, SpecialTokens
from tokviz.tokenizer.tokenizer import Tokenizer, check_arguments


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A stretch of text that tokenizers encode as different tokens.

    Attributes:
        byte_span: Its start and end in the bytes of the text: the nearest positions that are token
            borders in every tokenizer.
        ids: By tokenizer, the ids of exactly this stretch.
        reasons: By tokenizer, why it and the first one disagree here; without causes where they
            agree.
    """

    byte_span: tuple[int, int]
    ids: tuple[tuple[int, ...], ...]
    reasons: tuple[Reason, ...]
    _comparison: Comparison

    @property
    def cause(self) -> Cause:
        """The part that makes `other` differ from the first tokenizer, or the first of several."""
        return self.reasons[self.other].causes[0]

    @property
    def other(self) -> int:
        """The number of the tokenizer that `cause` and `explanation` refer to."""
        return next(number for number, reason in enumerate(self.reasons) if reason.causes)

    @property
    def explanation(self) -> str:
        """An explanation of the cause in one or two sentences, with bytes as Python literals."""
        return format_sentences(self.sentences(self.other))

    def sentences(self, other: int) -> tuple[Sentence, ...]:
        """Explain why a tokenizer produces other tokens here than the first one, if it does.

        Args:
            other: Its number.
        """
        return self._comparison.why(self.byte_span, other, self.reasons[other].causes)

    def tokens(self, number: int) -> list[bytes]:
        """Return the tokens of one of the tokenizers."""
        tokenizer = self._comparison.sides[number].tokenizer
        return [tokenizer.token_bytes(token_id) for token_id in self.ids[number]]


@displayed("comparison")
@dataclass(repr=False)
class Comparison:
    """One text encoded by several tokenizers.

    Attributes:
        text: The text, as byte text.
        tokenizers: The tokenizers.
        allowed_special: The special tokens that are recognized; see `ByteTextEncoder.encode`.
        n_replaced: Number of lone surrogates in the text that were replaced with U+FFFD.
        sides: The encoding of the text by each tokenizer.
    """

    text: str
    tokenizers: Sequence[Tokenizer]
    allowed_special: AllowedSpecial | bool = True
    n_replaced: int = 0
    sides: tuple[Side, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Tokenize the text."""
        encoded = (Side.of(one, self.text, self.allowed_special) for one in self.tokenizers)
        self.sides = tuple(encoded)

    def __hash__(self) -> int:
        """Return a hash of the text."""
        return hash(self.text)

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of tokens by tokenizer."""
        return tuple(len(side.ids) for side in self.sides)

    @cached_property
    def figures(self) -> tuple[Figures, ...]:
        """Statistics by tokenizer."""
        return tuple(figures_of(self.text, count, len(self.data)) for count in self.counts)

    def place(self, byte: int) -> tuple[int, int]:
        """Return the row and the column, in characters, of a byte offset."""
        before = self.data[:byte]
        row_start = before.rfind(b"\n") + 1
        return before.count(b"\n"), len(bytetext.from_bytes(before[row_start:]))

    @cached_property
    def data(self) -> bytes:
        """The bytes of the text."""
        return bytetext.to_bytes(self.text)

    @cached_property
    def spans(self) -> Int64s:
        """The byte spans of the disagreements, ascending; shape (n, 2)."""
        return differing(self.sides)[1]

    def tokens_in(self, index: int) -> list[list[bytes]]:
        """Return the tokens in one of the `spans`, by tokenizer."""
        span = self.spans[index : index + 1]
        return [
            [side.tokenizer.token_bytes(one) for one in side.ids_in(span)[0]] for side in self.sides
        ]

    @cached_property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """All stretches that the tokenizers do not encode as the same tokens."""
        return self.disagreements_in(self.spans)

    def disagreements_in(self, spans: Int64s) -> tuple[Disagreement, ...]:
        """Return some of the disagreements, given by their `spans`; shape (n, 2)."""
        first, *others = self.sides or (None,)
        if first is None:
            return ()
        reasons = [[Reason()] * len(spans)]
        for other in others:
            own_reasons = reasons_of(self.text, spans, first, other, allowed=self.allowed_special)
            reasons.append(own_reasons)
        ids = [side.ids_in(spans) for side in self.sides]
        rows = zip(zip(*ids, strict=True), zip(*reasons, strict=True), strict=True)
        return tuple(
            Disagreement((start, end), own_ids, own_reasons, self)
            for (start, end), (own_ids, own_reasons) in zip(spans.tolist(), rows, strict=True)
        )

    def why(
        self, byte_span: tuple[int, int], other: int, causes: tuple[Cause, ...]
    ) -> tuple[Sentence, ...]:
        """Explain why the first tokenizer and another one differ in a disagreement."""
        sides = self.sides[0], self.sides[other]
        return tuple(why_other(self.data, byte_span, *sides, cause) for cause in causes)


def differing(sides: Sequence[Side]) -> tuple[Int64s, Int64s]:
    """Find where tokenizers disagree, in the range covered by all sides.

    Returns:
        The positions that are token borders in all of them, shape (n,), and the byte spans of the
        disagreements, shape (m, 2); both ascending.
    """
    if not sides:
        return np.empty(0, np.int64), np.empty((0, 2), np.int64)
    shared, stretches = shared_stretches([side.borders for side in sides])
    differ = np.zeros(len(stretches), bool)
    for side in sides[1:]:
        differ |= ~sides[0].same_in(stretches, side)
    return shared, stretches[differ]


def compare(
    text: str, tokenizers: Sequence[AnyTokenizer], allowed_special: AllowedSpecial = "all"
) -> Comparison:
    """Encode a text with several tokenizers and find where they disagree.

    Args:
        text: Any `str`; see `Tokenizer.encode`.
        tokenizers: The tokenizers, or names or paths as for `tokviz.load`. Causes compare each of
            them to the first.
        allowed_special: Special tokens to recognize; see `Tokenizer.encode`. At least one of the
            tokenizers must have each of them.

    Raises:
        TokvizError: If a tokenizer cannot be loaded, or an argument is wrong.
    """
    loaded = as_tokenizers(tokenizers)
    specials = SpecialTokens({name: 0 for one in loaded for name in one.special_tokens})
    check_arguments([text], allowed_special, specials, "no tokenizer")
    replaced, n_replaced = bytetext.replace_surrogates(text)
    return Comparison(replaced, loaded, allowed_special, n_replaced)
