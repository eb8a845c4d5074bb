"""Encoding of byte text: special tokens, normalization, split pattern, merges.

Byte text is a `str` for any bytes; see `tokviz.text.bytetext`. The methods of `Tokenizer` convert
what users give to byte text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokviz.errors import PatternError
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.encoded import ToBytes
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.packed import Tables
from tokviz.tokenizer.encoding.segment_encoder import SegmentEncoder
from tokviz.tokenizer.encoding.specials import AllowedSpecial, SpecialTokens, segments
from tokviz.tokenizer.encoding.tokenization import Tokenization, spans_between
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import split

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class ByteTextEncoder(NamedTuple):
    """Encodes byte text. Threads may share it.

    Attributes:
        tables: The tokens and merges.
        specials: The special tokens.
        split_pattern: The split pattern.
        normalizer: The changes to the text between special tokens before it is split.
        segment_encoder: The encoder of the text between special tokens.
    """

    tables: Tables
    specials: SpecialTokens
    split_pattern: SplitPattern
    normalizer: Normalizer
    segment_encoder: SegmentEncoder

    @property
    def content(self) -> tuple[object, ...]:
        """All that the ids of a text without special tokens depend on."""
        return self.segment_encoder.content, self.split_pattern.rules, self.normalizer

    def bytes_of(self, token_id: int) -> bytes | None:
        """Return a token's bytes, None if the id is not in the vocabulary."""
        special = self.specials.bytes_by_id.get(token_id)
        return self.tables.token(token_id) if special is None else special

    def encode(self, text: str, allowed_special: AllowedSpecial | bool = True) -> array[int]:
        """Encode a text.

        Args:
            text: The text.
            allowed_special: The special tokens to recognize, as for `Tokenizer.encode`; True for
                all, False for none.

        Returns:
            The ids; typecode "I".
        """
        (ids,) = self.encode_all([text], allowed_special)
        return ids

    def encode_all(
        self,
        texts: Sequence[str],
        allowed_special: AllowedSpecial | bool = True,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Iterator[array[int]]:
        """Encode texts independently; see `encode`.

        Raises:
            UnicodeEncodeError: If `to_bytes` raises it.
        """
        stops: list[tuple[int, int | None]] = []
        """Number of plain segments before each special token, and its id; None at a text's end."""

        at = 0

        def plain() -> Iterator[tuple[str, bool]]:
            nonlocal at
            n = 0
            for text in texts:
                at = 0
                for segment, special in self._segments(text, allowed_special):
                    if special:
                        stops.append((n, self.specials.ids[segment]))
                    else:
                        n += 1
                        yield self.normalizer.apply(segment), False
                    at += len(segment)
                stops.append((n, None))

        try:
            with self._split_ahead(texts):
                encoded = self.segment_encoder.encode(
                    self.split_pattern, plain(), sum(map(len, texts)), to_bytes=to_bytes
                )
        except PatternError as error:
            raise error.shifted(at) from None
        ids, start = array("I"), 0
        for n, special_id in stops:
            end = encoded.after[n - 1] if n else 0
            ids.extend(encoded.ids[start:end])
            start = end
            if special_id is None:
                yield ids
                ids = array("I")
            else:
                ids.append(special_id)

    def _split_ahead(self, texts: Sequence[str]) -> AbstractContextManager[None]:
        """Split many texts in one request to a child; those with special tokens are split later."""
        if len(texts) == 1 or not self.split_pattern.guarded:
            return nullcontext()
        # Only a guarded pattern needs child processes.
        from tokviz.tokenizer.pretokenize.guard import split_ahead

        return split_ahead(self.split_pattern, texts)

    def _segments(self, text: str, allowed: AllowedSpecial | bool) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a text, and whether each is a special token."""
        return segments(text, self.specials.search(allowed))

    def encode_with_borders(
        self, text: str, allowed_special: AllowedSpecial | bool = True
    ) -> tuple[array[int], array[int] | None]:
        """Encode a text and return the token boundaries.

        Returns:
            The ids, and the n + 1 byte offsets between the tokens; None if they follow from the
            lengths of the tokens, because normalization does not change the text.
        """
        if not self.changes(text):
            return self.encode(text, allowed_special), None
        tokenization = self.tokenize(text, allowed_special)
        return array("I", tokenization.ids), array(
            "I", [0, *tokenization.byte_spans[:, 1].tolist()]
        )

    def split(
        self, text: str, allowed_special: AllowedSpecial | bool = True
    ) -> list[tuple[int, int]]:
        """Return the character spans of a text's pre-tokens and special tokens."""
        spans: list[tuple[int, int]] = []
        offset = 0
        for segment, special in self._segments(text, allowed_special):
            if special:
                spans.append((offset, offset + len(segment)))
            else:
                try:
                    ends, at = [0, *self._pre_tokens(segment)], offset
                except PatternError as error:
                    raise error.shifted(offset) from None
                spans.extend((at + start, at + end) for start, end in pairwise(ends))
            offset += len(segment)
        return spans

    def tokenize(
        self,
        text: str,
        allowed_special: AllowedSpecial | bool = True,
        n_replaced: int = 0,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Tokenization:
        """Encode a text and return the spans of its tokens and pre-tokens.

        Args:
            text: The text.
            allowed_special: See `encode`.
            n_replaced: Number of lone surrogates that were replaced in it.
            to_bytes: The conversion of byte text, or `str.encode`, which rejects surrogates.

        Raises:
            UnicodeEncodeError: If `to_bytes` raises it.
        """
        import numpy as np

        noted: list[tuple[str, str, bool]] = []
        """Each segment, its normalized form, and whether it is a special token."""

        def normalized() -> Iterator[tuple[str, bool]]:
            for segment, special in self._segments(text, allowed_special):
                composed = segment if special else self.normalizer.apply(segment)
                noted.append((segment, composed, special))
                yield composed, special

        try:
            encoded = self.segment_encoder.encode(
                self.split_pattern, normalized(), len(text), with_ends=True, to_bytes=to_bytes
            )
        except PatternError as error:
            offset = sum(len(segment) for segment, _, _ in noted[:-1])
            raise error.shifted(offset) from None
        ids = np.frombuffer(encoded.ids, np.uint32)
        token_borders = np.frombuffer(encoded.token_borders, np.int64)
        pre_token_borders = np.frombuffer(encoded.pre_token_borders, np.int64)
        flags = np.zeros(len(ids), dtype=bool)
        special_ids = [self.specials.ids[segment] for segment, _, special in noted if special]
        if special_ids:
            ends = np.cumsum([bytetext.n_bytes(composed) for _, composed, _ in noted])
            ends = ends[[special for _, _, special in noted]]
            places, pre_token_places = (
                np.searchsorted(borders, ends) for borders in (token_borders, pre_token_borders)
            )
            ids, flags = (
                np.insert(of, places - 1, new) for of, new in ((ids, special_ids), (flags, True))
            )
            token_borders = np.insert(token_borders, places, ends)
            pre_token_borders = np.insert(pre_token_borders, pre_token_places, ends)
        if any(composed != segment for segment, composed, _ in noted):
            places = _origins(self.normalizer, noted)
            token_borders = places[token_borders]
            pre_token_borders = np.unique(places[pre_token_borders])
        spans, pre_tokens = spans_between(token_borders), spans_between(pre_token_borders)
        return Tokenization(text, ids.tolist(), spans, pre_tokens, flags, n_replaced, self.bytes_of)

    def _pre_tokens(self, text: str) -> list[int]:
        """Return the end of each pre-token of plain text, in characters."""
        normalized = self.normalizer.apply(text)
        ends = split(self.split_pattern, normalized).ends
        if normalized == text:
            return list(ends)
        places = self.normalizer.origins(text, len)
        return sorted({places[end] for end in ends} - {0})

    def changes(self, text: str) -> bool:
        """Return whether normalization changes a text; False if a library normalizes."""
        return bool(self.normalizer) and self.normalized(text) != text

    def normalized(self, text: str, allowed_special: AllowedSpecial | bool = True) -> str:
        """Return a text normalized as it is encoded."""
        parts = self._segments(text, allowed_special)
        return "".join(part if special else self.normalizer.apply(part) for part, special in parts)


def _origins(
    normalizer: Normalizer, segments: Iterable[tuple[str, str, bool]]
) -> npt.NDArray[np.int64]:
    """Return the offset in the text of every byte of the normalized text.

    Args:
        normalizer: The normalizer.
        segments: Each segment, its normalized form, and whether it is a special token.
    """
    import numpy as np

    places: list[Sequence[int] | npt.NDArray[np.int64]] = [[0]]
    at = 0
    for segment, composed, _ in segments:
        n = bytetext.n_bytes(segment)
        changed = composed != segment
        ends = normalizer.origins(segment, bytetext.n_bytes)[1:] if changed else range(1, n + 1)
        places.append(np.asarray(ends, np.int64) + at)
        at += n
    return np.concatenate(places)
