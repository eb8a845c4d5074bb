"""Encode a text on which a regex of Hugging Face's library explodes: around the stretch.

The library tells neither which regex gave up nor where. So the stretch is searched for: the
shortest that makes it give up by itself, as far to the left as can be told. The tokens before it
are those that the library gives the text up to there. From where its word begins to where it ends
in the text they are those without the regexes. What is behind it is encoded as if the text began
there.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any

from tokviz.errors import JobError
from tokviz.formats.library import NO_WORD
from tokviz.pretokenize.step_limit import behind

_OVERLAP = 512
"""Halves of a text have so many characters of each other: a stretch is in one of them."""

_REMEMBERED = 4


class ExplodedError(JobError):
    """A regex gave up on a text."""


Encode = Callable[..., Any]
"""Gives the library's encoding of a text; without its regexes if it is told `regexes=False`.

It raises an `ExplodedError` where a regex gives up.
"""


class Tokens:
    """Tokens of a text: numbers, one a token each, as `LibraryEncoding` has them."""

    def __init__(self) -> None:
        """Begin with none."""
        self.ids, self.starts, self.ends, self.words = (array("I") for _ in range(4))

    def add(
        self, found: Any, at: int = 0, most: int | None = None, *, in_one: bool = False
    ) -> None:
        """Add tokens of the library, `most` of them.

        Args:
            found: The encoding of the part of the text that begins at the character `at`.
            at: See there.
            most: How many tokens of it.
            in_one: Whether they are one word.
        """
        new = 1 + max((word for word in self.words if word != NO_WORD), default=-1)
        self.ids.extend(found.ids[:most])
        self.starts.extend(at + start for start, _ in found.offsets[:most])
        self.ends.extend(at + end for _, end in found.offsets[:most])
        self.words.extend(
            NO_WORD if word is None else new if in_one else new + word
            for word in found.word_ids[:most]
        )


class Around:
    """Encodes texts around what explodes in them.

    Stretches that exploded are remembered: they are searched for before anything is tried.
    """

    def __init__(self) -> None:
        """Begin with no stretch."""
        self._known: list[str] = []

    def encode(
        self, encode: Encode, text: str, most: int, specials: Mapping[int, str]
    ) -> tuple[Tokens, list[int]]:
        """Encode a text on which a regex may explode.

        Args:
            encode: Encodes a part of it.
            text: The text.
            most: Behind so many places at which one explodes the rest is left as one piece.
            specials: The added tokens, id → text: no piece goes across one.

        Returns:
            The tokens, and the places, in characters.
        """
        tokens, places, start = Tokens(), [], 0
        while start < len(text):
            rest = text[start:]
            try:
                tokens.add(encode(rest), start)
                break
            except ExplodedError:
                pass
            place, before, n_before, begin = self._first(encode, rest)
            tokens.add(before, start, n_before)
            places.append(start + place)
            if most == 1:
                break  # that is an error for whoever asked: nobody wants the rest
            is_last = len(places) == most
            end = len(rest) if is_last else behind(rest, place, whole_line=place == 0 < start)
            piece, n_tokens = encode(rest[begin:end], regexes=False), None
            for number, (first, last) in enumerate(() if is_last else piece.offsets):
                found = rest[begin + first : begin + last].strip()
                if begin + first > place and specials.get(piece.ids[number]) == found:
                    n_tokens, end = number, begin + first
                    break
            tokens.add(piece, start + begin, n_tokens, in_one=True)
            start += end
        return tokens, places

    def _first(self, encode: Encode, text: str) -> tuple[int, Any, int, int]:
        """Find where a regex explodes first, and what is before that.

        Returns:
            The place, in characters; an encoding of the text from its beginning; how many tokens of
            that stand before the word at the place; and where this word begins.
        """

        def explodes(part: str) -> bool:
            try:
                encode(part)
            except ExplodedError:
                return True
            return False

        begin, stop = 0, len(text)
        while True:
            place, end = self._stretch(explodes, text, begin, stop)
            whole = behind(text, end - 1)
            if not explodes(text[:whole]) and explodes(text[whole:stop]):
                begin = whole  # the rest of the word, or what is before it, saves this one
                continue
            try:
                before = encode(text[: end - 1])
                break
            except ExplodedError:
                begin, stop = 0, end - 1
        starts = [first for first, _ in before.offsets]
        n_before = bisect_left(before.offsets, True, key=lambda offsets: offsets[1] > place)
        words = before.word_ids
        while 0 < n_before < len(words) and words[n_before - 1] == words[n_before] is not None:
            n_before -= 1
        return place, before, n_before, min(place, *starts[n_before : n_before + 1], place)

    def _stretch(
        self, explodes: Callable[[str], bool], text: str, start: int, end: int
    ) -> tuple[int, int]:
        """Find a short stretch of a part of a text that explodes, in which that does."""
        places = [(text.find(known, start, end), len(known)) for known in self._known]
        if found := [(at, at + n_chars) for at, n_chars in places if at >= 0]:
            return min(found)
        while end - start > 4 * _OVERLAP:
            middle = (start + end) // 2
            if explodes(text[start : middle + _OVERLAP]):
                end = middle + _OVERLAP
            elif explodes(text[middle - _OVERLAP : end]):
                start = middle - _OVERLAP
            else:
                break
        shorter = range(start + 1, end)
        end = start + 1 + bisect_left(shorter, True, key=lambda at: explodes(text[start:at]))
        later = range(start + 1, end)
        start += bisect_left(later, True, key=lambda at: not explodes(text[at:end]))
        self._known = [text[start:end], *self._known[: _REMEMBERED - 1]]
        return start, end
