"""Greedy longest match: WordPiece over a pre-token, and RWKV's trie over bytes; and WordLevel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from tokviz.explain.algorithms.story import (
    MAX_ROWS,
    MAX_STORY_CHARS,
    Piece,
    Show,
    Story,
    StoryRow,
    story_of,
    too_long,
)
from tokviz.text.sentences import Sentence

T = TypeVar("T", str, bytes)

_LONGEST: Sentence = (
    "At each place, the longest token of the vocabulary that the rest starts with is used.",
)


class Match(NamedTuple):
    """A token found at a place of a text."""

    start: int
    end: int
    id: int


def longest_matches(
    text: T, token_id: Callable[[T, int], int | None], longest: int
) -> Iterator[Match]:
    """Cut a text into the longest tokens from left to right; stop where no token matches.

    Args:
        text: The text, or its bytes.
        token_id: Returns the id of a part of the text that starts at an offset, None if the
            vocabulary lacks it.
        longest: The length of the longest token.

    >>> ids = {b"a": 1, b"ab": 2, b"c": 3}
    >>> list(longest_matches(b"abca", lambda part, start: ids.get(part), 2))
    [Match(start=0, end=2, id=2), Match(start=2, end=3, id=3), Match(start=3, end=4, id=1)]
    """
    start = 0
    while start < len(text):
        for end in range(min(len(text), start + longest), start, -1):
            found = token_id(text[start:end], start)
            if found is not None:
                yield Match(start, end, found)
                start = end
                break
        else:
            return


def match_rows(tokens: Sequence[bytes], rests: Sequence[bytes]) -> tuple[StoryRow, ...]:
    """Return a row per match: the tokens so far, and the rest of the text."""
    rows = [StoryRow("", tuple(rests[:1]))]
    for number, rest in enumerate(rests[1 : MAX_ROWS + 1], start=1):
        after = (rest,) if rest else ()
        rows.append(StoryRow(f"{number:,}", (*tokens[:number], *after), number - 1))
    return tuple(rows)


def trie_story(data: bytes, token_id: Callable[[bytes], int | None], longest: int) -> Story:
    """Explain RWKV's encoding of a stretch of bytes that starts at a token.

    Args:
        data: The bytes; a token ends at their end.
        token_id: Returns the id of a token, None if the vocabulary lacks it.
        longest: The number of bytes of the longest token.
    """
    matches = list(longest_matches(data, lambda part, start: token_id(part), longest))
    tokens = tuple((data[match.start : match.end], match.id) for match in matches)
    ends = [0, *(match.end for match in matches)]
    return Story(
        data, tokens, match_rows([token for token, _ in tokens], [data[end:] for end in ends]),
        (_LONGEST,), token_id(data),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class WordPieceModel:
    """WordPiece, which follows `tokenizers`, file `models/wordpiece/mod.rs`.

    Attributes:
        token_id: Returns the id of a token, None if the vocabulary lacks it.
        unk_token: The token of a pre-token that cannot be cut into tokens.
        unk_id: Its id.
        prefix: The prefix of tokens that do not start a pre-token.
        max_chars: Pre-tokens with more characters become the unknown token.
        show: Converts the spelling of a token to the bytes to show.
    """

    token_id: Callable[[str], int | None]
    unk_token: str
    unk_id: int | None
    prefix: str = "##"
    max_chars: int = 100
    show: Show = str.encode

    def encode(self, text: str) -> list[Piece]:
        """Encode a pre-token."""
        pieces = self._matches(text) if len(text) <= self.max_chars else []
        if self.unk_id is not None and text and (not pieces or pieces[-1].end < len(text)):
            return [Piece(self.unk_token, self.unk_id, 0, len(text))]
        return pieces

    def story(self, text: str, *, is_part: bool = False) -> Story:
        """Explain the matches in a pre-token."""
        pieces = self.encode(text)
        unk = self.show(self.unk_token)
        sentence: Sentence
        if len(text) > self.max_chars:
            sentence = (
                f"{len(text):,} characters are more than max_input_chars_per_word "
                f"({self.max_chars:,}), so the pre-token becomes ", unk, ".",
            )  # fmt: skip
            return story_of(pieces, text, self.show, sentences=(sentence,))
        if len(text) > MAX_STORY_CHARS:
            return too_long(pieces, text, self.show)
        matches = self._matches(text)
        rests = [text, *(self._spelled(text[piece.end :], piece.end) for piece in matches)]
        rows = match_rows(
            [self.show(piece.text) for piece in matches], [self.show(rest) for rest in rests]
        )
        inside: Sentence = (
            "Inside a pre-token, tokens start with ", self.show(self.prefix), ".",
        )  # fmt: skip
        sentences = [_LONGEST, inside]
        if not matches or matches[-1].end < len(text):
            stuck = self.show(rests[-1])
            sentences.append(
                ("No token matches the start of ", stuck, ", so the whole pre-token becomes ", unk,
                 ".")
            )  # fmt: skip
        return story_of(
            pieces,
            text,
            self.show,
            rows=rows,
            sentences=tuple(sentences),
            whole=self.token_id(text),
        )

    def _spelled(self, part: str, start: int) -> str:
        return self.prefix + part if start and part else part

    def _matches(self, text: str) -> list[Piece]:
        def token_id(part: str, start: int) -> int | None:
            return self.token_id(self._spelled(part, start))

        return [
            Piece(self._spelled(text[start:end], start), found, start, end)
            for start, end, found in longest_matches(text, token_id, len(text))
        ]


@dataclass(frozen=True, slots=True)
class WordLevelModel:
    """A vocabulary of whole pre-tokens; see `WordPieceModel` for the attributes."""

    token_id: Callable[[str], int | None]
    unk_token: str
    unk_id: int | None
    show: Show = str.encode

    def encode(self, text: str) -> list[Piece]:
        """Look up a pre-token."""
        found = self.token_id(text)
        spelling = text if found is not None else self.unk_token
        token_id = found if found is not None else self.unk_id
        return [] if token_id is None else [Piece(spelling, token_id, 0, len(text))]

    def story(self, text: str, *, is_part: bool = False) -> Story:
        """Explain the look-up."""
        sentence: Sentence = ("The model looks up the whole pre-token, without cutting it.",)
        whole = self.token_id(text)
        lacking: Sentence = (
            "The vocabulary lacks it, so it becomes ", self.show(self.unk_token), ".",
        )  # fmt: skip
        sentences = (sentence,) if whole is not None else (sentence, lacking)
        return story_of(self.encode(text), text, self.show, sentences=sentences, whole=whole)
