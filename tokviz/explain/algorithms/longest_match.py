"""Greedy longest match: WordPiece over a pre-token, and RWKV's trie over bytes; and WordLevel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from tokviz.explain.algorithms.story import Story, StoryRow, TokenId
from tokviz.text.sentences import Sentence

Text = TypeVar("Text", str, bytes)

_LONGEST: Sentence = (
    "At each place, the longest token of the vocabulary that the rest starts with is used.",
)
_WHOLE: Sentence = ("The model looks up the whole pre-token, without cutting it.",)


class Match(NamedTuple):
    """A token found at a place of a text."""

    start: int
    end: int
    id: int


def longest_matches(
    text: Text, token_id: Callable[[Text, int], int | None], longest: int
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


def trie_story(data: bytes, token_id: Callable[[bytes], int | None], longest: int) -> Story:
    """Explain RWKV's encoding of a stretch of bytes that starts and ends at a token.

    Args:
        data: The bytes.
        token_id: Returns the id of a token, None if the vocabulary lacks it.
        longest: The number of bytes of the longest token.
    """
    matches = list(longest_matches(data, lambda part, start: token_id(part), longest))
    return _story(data, matches, lambda start, end: data[start:end], (_LONGEST,), token_id(data))


def _story(
    data: bytes,
    matches: list[Match],
    spelled: Callable[[int, int], bytes],
    sentences: tuple[Sentence, ...],
    whole: int | None,
) -> Story:
    """Create a story with a row per match: the tokens so far, and the rest of the text."""
    tokens = tuple((spelled(match.start, match.end), match.id) for match in matches)
    rows = [StoryRow("", (data,))]
    for number, match in enumerate(matches, start=1):
        shown = [token for token, _ in tokens[:number]]
        shown += [spelled(match.end, len(data))] if spelled(match.end, len(data)) else []
        rows.append(StoryRow(f"{number:,}", tuple(shown), number - 1))
    return Story(data, tokens, tuple(rows), sentences, whole)


@dataclass(frozen=True, slots=True)
class WordPieceModel:
    """WordPiece, which follows `tokenizers`, file `models/wordpiece/mod.rs`; and WordLevel.

    Attributes:
        token_id: Returns the id of a token.
        unk_token: The token of a pre-token that cannot be cut into tokens.
        prefix: The prefix of tokens that do not start a pre-token; None for WordLevel.
        max_chars: Pre-tokens with more characters become the unknown token.
    """

    token_id: TokenId
    unk_token: str
    prefix: str | None = "##"
    max_chars: int = 100

    def story(self, text: str, is_part: bool = False) -> Story:
        """Explain the matches in a pre-token."""

        def spelled(start: int, end: int) -> str:
            return (self.prefix or "") * (0 < start < end) + text[start:end]

        def look_up(part: str, start: int) -> int | None:
            is_cut = len(part) < len(text)
            if (self.prefix is None and is_cut) or len(text) > self.max_chars:
                return None
            return self.token_id(spelled(start, start + len(part)))

        matches = list(longest_matches(text, look_up, len(text)))
        end = matches[-1].end if matches else 0
        unk, whole = self.unk_token.encode(), self.token_id(text)
        inside = ("Inside a pre-token, tokens start with ", (self.prefix or "").encode(), ".")
        sentences = (_WHOLE,) if self.prefix is None else (_LONGEST, inside)
        story = _story(
            text.encode(),
            matches,
            lambda start, end: spelled(start, end).encode(),
            sentences,
            whole,
        )
        if end == len(text):
            return story
        rest: Sentence = ("No token matches the start of ", spelled(end, len(text)).encode(), ", ")
        if len(text) > self.max_chars:
            rest = (f"It has more than {self.max_chars:,} characters (max_input_chars_per_word), ",)
        lacking = (*rest, "so the whole pre-token becomes ", unk, ".")
        tokens = ((unk, unk_id),) if (unk_id := self.token_id(self.unk_token)) is not None else ()
        return replace(story, tokens=tokens, sentences=(*sentences, lacking))
