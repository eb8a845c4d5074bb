"""Greedy longest match: WordPiece over a pre-token, and RWKV's trie over bytes; and WordLevel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tokviz.explain.algorithms.story import Story, StoryRow, TokenId
from tokviz.text.sentences import Sentence

_LONGEST: Sentence = (
    "At each place, the longest token of the vocabulary that the rest starts with is used.",
)


def trie_story(data: bytes, token_id: Callable[[bytes], int | None], longest: int) -> Story:
    """Explain RWKV's encoding of a stretch of bytes that starts and ends at a token.

    Args:
        data: The bytes.
        token_id: Returns the id of a token, None if the vocabulary lacks it.
        longest: The number of bytes of the longest token.

    >>> ids = {b"a": 1, b"ab": 2, b"c": 3}
    >>> trie_story(b"abca", ids.get, 2).tokens
    ((b'ab', 2), (b'c', 3), (b'a', 1))
    """

    def token(start: int, end: int) -> tuple[bytes, int | None]:
        return data[start:end], token_id(data[start:end])

    return _longest_matches(len(data), longest, token)[0]


def _longest_matches(
    size: int, longest: int, token: Callable[[int, int], tuple[bytes, int | None]]
) -> tuple[Story, int]:
    """Cut a text into the longest tokens from left to right, until no token matches.

    Args:
        size: The length of the text.
        longest: The length of the longest token.
        token: Returns the spelling of a part of the text, and its id, None if it has none.

    Returns:
        The story, with a row per match, and where the last match ends.
    """
    whole, start = token(0, size), 0
    tokens: list[tuple[bytes, int]] = []
    rows = [StoryRow("", (whole[0],))]
    while start < size:
        for end in range(min(size, start + longest), start, -1):
            spelling, token_id = token(start, end)
            if token_id is not None:
                break
        else:
            break
        tokens.append((spelling, token_id))
        shown = [spelling for spelling, _ in tokens] + [token(end, size)[0]] * (end < size)
        rows.append(StoryRow(f"{len(tokens):,}", tuple(shown), len(tokens) - 1))
        start = end
    return Story(whole[0], tuple(tokens), tuple(rows), (_LONGEST,), whole[1]), start


@dataclass(frozen=True, slots=True)
class WordPieceModel:
    """WordPiece, which follows `tokenizers`, file `models/wordpiece/mod.rs`.

    Attributes:
        token_id: Returns the id of a token.
        unk_token: The token of a pre-token that cannot be cut into tokens.
        prefix: The prefix of tokens that do not start a pre-token.
        max_chars: Pre-tokens with more characters become the unknown token.
    """

    token_id: TokenId
    unk_token: str
    prefix: str = "##"
    max_chars: int = 100

    def story(self, text: str, is_part: bool = False) -> Story:
        """Explain the matches in a pre-token."""

        def token(start: int, end: int) -> tuple[bytes, int | None]:
            spelling = self.prefix * (start > 0) + text[start:end]
            return spelling.encode(), self.token_id(spelling)

        is_long = len(text) > self.max_chars
        story, end = _longest_matches(len(text), 0 if is_long else len(text), token)
        if end == len(text):
            return story
        because: Sentence = ("No token matches the start of ", token(end, len(text))[0])
        if is_long:
            because = (
                f"It has more than {self.max_chars:,} characters (max_input_chars_per_word)",
            )
        unk, unk_id = self.unk_token.encode(), self.token_id(self.unk_token)
        lacking: Sentence = (*because, ", so the whole pre-token becomes ", unk, ".")
        tokens = () if unk_id is None else ((unk, unk_id),)
        return replace(story, tokens=tokens, sentences=(_LONGEST, lacking))


def word_level_story(text: str, token_id: TokenId, unk_token: str) -> Story:
    """Explain the look-up of a whole pre-token in a vocabulary."""
    whole = token_id(text)
    token = unk_token if whole is None else text
    found, data = token_id(token), text.encode()
    sentence: Sentence = ("The model looks up the whole pre-token in its vocabulary.",)
    if whole is None:
        sentence = ("The vocabulary lacks ", data, ", so it becomes ", token.encode(), ".")
    tokens = () if found is None else ((token.encode(), found),)
    return Story(data, tokens, (), (sentence,), whole)
