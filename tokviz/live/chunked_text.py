"""Text in chunks that are tokenized one at a time and stay exact under edits.

The text is divided into chunks of about a thousand characters, cut only where a pre-token boundary
is certain regardless of the surrounding text (`cuts.py`). So chunks can be encoded independently,
an edit re-encodes only the chunks it touches, and a key press costs the same in a small and a large
document. A chunk without a safe cut can have any length: an edit then replaces only the touched
parts of it, and a worker encodes the chunk again.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from threading import Lock
from typing import NamedTuple

from tokviz.errors import TokvizError
from tokviz.live.backlog import LARGE, Backlog
from tokviz.live.changes import Change, ChangeLog
from tokviz.live.chunking import Chunker
from tokviz.live.chunks import (
    BYTES,
    CHARS,
    NEWLINES,
    RAW_BYTES,
    TOKENS,
    Chunk,
    ChunkList,
    ChunkTokens,
    OldTokens,
    yield_gil,
)
from tokviz.live.hues import edge_hue, paint
from tokviz.live.prefix_sums import BlockPlace
from tokviz.text.common_prefix import n_common
from tokviz.text.snapshots import TextPart, joined
from tokviz.tokenizer.tokenizer import Tokenizer

_MOST_COMPARED = 1 << 16
"""Up to this many bytes, an edit computes which tokens changed; beyond, all count as changed."""

_MOST_RUNS = 64
"""Maximum number of runs from which a pending chunk recalls its hues."""


def changed_tokens(old: list[Chunk], new: list[Chunk], start: int, end: int) -> Change:
    """Return the byte range that an edit of the bytes start to end changed, tokens included.

    It covers the edit and all tokens around it whose id, hue or position changed.
    """
    n_old, n_new = (sum(chunk.n_bytes for chunk in chunks) for chunks in (old, new))
    if n_old > _MOST_COMPARED or any(chunk.tokens is None for chunk in (*old, *new)):
        return Change(0, n_old, n_new)
    before, now = _columns(old, 0), _columns(new, 0)
    n_before = min(map(n_common, before, now))
    start = min(start, now[2][n_before - 1] if n_before else 0)
    before, now = _columns(old, -n_old), _columns(new, -n_new)
    n_after = min(n_common(a[::-1], b[::-1]) for a, b in zip(before, now, strict=True))
    kept = -now[2][-n_after] if n_after else 0
    kept = min(kept, n_old - end)
    return Change(start, max(start, n_old - kept), max(start, n_new - kept))


def _columns(chunks: list[Chunk], byte: int) -> tuple[list[int], list[int], list[int]]:
    """Return the ids, hues and first bytes of all tokens, counting bytes from `byte`."""
    ids: list[int] = []
    hues: list[int] = []
    starts: list[int] = []
    for chunk in chunks:
        assert chunk.tokens is not None
        ids += chunk.tokens.ids
        hues += chunk.tokens.hues
        starts += map(byte.__add__, chunk.tokens.borders[:-1])
        byte += chunk.n_bytes
    return ids, hues, starts


def runs_around(old: list[Chunk], start: int, end: int, n_new_bytes: int) -> list[OldTokens]:
    """Collect the tokens that an edit leaves alone, at their positions after it.

    Args:
        old: The chunks before the edit.
        start: Byte offset of the edit.
        end: Byte offset after the removed text.
        n_new_bytes: Length of the new chunks, in bytes.
    """
    before: list[OldTokens] = []
    after: list[OldTokens] = []
    byte = 0
    for chunk in old:
        known = chunk.tokens
        if start <= byte and byte + chunk.n_bytes <= end:
            runs: tuple[OldTokens, ...] = ()
        else:
            runs = chunk.runs if known is None else (OldTokens(known, 0, len(known.ids), 0),)
        for run in runs:
            if kept := run.moved(byte).clip(0, start):
                before.append(kept)
            if kept := run.moved(byte).clip(end, byte + chunk.n_bytes):
                after.append(kept)
        byte += chunk.n_bytes
    return before + [run.moved(n_new_bytes - byte) for run in after]


def hand_down(runs: list[OldTokens], chunks: list[Chunk]) -> None:
    """Assign to each new chunk the part of the runs that lies in it."""
    if len(runs) > _MOST_RUNS:
        runs = runs[: _MOST_RUNS // 2] + runs[-_MOST_RUNS // 2 :]
    starts = list(accumulate((chunk.n_bytes for chunk in chunks), initial=0))
    for run in runs:
        number = bisect_right(starts, run.start) - 1
        while number < len(chunks) and starts[number] < run.end:
            if kept := run.clip(starts[number], starts[number + 1]):
                chunks[number].runs += (kept.moved(-starts[number]),)
            number += 1


CHUNK_TARGET = 1024
"""Usual number of characters per chunk."""

HEAD_TARGETS = 512
"""Size of a head, in usual chunks: more than a large terminal shows."""

TURN_SECONDS = 0.003
"""Maximum time a worker holds the interpreter, unless a call it makes releases the GIL."""


class _Reading(NamedTuple):
    """A text cut for the next tokenizer, before that tokenizer is used."""

    tokenizer: Tokenizer | None
    parse_specials: bool
    revision: int
    """Revision of the text that was cut."""
    chunker: Chunker
    chunks: ChunkList


class _Rest:
    """The text after the head."""

    __slots__ = ("chunks", "cutting")

    def __init__(self, cutting: Iterator[list[Chunk]]) -> None:
        self.cutting = cutting
        self.chunks: ChunkList | None = None
        """All chunks, once read; None if there are none."""


class ChunkedText:
    """Editable byte text whose tokens become known in the background.

    All offsets are characters (code points) of the byte text unless a name contains `byte`. Call
    every method from the one thread that edits and shows the text, except `encode_pending`,
    `prepare_edit`, `prepare_reading` and `read_on`.

    Attributes:
        revision: Incremented by every change of the text, the tokenizer or `parse_specials`.
        changes: The text changes of the latest revisions.
        stage: Incremented by every change of the text or its tokens.
        token_changes: The changes of text, tokens and hues in the latest stages, in bytes.
        tokenizer: The current tokenizer, None if there is none yet; see `set_tokenizer`.
        parse_specials: Whether special tokens in the text are recognized; see
            `set_parse_specials`.
    """

    def __init__(
        self,
        text: str | Iterable[str] = "",
        tokenizer: Tokenizer | None = None,
        *,
        parse_specials: bool = True,
        chunk_target: int = CHUNK_TARGET,
        head_first: bool = False,
    ) -> None:
        """Create the document without encoding anything yet.

        Args:
            text: Byte text, or an iterable of parts of it, which are not all held at once.
            tokenizer: The tokenizer; with None, no token becomes known.
            parse_specials: Whether special tokens in the text are recognized.
            chunk_target: Approximate number of characters per chunk.
            head_first: Whether to read only the first parts of a long text for now: `read_on` reads
                the others and `append_rest` appends them.

        Raises:
            UnicodeEncodeError: If the text contains a surrogate that represents no byte.
        """
        self.revision = 0
        self._backlog: Backlog | None = None
        self._prepared: tuple[Chunker, str, list[Chunk]] | None = None
        self._reading: _Reading | None = None
        self._changing = Lock()
        self.changes = ChangeLog()
        self.stage = 0
        self.token_changes = ChangeLog()
        self.tokenizer = tokenizer
        self.parse_specials = parse_specials
        self._chunker = Chunker(tokenizer, parse_specials, chunk_target)
        texts = [text] if isinstance(text, str) else text
        cutting = self._chunker.chunks_of_stream(texts)
        self._rest: _Rest | None = None
        if head_first:
            self._chunks = ChunkList(self._take_head(cutting))
        else:
            self._chunks = ChunkList([*chain.from_iterable(cutting)])
        self._restart(self._chunks)

    def _restart(self, chunks: ChunkList) -> None:
        """Replace all chunks, with another text or another division; no token is known."""
        backlog = None
        if self.tokenizer is not None:
            backlog = Backlog(self.tokenizer, self.parse_specials)
            backlog.add(chunks)
            if chunks is not self._chunks:
                backlog.release(self._chunks)
        self._chunks = chunks
        self._n_pending_chars = self.n_chars
        self._all_tokens_changed()
        # Assign this last, because workers read it.
        self._backlog = backlog

    # -- text after the head

    def _take_head(self, cutting: Iterator[list[Chunk]]) -> list[Chunk]:
        """Take the first chunks of a text, at least one; set `_rest` if there may be more."""
        chunks: list[Chunk] = []
        n_chars = 0
        for new in cutting:
            chunks += new
            n_chars += sum(chunk.n_chars for chunk in new)
            if n_chars >= HEAD_TARGETS * self._chunker.target:
                self._rest = _Rest(cutting)
                break
        return chunks

    @property
    def has_rest(self) -> bool:
        """True if the document holds only its head, and `append_rest` has not been called."""
        return self._rest is not None

    def read_on(self) -> Iterator[int]:
        """Read the text after the head, for `append_rest`. Callable from any thread.

        Yields:
            The number of bytes read so far, including the head.
        """
        rest = self._rest
        if rest is None:
            return
        n_bytes, chunks = self.n_bytes, []
        for new in rest.cutting:
            chunks += new
            n_bytes += sum(chunk.n_bytes for chunk in new)
            yield n_bytes
        if chunks:
            rest.chunks = ChunkList(chunks)
            rest.chunks.count()

    def append_rest(self) -> None:
        """Append the text that `read_on` has read; the document is complete from now on."""
        rest, self._rest = self._rest, None
        if rest is None or rest.chunks is None:
            return
        start, n_chars = self.n_chars, rest.chunks.total(CHARS)
        was_edited = self.revision > 0
        with self._changing:
            if self._backlog is not None:
                self._backlog.add(rest.chunks)
            self._chunks.extend(rest.chunks)
            self._n_pending_chars += n_chars
            self.revision += 1
            self.changes.note(self.revision, start, 0, n_chars)
            self._all_tokens_changed()
        if was_edited:
            # The cut at the end of the head may be unsafe now, or other cuts apply to the rest.
            self._reading = None
            self._tokenize_anew()

    # -- content

    @property
    def text(self) -> str:
        """The whole byte text, in time proportional to its length."""
        return joined(self.parts())

    def parts(self) -> list[TextPart]:
        """Return the text in parts; an unchanged part stays the same object."""
        return [part for chunk in self._chunks for part in chunk.parts]

    def chunks(self) -> list[Chunk]:
        """Return the current chunks for another thread, which must not change them."""
        self._take_finished()
        return list(self._chunks)

    def text_in(self, lo: int, hi: int) -> str:
        """Return the characters lo to hi, in time independent of the length of the text."""
        lo, hi = max(lo, 0), min(hi, self.n_chars)
        place = self._chunks.locate(CHARS, lo)
        start = self._chunks.start(place, CHARS)
        parts = []
        for chunk in self._chunks.walk(place):
            if start >= hi:
                break
            parts.append(chunk.text_in(max(lo - start, 0), min(hi - start, chunk.n_chars)))
            start += chunk.n_chars
        return "".join(parts)

    def byte_offset(self, char: int) -> int:
        """Return the byte offset at which a character starts."""
        place = self._chunks.locate(CHARS, char)
        chunk = self._chunks.item(place)
        local = min(char - self._chunks.start(place, CHARS), chunk.n_chars)
        return self._chunks.start(place, BYTES) + chunk.byte_of_char(local)

    @property
    def n_chars(self) -> int:
        """Number of characters."""
        return self._chunks.total(CHARS)

    @property
    def n_bytes(self) -> int:
        """Number of bytes."""
        return self._chunks.total(BYTES)

    @property
    def n_raw_bytes(self) -> int:
        """Number of bytes that are not valid UTF-8."""
        return self._chunks.total(RAW_BYTES)

    @property
    def n_lines(self) -> int:
        """Number of lines: one more than the number of line feeds."""
        return self._chunks.total(NEWLINES) + 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens known so far."""
        self._take_finished()
        return self._chunks.total(TOKENS)

    @property
    def n_pending_chars(self) -> int:
        """Number of characters whose tokens are not known yet."""
        self._take_finished()
        return self._n_pending_chars

    @property
    def complete(self) -> bool:
        """True if all tokens are known."""
        return self.tokenizer is not None and not self.has_rest and self.n_pending_chars == 0

    @property
    def settled(self) -> bool:
        """True if all work is done: all tokens are known or cannot be, and all counts are final.

        Counts are final once the tokens of removed text have been removed from them.
        """
        if self.complete:
            return self._backlog is None or not self._backlog.counts_more
        return self._backlog is None or (self.failure is not None and not self._backlog.waits)

    @property
    def failure(self) -> TokvizError | None:
        """The reason why some tokens cannot be known, such as a child process that ended."""
        return None if self._backlog is None else self._backlog.failure

    # -- changes

    def set_text(self, text: str) -> None:
        """Replace the whole text.

        Raises:
            UnicodeEncodeError: If the text contains a surrogate that represents no byte.
        """
        chunks = ChunkList(self._cut_around("", text, ""))
        self._reading = None
        with self._changing:
            self._restart(chunks)
            self.revision += 1
            self.changes.restart(self.revision)

    def set_tokenizer(self, tokenizer: Tokenizer | None) -> None:
        """Change the tokenizer."""
        self.tokenizer = tokenizer
        self._tokenize_anew()

    def set_parse_specials(self, parse_specials: bool) -> None:
        """Set whether special tokens in the text are recognized or treated as plain text."""
        if parse_specials != self.parse_specials:
            self.parse_specials = parse_specials
            self._tokenize_anew()

    def _tokenize_anew(self) -> None:
        """Discard all tokens. The text stays the same, so `changes` records nothing."""
        reading, self._reading = self._reading, None
        wanted = (self.tokenizer, self.parse_specials)
        change = self.changes.since(reading.revision) if reading else None
        if reading is None or change is None or reading[:2] != wanted:
            reading, change = self._read(*wanted), Change(0, 0, 0)
        inserted = self.text_in(change.start, change.new_end)
        with self._changing:
            self._chunker = reading.chunker
            self._restart(reading.chunks)
            # Apply the edits made since the reading was prepared.
            self._replace(change.start, change.old_end - change.start, inserted)
            self.revision += 1

    def prepare_reading(self, tokenizer: Tokenizer, parse_specials: bool) -> None:
        """Do the slow part of changing tokenizer or `parse_specials`. Callable from any thread."""
        tokenizer.prepare()
        is_other = (tokenizer, parse_specials) != (self.tokenizer, self.parse_specials)
        # Drop a superseded reading, because it holds the whole text a second time.
        self._reading = self._read(tokenizer, parse_specials) if is_other else None

    def _read(self, tokenizer: Tokenizer | None, parse_specials: bool) -> _Reading:
        """Cut the text by the cut rule of another tokenizer. Callable from any thread."""
        with self._changing:
            revision, parts = self.revision, self.parts()
        chunker = Chunker(tokenizer, parse_specials, self._chunker.target)
        texts = (part.text for part in parts)
        chunks = ChunkList([*chain.from_iterable(chunker.chunks_of_stream(texts))])
        return _Reading(tokenizer, parse_specials, revision, chunker, chunks)

    def edit(self, offset: int, n_removed: int, inserted: str) -> None:
        """Replace `n_removed` characters at `offset` with other text.

        Raises:
            IndexError: If the removed range extends beyond the text.
            UnicodeEncodeError: If the new text contains a surrogate that represents no byte.
        """
        if not (0 <= offset <= offset + n_removed <= self.n_chars):
            raise IndexError(
                f"cannot remove {n_removed} characters at {offset}: the text has {self.n_chars}"
            )
        if not n_removed and not inserted:
            return
        if n_removed == self.n_chars > LARGE:
            self.set_text(inserted)
            return
        with self._changing:
            self._replace(offset, n_removed, inserted)
            self.revision += 1
            self.changes.note(self.revision, offset, n_removed, len(inserted))

    def _replace(self, offset: int, n_removed: int, inserted: str) -> None:
        if not n_removed and not inserted:
            return
        # Chunk borders within reach of the edit may become unsafe; those further away stay safe.
        reach = self._chunker.cuts.reach
        before, after = max(offset - reach, 0), offset + n_removed + reach
        self._refine(before, before + 1)
        self._refine(after, after + 1)
        first = self._chunks.locate(CHARS, before)
        last = self._chunks.locate(CHARS, after)
        first_byte = self._chunks.start(first, BYTES)
        old = list(self._chunks.between(first, last))
        start = offset - self._chunks.start(first, CHARS)
        end = start + n_removed
        new = self._edited(old, start, end, inserted)
        first_byte = self._chunks.start(first, BYTES)
        start_byte = self.byte_offset(offset) - first_byte
        end_byte = self.byte_offset(offset + n_removed) - first_byte
        hand_down(runs_around(old, start_byte, end_byte, sum(c.n_bytes for c in new)), new)

        self._chunks.splice(first, last, new)
        self._n_pending_chars -= sum(chunk.n_chars for chunk in old if chunk.tokens is None)
        n_chars = sum(chunk.n_chars for chunk in new)
        self._n_pending_chars += n_chars
        if self._backlog is not None:
            self._backlog.drop(old)
            if self._backlog.encodes_now(n_chars):
                for chunk in new:
                    self._fill(chunk, self._backlog.encode_now(chunk))
            else:
                self._backlog.add_edited(new)
        changed = changed_tokens(old, new, start_byte, end_byte)
        self.stage += 1
        self.token_changes.note(
            self.stage,
            first_byte + changed.start,
            changed.old_end - changed.start,
            changed.new_end - changed.start,
        )

    def _edited(self, old: list[Chunk], start: int, end: int, inserted: str) -> list[Chunk]:
        """Make the chunks that replace `old` after an edit.

        Parts far from the edit are reused and not searched for cuts, because they belong to a chunk
        that had none there.
        """
        margin = self._chunker.target + self._chunker.cuts.reach
        parts = [part for chunk in old for part in chunk.parts]
        starts = list(accumulate((part.n_chars for part in parts), initial=0))
        first = max(bisect_right(starts, start - margin) - 1, 0)
        last = min(bisect_left(starts, end + margin), len(parts))
        left = joined(parts[first : bisect_right(starts, start)])
        right_from = max(bisect_right(starts, end) - 1, first)
        right = joined(parts[right_from:last])
        return self._cut_around(
            left[: start - starts[first]],
            inserted,
            right[end - starts[right_from] :],
            parts[:first],
            parts[last:],
        )

    def _cut_around(
        self,
        left: str,
        inserted: str,
        right: str,
        before: Sequence[TextPart] = (),
        after: Sequence[TextPart] = (),
    ) -> list[Chunk]:
        """Cut a text into chunks; the middle may have been prepared."""
        if self._prepared is None or self._prepared[:2] != (self._chunker, inserted):
            return self._chunker.cut(left + inserted + right, before, after)
        prepared, self._prepared = self._prepared[2], None
        return self._chunker.cut_around(left, prepared, right, before, after)

    def prepare_edit(self, inserted: str) -> None:
        """Do the slow part of inserting this text. Callable from any thread."""
        if self.tokenizer is not None:
            self.tokenizer.prepare(inserted)
        chunker = self._chunker
        if self._prepared is None or self._prepared[:2] != (chunker, inserted):
            self._prepared = chunker, inserted, chunker.prepare(inserted)

    # -- tokens becoming known

    def encode_pending(self, seconds: float) -> bool:
        """Encode pending chunks for about this long. For a worker thread, even during edits.

        Returns:
            True if no work is left, as far as this thread can see.
        """
        now = time.perf_counter()
        deadline, turn_ends = now + seconds, now + TURN_SECONDS
        while True:
            backlog = self._backlog
            if backlog is None or not backlog.work():
                return True
            now = time.perf_counter()
            if now >= turn_ends:
                yield_gil()
                turn_ends = now + TURN_SECONDS
            if now >= deadline:
                return False

    def ensure(self, lo: int, hi: int) -> bool:
        """Encode the characters lo to hi now, except chunks that only a worker may encode.

        Returns:
            Whether all their tokens are known.
        """
        lo = max(lo, 0)
        self._refine(lo, hi)
        place = self._chunks.locate(CHARS, lo)
        start = self._chunks.start(place, CHARS)
        known = True
        for chunk in self._chunks.walk(place):
            if start >= hi:
                break
            known = self._known(chunk) is not None and known
            start += chunk.n_chars
        return known

    def _refine(self, lo: int, hi: int) -> None:
        """Cut the coarse chunks among the characters lo to hi into usual ones.

        In a wide range, keep those whose tokens are known: the caller wants all tokens, so cutting
        gains nothing.
        """
        self._take_finished()
        is_wide = hi - lo > self._chunker.long
        at = lo
        while at < hi:
            place = self._chunks.locate(CHARS, at)
            chunk = self._chunks.item(place)
            at = self._chunks.start(place, CHARS) + max(chunk.n_chars, 1)
            if chunk.is_coarse and not (is_wide and chunk.tokens is not None):
                self._cut_finely(place, chunk)
            if at >= self.n_chars:
                break

    def _cut_finely(self, place: BlockPlace, chunk: Chunk) -> None:
        """Cut a chunk into usual ones, and divide its tokens among them."""
        chunk.is_coarse = False
        texts = self._chunker.split_finely(chunk.text)
        if len(texts) == 1:
            return
        new = [Chunk(self._chunker.parts(text)) for text in texts]
        hand_down([*chunk.runs], new)
        self._chunks.splice(place, place, new)
        backlog, known = self._backlog, chunk.tokens
        if backlog is None:
            return
        backlog.drop([chunk])
        divided = None if known is None else known.divided(part.n_bytes for part in new)
        if divided is not None:
            backlog.counts.add(divided)
            for part, tokens in zip(new, divided, strict=True):
                part.take(tokens)
            return
        backlog.add_first(new)
        if known is not None:
            self._n_pending_chars += chunk.n_chars
            self._all_tokens_changed()

    def _known(self, chunk: Chunk) -> ChunkTokens | None:
        """Return a chunk's tokens; encode it if it is small enough for this thread."""
        backlog = self._backlog
        if chunk.tokens is None and backlog is not None and backlog.encodes_now(chunk.n_chars):
            self._encode_now(backlog, chunk)
        return chunk.tokens

    def _encode_now(self, backlog: Backlog, chunk: Chunk) -> None:
        self._fill(chunk, backlog.encode_now(chunk))
        self._all_tokens_changed()

    def _take_finished(self) -> None:
        """Fill in the chunks that a worker has encoded."""
        if self._backlog is not None:
            for chunk, tokens in self._backlog.finished():
                self._fill(chunk, tokens)
                self._all_tokens_changed()

    def _all_tokens_changed(self) -> None:
        self.stage += 1
        self.token_changes.restart(self.stage)

    def _fill(self, chunk: Chunk, tokens: ChunkTokens | None) -> None:
        if tokens is None:
            return
        before, after = self._chunks.neighbours(chunk)
        paint(tokens.hues, edge_hue(before, at_end=True), edge_hue(after, at_end=False))
        chunk.take(tokens)
        self._chunks.tokens_changed(chunk)
        self._n_pending_chars -= chunk.n_chars
