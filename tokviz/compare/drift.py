"""Retokenization drift: where sampled ids differ from the encoding of their text, and why.

A model may sample other tokens for a text than the tokenizer would produce. A program that stores
the text and encodes it again, for training or generation, then uses ids that were never sampled.

>>> import tokviz
>>> tok = tokviz.load("gpt-4")
>>> drift = Drift(tok, [71, 4896, 1917])
>>> drift.summary
'2 of 3 tokens drift'
>>> [(span.sampled, span.encoded, span.cause) for span in drift.spans]
[((71, 4896), (15339,), 'merges')]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tokviz.compare.causes import Cause
from tokviz.compare.tokenized_text import Side, shared_stretches
from tokviz.explain.ids import tokens_of
from tokviz.explain.trace import encode_trace
from tokviz.text import bytetext
from tokviz.text.sentences import Sentence, pluralize
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class DriftSpan:
    """A stretch of text whose sampled tokens differ from its encoding.

    Attributes:
        byte_span: Its start and end in the bytes of the text: the nearest positions that are token
            borders in both.
        first: The number of its first sampled token, from 0.
        sampled: The sampled ids.
        encoded: The ids of the encoding.
        cause: "split" if a sampled token crosses a pre-token boundary, "merges" if the merges make
            other tokens of the same pre-tokens, "specials" if a special token was sampled as text
            or the reverse, "normalization" if encoding changes the text first.
        why: The cause in a sentence.
    """

    byte_span: tuple[int, int]
    first: int
    sampled: tuple[int, ...]
    encoded: tuple[int, ...]
    cause: Cause
    why: Sentence


class Drift:
    """Sampled ids compared with the encoding of their text.

    Attributes:
        tokenizer: The tokenizer of both.
        data: The bytes of the sampled tokens.
        sampled: The sampled tokens.
        encoded: The tokens of the encoding.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        ids: Sequence[int],
        allowed_special: AllowedSpecial | bool = True,
    ) -> None:
        """Decode the ids and encode the text again.

        Args:
            tokenizer: The tokenizer.
            ids: The sampled ids.
            allowed_special: Special tokens to recognize in the text.

        Raises:
            TokenIdError: If an id is not in the vocabulary; it names the id and its position.
            TokvizError: If the decoded text is not the concatenation of its tokens.
        """
        self.tokenizer = tokenizer
        tokens = tokens_of(tokenizer, ids)
        self.data = b"".join(tokens)
        text = bytetext.from_bytes(self.data)
        self.encoded = encoded = Side.of(tokenizer, text, allowed_special)
        ends = np.cumsum([len(token) for token in tokens], dtype=np.int64)
        borders = np.unique(np.concatenate([[0], ends]))
        marks = frozenset(
            (max(end, 1), True, token)
            for token_id, token, end in zip(ids, tokens, ends.tolist(), strict=True)
            if tokenizer.is_special(token_id)
        )
        self.sampled = Side(tokenizer, list(ids), ends, borders, encoded.pre_token_ends, marks)

    @property
    def n_drifting(self) -> int:
        """Number of sampled tokens in stretches that differ."""
        return sum(len(span.sampled) for span in self.spans)

    @property
    def summary(self) -> str:
        """A sentence about how many tokens drift."""
        n_drifting, n_ids = self.n_drifting, len(self.sampled.ids)
        verb = "drifts" if 1 in (n_drifting, n_ids) else "drift"
        return f"{n_drifting:,} of {pluralize(n_ids, 'token')} {verb}"

    @cached_property
    def spans(self) -> tuple[DriftSpan, ...]:
        """The stretches that differ, in the order of the text."""
        _, stretches = shared_stretches([self.sampled.borders, self.encoded.borders])
        sampled, encoded = self.sampled.ids_in(stretches), self.encoded.ids_in(stretches)
        firsts = self.sampled.numbers_in(stretches)[0].tolist()
        rows = zip(stretches.tolist(), firsts, sampled, encoded, strict=True)
        return tuple(
            DriftSpan((start, end), first, own, others, *self._cause((start, end), own, others))
            for (start, end), first, own, others in rows
            if own != others
        )

    def tokens(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes of tokens."""
        return [self.tokenizer.token_bytes(token_id) for token_id in ids]

    def _cause(
        self, span: tuple[int, int], sampled: tuple[int, ...], encoded: tuple[int, ...]
    ) -> tuple[Cause, Sentence]:
        if special := self._first_special(encoded, sampled):
            return "specials", (special, " is plain text in the sampled ids, but encoding reads it "
                                "as the special token.")  # fmt: skip
        if special := self._first_special(sampled, encoded):
            return "specials", (special, " was sampled as the special token, but encoding reads it "
                                "as plain text.")  # fmt: skip
        changed = b"".join(self.tokens(encoded))
        if changed != self.data[slice(*span)]:
            return "normalization", ("Encoding first normalizes the text to ", changed, ".")
        return self._crossing(span) or ("merges", self._merges(span))

    def _first_special(self, ids: Sequence[int], others: Sequence[int]) -> bytes | None:
        """Return the first special token that is not among the others."""
        is_special = self.tokenizer.is_special
        return next(
            (self.tokenizer.token_bytes(i) for i in ids if is_special(i) and i not in others), None
        )

    def _crossing(self, span: tuple[int, int]) -> tuple[Cause, Sentence] | None:
        """Find the first sampled token that crosses a pre-token boundary."""
        borders = [end for _, end in self.encoded.pre_tokens_in(span)]
        for start, end in pairwise([span[0], *self.sampled.tokens_of(span)]):
            border = next((border for border in borders if start < border < end), None)
            if border is not None:
                parts = self.data[start:border], self.data[border:end]
                return "split", (
                    "The token ", self.data[start:end], " crosses a pre-token boundary: the split "
                    f"pattern {self.tokenizer.split_pattern.name} cuts between ", parts[0], " and ",
                    parts[1], ".",
                )  # fmt: skip
        return None

    def _merges(self, span: tuple[int, int]) -> Sentence:
        """Describe the merge that encoding applies and the sampled tokens lack."""
        for pre_token in self.encoded.pre_tokens_in(span):
            own, others = self.sampled.tokens_of(pre_token), self.encoded.tokens_of(pre_token)
            if own == others:
                continue
            token = self.data[slice(*pre_token)]
            borders = {end - pre_token[0] for end in own}
            for step in encode_trace(self.tokenizer, token).steps:
                if any(step.start < border < step.end for border in borders):
                    return ("In the pre-token ", token, ", encoding merges ", step.left, " + ",
                            step.right, f" (merge {step.number:,}).")  # fmt: skip
            lacking = next((end for end in others if end not in own), pre_token[1])
            return ("In the pre-token ", token, ", no merge joins the bytes around byte "
                    f"{lacking - pre_token[0]}: encoding leaves more tokens there.")  # fmt: skip
        return ("These are the same bytes with another id.",)
