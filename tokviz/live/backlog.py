"""What is still to be encoded, shared between the thread that edits and a worker.

Only the editing thread touches the list of chunks and its sums. The worker takes a chunk off one
queue, encodes its text, which never changes, and puts the tokens on another; the editing thread
fills them in when it next looks at the document. Both queues are deques, whose append and pop are
atomic.
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
from tokviz.tokenizer import Tokenizer

_Item = TypeVar("_Item")

LARGE = 8 * 1024
"""Chunks of more characters than this, and all that a child encodes, are for a worker only.

It encodes shorter ones together, about so many characters at a time: a call takes as long as some
hundred of them.
"""

_REMOVED_NOW = 1 << 14
"""Tokens that an edit takes out of the counts at once."""

_COUNTED_AT_ONCE = 1 << 17
"""Tokens, about, that a worker counts together."""

REST_SECONDS = 0.25
"""So long no edit must have come when a worker encodes a long chunk: not anew after every key."""


class Backlog:
    """The chunks that wait for one tokenizer, and those that it has encoded.

    Another tokenizer or another treatment of special tokens means another backlog; what a worker
    still brings to the old one is lost with it.

    Attributes:
        counts: Counts the tokens of the encoded chunks. Those that a worker encoded are counted
            when no chunk waits any more.
        failure: The last error of a chunk that could not be encoded, None if there was none. The
            tokens of such a chunk are unknown until it is edited.
    """

    def __init__(self, tokenizer: Tokenizer, parse_specials: bool) -> None:
        """Take the tokenizer, and whether it is to recognise special tokens."""
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
        """Whether something is left for a worker, or for the editing thread to take over."""
        return bool(self._waiting or self._done or self.counts_more)

    @property
    def counts_more(self) -> bool:
        """Whether a worker has tokens left to count, or to take out of the counts."""
        return bool(self._uncounted or self._dropped)

    def encodes_now(self, n_chars: int) -> bool:
        """Tell whether the editing thread may encode a text of this length."""
        return n_chars <= LARGE and not self._tokenizer.in_child

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Let chunks wait behind the others."""
        self._waiting.extend(chunks)

    def add_first(self, chunks: list[Chunk]) -> None:
        """Let chunks wait before the others."""
        self._waiting.extendleft(reversed(chunks))

    def add_edited(self, chunks: list[Chunk]) -> None:
        """Let chunks that an edit made wait before the others, long ones behind them."""
        self._rests_until = time.monotonic() + REST_SECONDS
        self._waiting.extendleft(chunk for chunk in reversed(chunks) if chunk.n_chars <= LARGE)
        self._waiting.extend(chunk for chunk in chunks if chunk.n_chars > LARGE)

    def release(self, gone: Iterable[Chunk]) -> None:
        """Let a worker take apart the chunks of another backlog, which takes a while."""
        self._gone.append(gone)

    def work(self) -> bool:
        """Encode chunks that wait, or count one; False if nothing is to do. For a worker."""
        for chunk in _pop(self._gone) or ():
            # A chunk and its block know each other: so the garbage collector need not find them.
            chunk.block = None
        if chunks := self._next():
            found = self._encode_together(chunks) or map(self._encode, chunks)
            for chunk, tokens in zip(chunks, found, strict=True):
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
        """Take a chunk that waits, or several short ones."""
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
        """Encode several short chunks; None if it has to be one by one."""
        texts = [chunk.text for chunk in chunks]
        if len(chunks) == 1 or any(map(self._tokenizer.changes, texts)):
            return None
        try:
            found = [*self._tokenizer.encode_byte_texts(texts, self._parse_specials)]
        except TokvizError:
            return None
        return [self._tokens(chunk, ids, None) for chunk, ids in zip(chunks, found, strict=True)]

    def _rest(self, chunk: Chunk) -> None:
        """Wait with a long chunk until no edit came for a while, or one took it out of the text."""
        while chunk.n_chars > LARGE and not chunk.is_coarse and chunk.block is not None:
            left = self._rests_until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, REST_SECONDS / 5))

    def encode_now(self, chunk: Chunk) -> ChunkTokens | None:
        """Encode a chunk whether it waits or not; None if it fails. For the editing thread."""
        tokens = self._encode(chunk)
        if tokens is not None:
            self.counts.add([tokens])
        return tokens

    def _encode(self, chunk: Chunk) -> ChunkTokens | None:
        """Encode a chunk; None if it fails."""
        try:
            ids, borders = self._tokenizer.encode_with_borders(chunk.text, self._parse_specials)
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
        """Take the encoded chunks that are still wanted. For the editing thread."""
        while self._done:
            chunk, tokens = self._done.popleft()
            if _is_wanted(chunk):
                yield chunk, tokens
            else:
                self.counts.remove([tokens])

    def drop(self, chunks: Iterable[Chunk]) -> None:
        """Notice that chunks are no longer part of the document. For the editing thread.

        The tokens of many are left in the counts until a worker takes them out.
        """
        # A list first, since a worker may add to it meanwhile.
        self._failed -= {chunk for chunk in [*self._failed] if not _is_wanted(chunk)}
        if not self._failed:
            self.failure = None
        dropped = [chunk.tokens for chunk in chunks if chunk.tokens is not None]
        n_now = bisect_right([*accumulate(len(part.ids) for part in dropped)], _REMOVED_NOW)
        self.counts.remove(dropped[:n_now])
        self._dropped.extend(dropped[n_now:])


def _pop(queue: deque[_Item]) -> _Item | None:
    """Take the first item; another thread may have been faster."""
    try:
        return queue.popleft()
    except IndexError:
        return None


def _is_wanted(chunk: Chunk) -> bool:
    return chunk.block is not None and chunk.tokens is None
