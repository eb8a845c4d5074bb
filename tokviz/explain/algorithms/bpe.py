"""BPE over characters, as SentencePiece and CLIP use it, with byte fallback and unknown tokens.

It follows `tokenizers`, file `models/bpe/model.rs`: each character of a pre-token is a symbol, and
the merges join symbols, the earliest learned merge first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokviz.explain.algorithms.story import Story, StoryRow, TokenId, byte_tokens, joined
from tokviz.text.sentences import Sentence
from tokviz.tokenizer.encoding.merging import merge_pre_token


@dataclass(frozen=True, slots=True)
class BpeModel:
    """BPE over the characters of a pre-token.

    Attributes:
        token_id: Returns the id of a token.
        rank: Returns the rank of a merge of two tokens, None if there is no such merge.
        unk_token: The token of characters that the vocabulary lacks.
        fuse_unk: Whether adjacent unknown characters become one token.
        byte_fallback: Whether such characters become tokens of their bytes instead.
        ignore_merges: Whether a pre-token that is a token is not merged.
        prefix: The prefix of symbols that do not start a pre-token.
        suffix: The suffix of the last symbol of a pre-token.
    """

    token_id: TokenId
    rank: Callable[[str, str], int | None]
    unk_token: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""

    def story(self, text: str, is_part: bool = False) -> Story:
        """Explain the merges of a pre-token, or of some of its tokens."""
        data, whole = text.encode(), self.token_id(text)
        if self.ignore_merges and whole is not None and not is_part:
            used = "The whole pre-token is in the vocabulary: it is not merged (ignore_merges)."
            return Story(data, ((data, whole),), (), ((used,),), whole)
        symbols = self._symbols(text)
        borders = list(range(len(symbols) + 1))
        shown = [symbol for symbol, _ in symbols]
        rows = [StoryRow("", tuple(map(str.encode, shown)))]

        def note_merge(middle: int, rank: int) -> None:
            at = bisect_left(borders, middle)
            del borders[at]
            shown[at - 1 : at + 1] = [self._spelling(shown[at - 1 : at + 1])]
            rows.append(StoryRow(f"{rank + 1:,}", tuple(map(str.encode, shown)), at - 1))

        def rank(left: tuple[str, ...], right: tuple[str, ...]) -> int | None:
            return self.rank(self._spelling(left), self._spelling(right))

        merge_pre_token(tuple(shown), rank, on_merge=note_merge)
        found = [(token.encode(), self.token_id(token)) for token in shown]
        tokens = tuple((token, token_id) for token, token_id in found if token_id is not None)
        lacking = {char: symbol for symbol, char in symbols if char}
        sentences = [self._fallback(char, symbol) for char, symbol in lacking.items()]
        sentences += [("No merge applies.",)] * (len(rows) == 1)
        return Story(data, tokens, tuple(rows), tuple(sentences), whole)

    def _symbols(self, text: str) -> list[tuple[str, str]]:
        """Return the symbols to merge, each with the characters that the vocabulary lacks."""
        symbols: list[tuple[str, str]] = []
        for at, char in enumerate(text):
            spelling = self.prefix * (at > 0) + char + self.suffix * (at == len(text) - 1)
            fallback = byte_tokens(spelling) if self.byte_fallback else []
            if self.token_id(spelling) is not None:
                symbols.append((spelling, ""))
            elif fallback and all(self.token_id(byte) is not None for byte in fallback):
                symbols += ((byte, char) for byte in fallback)
            elif self.unk_token is not None:
                fuses = self.fuse_unk and symbols and symbols[-1][0] == self.unk_token
                symbols.append((self.unk_token, (symbols.pop()[1] if fuses else "") + char))
        return symbols

    def _spelling(self, symbols: Sequence[str]) -> str:
        first, *others = symbols
        return first + "".join(symbol[len(self.prefix) :] for symbol in others)

    def _fallback(self, lacking: str, symbol: str) -> Sentence:
        is_unknown = symbol == self.unk_token
        becomes = joined(map(str.encode, [symbol] if is_unknown else byte_tokens(lacking)), " ")
        how = "" if is_unknown else " (byte fallback)"
        how = " (fuse_unk: adjacent unknown characters are one token)" if len(lacking) > 1 else how
        return ("The vocabulary lacks ", lacking.encode(), ", which becomes ", *becomes, f"{how}.")
