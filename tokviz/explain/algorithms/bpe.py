"""BPE over characters, as SentencePiece and CLIP use it, with byte fallback and unknown tokens.

It follows `tokenizers`, file `models/bpe/model.rs`: each character of a pre-token is a symbol, and
the merges join symbols, the earliest learned merge first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tokviz.explain.algorithms.story import (
    MAX_ROWS,
    MAX_STORY_CHARS,
    Piece,
    Show,
    Story,
    StoryRow,
    byte_pieces,
    joined,
    story_of,
    too_long,
)
from tokviz.text.sentences import Sentence
from tokviz.tokenizer.encoding.merging import merge_pre_token


@dataclass(frozen=True, slots=True)
class BpeModel:
    """BPE over the characters of a pre-token.

    Attributes:
        token_id: Returns the id of a token, None if the vocabulary lacks it.
        rank: Returns the rank of a merge of two tokens, None if there is no such merge.
        show: Converts the spelling of a token to the bytes to show.
        unk_token: The token of characters that the vocabulary lacks.
        fuse_unk: Whether adjacent unknown characters become one token.
        byte_fallback: Whether such characters become tokens of their bytes instead.
        ignore_merges: Whether a pre-token that is a token is not merged.
        prefix: The prefix of symbols that do not start a pre-token.
        suffix: The suffix of the last symbol of a pre-token.
    """

    token_id: Callable[[str], int | None]
    rank: Callable[[str, str], int | None]
    show: Show = str.encode
    unk_token: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""

    def encode(self, text: str) -> list[Piece]:
        """Encode a pre-token."""
        whole = self.token_id(text) if self.ignore_merges else None
        if whole is not None:
            return [Piece(text, whole, 0, len(text))]
        return self._merged(self._symbols(text), lambda middle, rank: None)

    def story(self, text: str, *, is_part: bool = False) -> Story:
        """Explain the merges of a pre-token, or of some of its tokens."""
        symbols = self._symbols(text)
        whole = self.token_id(text)
        if self.ignore_merges and whole is not None and not is_part:
            used: Sentence = (
                "The vocabulary contains the whole pre-token, which is used without merging "
                "(ignore_merges).",
            )
            return story_of(self.encode(text), text, self.show, sentences=(used,), whole=whole)
        borders = list(range(len(symbols) + 1))
        shown = [self.show(symbol.text) for symbol in symbols]
        rows = [StoryRow("", tuple(shown))]

        def note_merge(middle: int, rank: int) -> None:
            if len(rows) > MAX_ROWS or len(text) > MAX_STORY_CHARS:
                return
            at = bisect_left(borders, middle)
            start, end = borders[at - 1], borders[at + 1]
            del borders[at]
            shown[at - 1 : at + 1] = [self.show(self._spelling(symbols[start:end]))]
            rows.append(StoryRow(f"{rank + 1:,}", tuple(shown), at - 1))

        pieces = self._merged(symbols, note_merge)
        if len(text) > MAX_STORY_CHARS:
            return too_long(pieces, text, self.show)
        reason = "its merges never join: they end at "
        reasons: Sentence = (reason, *joined([self.show(piece.text) for piece in pieces]))
        sentences = tuple(self._sentences(text, symbols, len(rows) == 1))
        return story_of(
            pieces, text, self.show, rows=tuple(rows), sentences=sentences, whole=whole,
            reason=reasons,
        )  # fmt: skip

    def _symbols(self, text: str) -> list[Piece]:
        """Return the symbols that are merged."""
        symbols: list[Piece] = []
        unknown: Piece | None = None
        for at, char in enumerate(text):
            spelling = (self.prefix if at else "") + char
            spelling += self.suffix if at == len(text) - 1 else ""
            token_id = self.token_id(spelling)
            if token_id is not None:
                symbols += [unknown] if unknown else []
                unknown = None
                symbols.append(Piece(spelling, token_id, at, at + 1))
                continue
            if self.byte_fallback:
                spelled = byte_pieces(spelling)
                ids = [self.token_id(piece) for piece in spelled]
                known = [token_id for token_id in ids if token_id is not None]
                if len(known) == len(ids):
                    symbols += (
                        Piece(byte, token_id, at, at + 1)
                        for byte, token_id in zip(spelled, known, strict=True)
                    )
                    continue
            unk_id = None if self.unk_token is None else self.token_id(self.unk_token)
            if self.unk_token is None or unk_id is None:
                continue
            if unknown is not None and self.fuse_unk:
                unknown = unknown._replace(end=at + 1)
                continue
            symbols += [unknown] if unknown else []
            unknown = Piece(self.unk_token, unk_id, at, at + 1)
        return [*symbols, unknown] if unknown else symbols

    def _merged(self, symbols: list[Piece], on_merge: Callable[[int, int], object]) -> list[Piece]:
        """Merge symbols to tokens."""

        def rank(left: tuple[Piece, ...], right: tuple[Piece, ...]) -> int | None:
            return self.rank(self._spelling(left), self._spelling(right))

        pieces = []
        for token in merge_pre_token(tuple(symbols), rank, on_merge=on_merge):
            text = self._spelling(token)
            token_id = token[0].id if len(token) == 1 else self.token_id(text)
            assert token_id is not None, "the result of a merge is in the vocabulary"
            pieces.append(Piece(text, token_id, token[0].start, token[-1].end))
        return pieces

    def _spelling(self, symbols: tuple[Piece, ...] | list[Piece]) -> str:
        first, *others = (symbol.text for symbol in symbols)
        return first + "".join(text[len(self.prefix) :] for text in others)

    def _sentences(self, text: str, symbols: list[Piece], no_merge: bool) -> Iterator[Sentence]:
        if no_merge:
            yield ("No merge applies.",)
        told = set()
        for symbol in symbols:
            lacking = text[symbol.start : symbol.end]
            if lacking in told:
                continue
            told.add(lacking)
            if symbol.text == self.unk_token:
                fused = " together, because adjacent unknown characters are fused (fuse_unk)"
                yield (
                    "The vocabulary lacks ", self.show(lacking), ", which becomes ",
                    self.show(symbol.text), f"{fused if len(lacking) > 1 else ''}.",
                )  # fmt: skip
            elif self.byte_fallback and symbol.text in byte_pieces(lacking):
                yield (
                    "The vocabulary lacks ", self.show(lacking), ", which becomes its bytes ",
                    *joined([self.show(piece) for piece in byte_pieces(lacking)], " "),
                    " (byte fallback).",
                )  # fmt: skip
        if self.suffix:
            yield ("The last character of a pre-token carries ", self.suffix.encode(), ".")
