"""A cache for the tokens of a conversation's texts.

An edit leaves nearly all texts of a conversation unchanged, so their tokens are cached. A long text
is encoded in parts, most of which are unchanged too.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Hashable, Iterable
from threading import Lock

from tokviz.tokenizer.pretokenize.patterns import CUT_CONTEXT, first_cut
from tokviz.tokenizer.tokenizer import Tokenizer

_KEPT_CHARS = 4_000_000
"""The size of a tokenizer's cache, in characters of text."""
_PART_CHARS = 5_000
"""The shortest part; parts have up to twice as many characters, or more without a place to cut."""


class CachingEncoder:
    """An encoder for text that caches the newest results."""

    def __init__(self, tokenizer: Tokenizer, is_parsed: bool, continues: bool) -> None:
        """Create an empty cache; see `encoder_of`."""
        self._is_parsed, self._continues = is_parsed, continues
        # Not a strong reference: the tokenizer's encoder must not keep it alive.
        self._tokenizer = weakref.ref(tokenizer)
        self._changing = Lock()
        self._ids: dict[str, array[int]] = {}
        self._ends: dict[str, array[int]] = {}
        self._n_chars = 0
        self._parts: dict[Hashable, tuple[str, list[str]]] = {}
        """The last long text at each place, and its parts."""

    def parts(self, text: str, place: Hashable) -> list[str]:
        """Cut byte text into parts whose tokens are together those of the text.

        Args:
            text: The text.
            place: Its place in the conversation. The parts of the last text at this place are
                reused where the text is unchanged, as the same objects.
        """
        tokenizer = self._tokenizer()
        assert tokenizer is not None
        safe_cut = tokenizer.safe_cut
        if safe_cut is None or len(text) <= 2 * _PART_CHARS:
            return [text]
        was, known = self._parts.get(place, ("", []))
        shift, at, stop = len(text) - len(was), 0, len(was)
        parts, suffix_parts = list[str](), list[str]()
        for part in known[:-1]:
            end = at + len(part)
            ahead = was[end : end + CUT_CONTEXT]
            if not (text.startswith(part, at) and text.startswith(ahead, end)):
                break
            parts.append(part)
            at = end
        for part in known[: len(parts) : -1]:
            start = stop - len(part)
            first = start - CUT_CONTEXT
            if first + shift < at or not (
                text.startswith(part, start + shift)
                and text.startswith(was[first:start], first + shift)
            ):
                break
            suffix_parts.append(part)
            stop = start
        stop += shift
        while stop - at > 2 * _PART_CHARS:
            found = first_cut(safe_cut, text, at + _PART_CHARS, stop)
            if found is None:
                break
            parts.append(text[at:found])
            at = found
        parts += [text[at:stop], *suffix_parts[::-1]]
        with self._changing:
            self._parts[place] = text, parts
            if sum(len(kept) for kept, _ in self._parts.values()) > _KEPT_CHARS:
                self._parts.clear()
        return parts

    def knows(self, text: str) -> bool:
        """Return whether the token ids of byte text are cached."""
        return text in self._ids

    def encode(self, text: str) -> array[int]:
        """Return the token ids of byte text; do not change them.

        Raises:
            PatternError: If the split pattern takes too long.
        """
        with self._changing:
            found = self._ids.pop(text, None)
            if found is not None:
                self._ids[text] = found  # moves it to the end; the first ones are dropped
                return found
        tokenizer = self._tokenizer()
        assert tokenizer is not None
        ids, borders = self._encode(tokenizer, text)
        with self._changing:
            self._keep(text, ids)
            if borders is not None:
                self._ends[text] = borders[1:]
        return ids

    def _encode(self, tokenizer: Tokenizer, text: str) -> tuple[array[int], array[int] | None]:
        """Encode text; return the ids and the borders, as `encode_with_borders` does."""
        if self._continues:
            before, _ = tokenizer.byte_text.encode_with_borders("\n", self._is_parsed)
            ids, borders = tokenizer.byte_text.encode_with_borders("\n" + text, self._is_parsed)
            n_before = len(before)
            if ids[:n_before] == before:
                cut = None if borders is None else array("I", [b - 1 for b in borders[n_before:]])
                return ids[n_before:], cut
        return tokenizer.byte_text.encode_with_borders(text, self._is_parsed)

    def learn(self, texts: Iterable[str]) -> None:
        """Encode byte texts in one call, which is many times as fast as one by one.

        Texts that need a child process or may raise an error are left to `encode`.
        """
        tokenizer = self._tokenizer()
        assert tokenizer is not None
        if tokenizer.remote or tokenizer.split_pattern.guarded:
            return
        new = [*dict.fromkeys(text for text in texts if text not in self._ids)]
        if len(new) > 1:
            for text, ids in zip(new, tokenizer.byte_text.encode_all(new, False), strict=True):
                with self._changing:
                    self._keep(text, ids)

    def _keep(self, text: str, ids: array[int]) -> None:
        if text in self._ids:  # by another thread
            return
        self._ids[text] = ids
        self._n_chars += len(text)
        while self._n_chars > _KEPT_CHARS and len(self._ids) > 1:
            oldest = next(iter(self._ids))
            self._n_chars -= len(oldest)
            del self._ids[oldest]
            self._ends.pop(oldest, None)

    def ends(self, text: str) -> array[int]:
        """Return the byte offset at which each token of byte text ends."""
        found = self._ends.get(text)
        if found is None:
            tokenizer = self._tokenizer()
            assert tokenizer is not None
            borders: array[int] | None = None
            if tokenizer.remote or tokenizer.byte_text.changes(text):
                ids, borders = self._encode(tokenizer, text)
            else:
                kept = self._ids.get(text)
                ids = self.encode(text) if kept is None else kept
            if borders is None:
                import numpy as np  # slow to import, and a short conversation does not need it

                ends = np.cumsum(tokenizer.token_sizes[np.frombuffer(ids, np.uint32)])
                found = array("I", ends.astype(np.uint32).tobytes())
            else:
                found = borders[1:]
            with self._changing:
                if text in self._ids:
                    self._ends[text] = found
        return found


def encoder_of(
    tokenizer: Tokenizer, is_parsed: bool = False, continues: bool = False
) -> CachingEncoder:
    """Return an encoder of a tokenizer, always the same one.

    Args:
        tokenizer: The tokenizer.
        is_parsed: Whether special tokens are recognized.
        continues: Whether the text continues another one. A tokenizer in another process may add a
            space at the start of a text, so it encodes a line break before the text, whose tokens
            are removed; as `encode_marked_chat` in transformers does.
    """
    made: dict[tuple[bool, bool], CachingEncoder]
    made = tokenizer.derived.setdefault("encoders", {})
    key = is_parsed, continues and tokenizer.remote
    if key not in made:
        made[key] = CachingEncoder(tokenizer, *key)
    return made[key]
