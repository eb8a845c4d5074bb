"""Queue of chunks to encode, shared by the editing thread and a worker thread.

Only the editing thread touches the list of chunks and its sums. The worker takes a chunk from one
queue, encodes its text, which never changes, and puts the tokens in another queue; the editing
thread fills them in when it next reads the document. Both queues are deques, whose append and pop
are atomic.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TypeVar

from tokviz.errors import TokvizError
from tokviz.live.chunks import Chunk, ChunkTokens, TokenLengths
from tokviz.live.hues import recall, unpainted
from tokviz.live.occurrences import TokenCounts
from tokviz.tokenizer.tokenizer import Tokenizer

_Item = TypeVar("_Item")

LARGE = 8 * 1024
"""Only a worker encodes chunks of more characters than this, and all chunks that a child encodes.

A worker encodes shorter chunks together, about this many characters at a time, because one call
costs as much as encoding a few hundred characters.
"""

_REMOVED_NOW = 1 << 14
"""Maximum number of tokens that an edit removes from the counts itself."""

_COUNTED_AT_ONCE = 1 << 17
"""Approximate number of tokens that a worker counts per step."""

REST_SECONDS = 0.25
"""A worker encodes a long chunk only after this time without edits, not after every key."""


class Backlog:
    """The pending chunks of one tokenizer, and those already encoded.

    Changing the tokenizer or the treatment of special tokens creates a new backlog; results that a
    worker still adds to the old one are dropped with it.

    Attributes:
        counts: Counts the tokens of the encoded chunks. Those that a worker encoded are counted
            when no chunk waits any more.
        failure: The last error of a chunk that could not be encoded, None if there was none. The
            tokens of such a chunk are unknown until it is edited.
    """

    def __init__(self, tokenizer: Tokenizer, parse_specials: bool) -> None:
        """Create an empty backlog; `parse_specials` enables parsing special tokens in the text."""
        self._tokenizer = tokenizer
        self._parse_specials = parse_specials
        self._lengths = TokenLengths(tokenizer)
        self._waiting: deque[Chunk] = deque()
        self._done: deque[tuple[Chunk, ChunkTokens]] = deque()
        self._uncounted: deque[ChunkTokens] = deque()
        self._dropped: deque[ChunkTokens] = deque()
        self._gone: deque[Iterable[Chunk]] = deque()
        self._rests_until = 0.0
        self.counts = TokenCounts()
        self.failure: TokvizError | None = None
        self._failed = set[Chunk]()

    @property
    def waits(self) -> bool:
        """True if a worker has work left, or has results that the editing thread must take over."""
        return bool(self._waiting or self._done or self.counts_more)

    @property
    def counts_more(self) -> bool:
        """True if a worker has tokens left to count, or to remove from the counts."""
        return bool(self._uncounted or self._dropped)

    def encodes_now(self, n_chars: int) -> bool:
        """Return whether the editing thread may encode a text of this length itself."""
        return n_chars <= LARGE and not self._tokenizer.in_child

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Append chunks to the queue."""
        self._waiting.extend(chunks)

    def add_first(self, chunks: list[Chunk]) -> None:
        """Put chunks at the front of the queue."""
        self._waiting.extendleft(reversed(chunks))

    def add_edited(self, chunks: list[Chunk]) -> None:
        """Queue edited chunks: short ones at the front, long ones at the end."""
        self._rests_until = time.monotonic() + REST_SECONDS
        self._waiting.extendleft(chunk for chunk in reversed(chunks) if chunk.n_chars <= LARGE)
        self._waiting.extend(chunk for chunk in chunks if chunk.n_chars > LARGE)

    def release(self, gone: Iterable[Chunk]) -> None:
        """Let a worker release the chunks of a replaced backlog, which takes a while."""
        self._gone.append(gone)

    def work(self) -> bool:
        """Encode pending chunks, or count tokens; return False if idle. Worker only."""
        for chunk in _pop(self._gone) or ():
            # Break the reference cycle of chunk and block, so that the garbage collector need not.
            chunk.block = None
        if chunks := self._next():
            encoded = self._encode_together(chunks) or map(self._encode, chunks)
            for chunk, tokens in zip(chunks, encoded, strict=True):
                if tokens is not None:
                    self._uncounted.append(tokens)
                    self._done.append((chunk, tokens))
            return True
        uncounted: list[ChunkTokens] = []
        n_tokens = 0
        while n_tokens < _COUNTED_AT_ONCE and (part := _pop(self._uncounted)):
            uncounted.append(part)
            n_tokens += len(part.ids)
        if uncounted:
            self.counts.add(uncounted)
            return True
        if dropped := _pop(self._dropped):
            self.counts.remove([dropped])
            return True
        return False

    def _next(self) -> list[Chunk]:
        """Take one pending chunk, or several short ones."""
        chunks: list[Chunk] = []
        n_chars = 0
        while n_chars < LARGE and (chunk := _pop(self._waiting)):
            if chunks and (chunk.n_chars > LARGE or self._tokenizer.in_child):
                self._waiting.appendleft(chunk)
                break
            self._rest(chunk)
            if _is_wanted(chunk):
                chunks.append(chunk)
                n_chars += chunk.n_chars
        return chunks

    def _encode_together(self, chunks: list[Chunk]) -> list[ChunkTokens] | None:
        """Encode several short chunks in one call; None if they must be encoded one by one."""
        texts = [chunk.text for chunk in chunks]
        if len(chunks) == 1 or any(map(self._tokenizer.byte_text.changes, texts)):
            return None
        try:
            ids_of_texts = [*self._tokenizer.byte_text.encode_all(texts, self._parse_specials)]
        except TokvizError:
            return None
        return [
            self._tokens(chunk, ids, None) for chunk, ids in zip(chunks, ids_of_texts, strict=True)
        ]

    def _rest(self, chunk: Chunk) -> None:
        """Delay a long chunk until edits have paused, or until an edit removed it from the text."""
        while chunk.n_chars > LARGE and not chunk.is_coarse and chunk.block is not None:
            left = self._rests_until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, REST_SECONDS / 5))

    def encode_now(self, chunk: Chunk) -> ChunkTokens | None:
        """Encode a chunk, pending or not; None if it fails. Editing thread only."""
        tokens = self._encode(chunk)
        if tokens is not None:
            self.counts.add([tokens])
        return tokens

    def _encode(self, chunk: Chunk) -> ChunkTokens | None:
        """Encode a chunk; None if it fails."""
        try:
            ids, borders = self._tokenizer.byte_text.encode_with_borders(
                chunk.text, self._parse_specials
            )
        except TokvizError as error:
            self.failure = error
            self._failed.add(chunk)
            return None
        return self._tokens(chunk, ids, borders)

    def _tokens(self, chunk: Chunk, ids: array[int], borders: array[int] | None) -> ChunkTokens:
        tokens = ChunkTokens(ids, self._lengths, borders)
        if chunk.n_chars > LARGE and not chunk.is_coarse:
            tokens.prepare()
        tokens.hues = (
            recall(chunk.runs, tokens.ids, tokens.borders) if chunk.runs else unpainted(len(ids))
        )
        return tokens

    def finished(self) -> Iterator[tuple[Chunk, ChunkTokens]]:
        """Yield the encoded chunks that are still part of the document. Editing thread only."""
        while self._done:
            chunk, tokens = self._done.popleft()
            if _is_wanted(chunk):
                yield chunk, tokens
            else:
                self.counts.remove([tokens])

    def drop(self, chunks: Iterable[Chunk]) -> None:
        """Forget chunks that are no longer part of the document. Editing thread only.

        Beyond `_REMOVED_NOW` tokens, a worker removes the rest from the counts.
        """
        # Copy to a list first, because a worker may add to the set meanwhile.
        self._failed -= {chunk for chunk in [*self._failed] if not _is_wanted(chunk)}
        if not self._failed:
            self.failure = None
        dropped = [chunk.tokens for chunk in chunks if chunk.tokens is not None]
        n_now = bisect_right([*accumulate(len(part.ids) for part in dropped)], _REMOVED_NOW)
        self.counts.remove(dropped[:n_now])
        self._dropped.extend(dropped[n_now:])


def _pop(queue: deque[_Item]) -> _Item | None:
    """Pop the first item, or return None because another thread may have emptied the queue."""
    try:
        return queue.popleft()
    except IndexError:
        return None


def _is_wanted(chunk: Chunk) -> bool:
    return chunk.block is not None and chunk.tokens is None
