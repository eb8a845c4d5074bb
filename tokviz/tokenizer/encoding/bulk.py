"""Encoding with compiled loops, ten times as fast as in Python and without the GIL.

One encoder handles both kinds of byte pair encoding and every split pattern: compiled scanners cut
by the named patterns, the `regex` package by all others.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from tokviz.errors import VocabularyError
from tokviz.kernels.memory import longer, zeros
from tokviz.process.limits import n_processors
from tokviz.text import bytetext
from tokviz.tokenizer.encoding import bulk_kernels as kernels
from tokviz.tokenizer.encoding import vocabulary_kernels
from tokviz.tokenizer.encoding.encoded import Columns, Encoded, Segments, ToBytes, pre_token_ends
from tokviz.tokenizer.encoding.merge_kernels import Scratch
from tokviz.tokenizer.encoding.vocabulary_kernels import (
    CONTEXT_BITS,
    CROSSINGS,
    FILTER_BITS,
    LONGEST,
    N_NUMBERS,
    SINGLE,
    Vocabulary,
)
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.scan import Scanner, scanner_of
from tokviz.tokenizer.pretokenize.scan_kernels import N_TEXTS

if TYPE_CHECKING:
    from tokviz.tokenizer.pretokenize.scan_kernels import Texts

_MOST_MERGES = 1 << 22
BATCH_CHARS = 1 << 18
"""Approximate number of characters that one thread encodes at a time."""
MIN_CHARS_FOR_THREADS = 2 * BATCH_CHARS
"""Several threads encode texts from this length on."""
LINES_BITS = 16
HASH_BITS = 13
"""Sizes of the caches for short and long pre-tokens, as powers of two."""
IDS_AT_ONCE = 1 << 15
"""Number of ids that a worker has memory for."""
_MANY_ENDS = 1 << 15
"""From this many ends on, allocating memory in large pages is worth a system call."""
_MOST_FREE = 4
_UNSURE = 16
"""Number of tokens at the end of a stretch that the following bytes may change."""
_WHOLE = Scanner("WHOLE", cuts_at_blanks=False)


class BulkEncoder:
    """Encoder of byte text with a vocabulary and any split pattern. Thread-safe."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Create an encoder from compiled tables; see `of`."""
        self._vocabulary = vocabulary
        self._free = _Workers(vocabulary)

    @classmethod
    def of(cls, columns: Columns, *, whole: bool) -> BulkEncoder | None:
        """Build the tables in milliseconds; None if they cannot represent the vocabulary.

        Args:
            columns: The vocabulary.
            whole: Whether a pre-token that is a token is encoded as that token without merging.
        """
        pairs = columns.pairs
        n_tokens, n_merges = len(columns.starts) - 1, len(pairs or ()) // 2
        if n_tokens >> kernels.ID_BITS or n_merges > _MOST_MERGES or not columns.blob:
            return None
        bits, pair_bits = ((2 * n).bit_length() for n in (n_tokens, n_merges))
        tokens: dict[str, Any] = {
            "blob": columns.blob,
            "starts": columns.starts,
            "ids": columns.ids or array("I", [0]),
            "lengths": zeros(n_tokens, "B"),
            "slots": zeros(2 << bits, "q"),
            "filter": zeros(1 << FILTER_BITS - 6, "q"),
            "first_ranks": zeros(SINGLE + 256, "i"),
            "pair_slots": zeros(2 << pair_bits, "q"),
            "products": zeros(max(n_merges, 1), "i"),
            "contexts": zeros(1 << CONTEXT_BITS - 6, "q"),
            "crossings": zeros(CROSSINGS, "i"),
            "numbers": zeros(N_NUMBERS, "q"),
        }
        vocabulary = Vocabulary(**tokens)
        by_ranks, sparse = pairs is None, columns.ids is not None
        numbers = (len(columns.blob), 64 - bits, 64 - pair_bits, by_ranks, whole, sparse, 0)
        vocabulary.numbers[:] = array("q", numbers)
        built = vocabulary_kernels.build_tokens(vocabulary, n_tokens)
        if built and pairs:
            buffer = zeros(max(vocabulary.numbers[LONGEST], 8), "B")
            built = vocabulary_kernels.build_pairs(vocabulary, pairs, n_merges, buffer)
        return cls(vocabulary) if built else None

    def encode(
        self,
        pattern: SplitPattern,
        segments: Segments,
        n_chars: int = 0,
        *,
        with_ends: bool = False,
        to_bytes: ToBytes = bytetext.to_bytes,
    ) -> Encoded:
        """Encode texts.

        Args:
            pattern: The split pattern.
            segments: The texts; special tokens between them are not encoded.
            n_chars: Approximate total length; several threads encode long texts.
            with_ends: Whether to return the ends of tokens and pre-tokens.
            to_bytes: See `SegmentEncoder.encode`.

        Raises:
            VocabularyError: If a byte of a text has no token.
            PatternError: If the pattern is a custom one and fails.
            UnicodeEncodeError: If `to_bytes` raises it.
        """
        scanner = scanner_of(pattern)
        if scanner is not None:
            n_threads = n_processors() if n_chars >= MIN_CHARS_FOR_THREADS else 1
            parts = _batches(scanner, segments, to_bytes)
            return self._encode(scanner, parts, n_threads, with_ends, n_chars)
        part, n_pre_tokens = _cut_by_regex(pattern, segments, to_bytes)
        encoded = self._encode(_WHOLE, iter([part]), 1, with_ends)
        after = (0, *encoded.after)
        return encoded._replace(after=array("q", (after[n] for n in accumulate(n_pre_tokens))))

    def _encode(
        self,
        scanner: Scanner,
        parts: Iterator[_Batch],
        n_threads: int,
        with_ends: bool,
        n_chars: int = 0,
    ) -> Encoded:
        """Encode parts with several threads; a thread that finishes a part takes the next.

        Adjacent results are joined while other threads continue. A thread appends directly to
        the last result if no other thread does.
        """
        lock = Lock()
        results: list[_PartialResult] = []
        errors: list[tuple[int, BaseException]] = []
        n_parts = 0

        def next_part(current: _PartialResult | None) -> tuple[_Batch, _PartialResult] | None:
            """Return the next batch and the result to append to; `current` is finished."""
            batch = next(parts, None)
            if current is not None:
                current.is_done = True
            while len(results) > 1 and results[0].is_done and results[1].is_done:
                results[0].add(results.pop(1))
            if batch is None:
                return None
            if not results or not results[-1].is_done:
                n_ends = n_chars // 3 if with_ends and not results else 0
                results.append(_PartialResult(batch.continues, n_ends))
                return batch, results[-1]
            results[-1].is_done = False
            if batch.continues:
                results[-1].encoded.after.pop()
            return batch, results[-1]

        def run() -> None:
            nonlocal parts, n_parts
            worker = self._free.take()
            number, current = 0, None
            try:
                while True:
                    with lock:
                        number, n_parts = n_parts, n_parts + 1
                        assigned = next_part(current)
                    if assigned is None:
                        break
                    batch, current = assigned
                    texts = scanner.texts(batch.data, batch.starts, batch.ends)
                    worker.encode(texts, with_ends, batch.before, self._free, current.encoded)
            except BaseException as error:
                with lock:
                    errors.append((number, error))
                    parts = iter(())  # make the other threads stop too
            self._free.put(worker)

        threads = [Thread(target=run) for _ in range(n_threads - 1)]
        for thread in threads:
            thread.start()
        run()
        for thread in threads:
            thread.join()
        if errors:
            raise min(errors, key=itemgetter(0))[1]
        whole, *others = results
        for result in others:
            whole.add(result)
        return whole.result()


class _PartialResult:
    """The result of consecutive parts.

    Attributes:
        continues: Whether the first text continues the last text of the previous result.
        is_done: Whether no thread is appending to it.
    """

    def __init__(self, continues: bool, n_ends: int = 0) -> None:
        """Create an empty result.

        Args:
            continues: See the attribute.
            n_ends: Expected number of ends, of tokens and of pre-tokens.
        """
        self.continues = continues
        self.encoded = Encoded.none()
        if n_ends >= _MANY_ENDS:
            ends = _Borders(n_ends), _Borders(n_ends)
            self.encoded = self.encoded._replace(token_borders=ends[0], pre_token_borders=ends[1])
        self.is_done = False

    def add(self, other: _PartialResult) -> None:
        """Append the result that follows."""
        ids, after, *borders = self.encoded
        if other.continues:
            after.pop()
        n = len(ids)
        after.extend([n + count for count in other.encoded.after])
        ids.extend(other.encoded.ids)
        for own, others in zip(borders, other.encoded[2:], strict=True):
            own.frombytes(_view(others)[1:].cast("B"))

    def result(self) -> Encoded:
        """Return the complete result."""
        borders = map(_view, self.encoded[2:])
        return Encoded(*self.encoded[:2], *borders)


class _Borders:
    """An array of 64-bit integers in memory that is cheaper to allocate when it is large."""

    def __init__(self, room: int) -> None:
        """Create an array that contains 0, with the given capacity."""
        self._memory, self._n = zeros(room, "q"), 1

    def frombytes(self, data: memoryview) -> None:
        """Append items given as bytes."""
        first, self._n = self._n, self._n + len(data) // 8
        if self._n > len(self._memory):
            self._memory = longer(self._memory, 2 * self._n)
        self._memory.cast("B")[8 * first : 8 * self._n] = data

    def extend(self, ends: Sequence[int]) -> None:
        """Append items."""
        self.frombytes(memoryview(array("q", ends)).cast("B"))

    def append(self, end: int) -> None:
        """Append one item."""
        self.extend((end,))

    def view(self) -> memoryview:
        """Return all items."""
        return self._memory[: self._n]


def _view(borders: _Borders | array[int]) -> memoryview:
    return borders.view() if isinstance(borders, _Borders) else memoryview(borders)


class _Workers:
    """Pool of idle workers. It keeps few, because each takes seven megabytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        # Create the first worker now, which loads the machine code, so that `encode` need not wait.
        most = min(max(2, n_processors()), _MOST_FREE)
        self._free = deque([_Worker(vocabulary)], maxlen=most)

    def take(self) -> _Worker:
        """Take a worker from the pool or create one; return it with `put`."""
        try:
            return self._free.pop()
        except IndexError:
            return _Worker(self._vocabulary)

    def put(self, worker: _Worker) -> None:
        """Return a worker to the pool, which discards the oldest one if it is full."""
        self._free.append(worker)


class _Worker:
    """State of one encoding thread: a cache, and arrays for results."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        pool_size = 16 << HASH_BITS
        pool = zeros(pool_size + 2 * kernels.LONG_PRE_TOKEN, "i")
        masks = [(1 << 8 * bits) - 1 for n in range(16) for bits in (min(n, 8), max(n - 8, 0))]
        self._state = zeros(kernels.N_STATE, "q")
        self._state[kernels.POOL_END], self._state[kernels.POOL_SIZE] = 1, pool_size
        self._state[kernels.LINE_SHIFT] = 64 - LINES_BITS
        self._state[kernels.HASH_SHIFT] = 64 - HASH_BITS
        self._kept: dict[str, Any] = {
            "lines": zeros(8 << LINES_BITS, "q"),
            "hashes": zeros(2 << HASH_BITS, "q"),
            "pool": pool,
            "pool_bytes": memoryview(pool).cast("B"),
            "pre_tokens": zeros(2 * kernels.BATCH, "q"),
            "keys": zeros(3 * kernels.BATCH, "q"),
            "masks": memoryview(array("Q", masks)),
            "state": self._state,
        }
        self._make_room(IDS_AT_ONCE)

    def _make_room(self, n: int) -> None:
        """Allocate memory for `n` ids, and for a pre-token of `n` bytes."""
        n += kernels.MOST_IDS
        self._state[kernels.ROOM] = n
        self._ids = zeros(n, "i")
        self._token_ends, self._pre_token_ends = zeros(n, "q"), zeros(n, "q")
        results = {
            "ids": self._ids, "token_ends": self._token_ends, "pre_token_ends": self._pre_token_ends
        }  # fmt: skip
        scratch: list[Any] = [
            Scratch(zeros(n + 1, "i"), zeros(n, "i"), zeros(n, "i"), zeros(2 * n, "q"))
            for _ in range(2)
        ]
        # Keep a reference to the memory that the machine code uses.
        self._work = kernels.Work(**self._kept, **results), *scratch
        self._run = kernels.encode.bind(self._vocabulary, *self._work)

    def encode(
        self, texts: Texts, with_ends: bool, before: int, others: _Workers, encoded: Encoded
    ) -> None:
        """Encode texts and append to `encoded`; `before` bytes precede them when counting ends.

        A long pre-token takes a second worker.

        Raises:
            VocabularyError: If a byte of a text has no token.
        """
        state = self._state
        n_texts = texts.numbers[N_TEXTS]
        after = array("q", bytes(8 * n_texts))
        state[kernels.TEXT] = state[kernels.AT_TEXT] = 0
        state[kernels.N_BEFORE] = len(encoded.ids)
        state[kernels.POSITION] = texts.starts[0] if n_texts else 0
        state[kernels.BYTES_BEFORE] = before
        reason = kernels.FULL if n_texts else kernels.DONE
        while reason != kernels.DONE:
            reason = self._run(texts, after, with_ends)
            n_ids, n_pre_tokens = state[kernels.N_IDS], state[kernels.N_PRE_TOKENS]
            encoded.ids.frombytes(self._ids[:n_ids].cast("B"))
            if with_ends:
                encoded.token_borders.frombytes(self._token_ends[:n_ids].cast("B"))
                encoded.pre_token_borders.frombytes(self._pre_token_ends[:n_pre_tokens].cast("B"))
            state[kernels.N_BEFORE] += n_ids
            if reason == kernels.LONG:
                length = state[kernels.WANTED]
                if length <= self._stretch:
                    self._make_room(length)
                    continue
                start, n_before = state[kernels.POSITION], len(encoded.ids)
                ends = self._by_stretches(texts.data, start, start + length, encoded.ids, others)
                if with_ends:
                    encoded.token_borders.extend([before + end for end in ends])
                    encoded.pre_token_borders.append(before + start + length)
                state[kernels.N_BEFORE] += len(encoded.ids) - n_before
                state[kernels.POSITION] = start + length
            elif reason == kernels.MISSING:
                byte = texts.data[state[kernels.WANTED]]
                raise VocabularyError(f"the byte 0x{byte:02x} has no token in this vocabulary")
        if state[kernels.ROOM] > 2 * IDS_AT_ONCE:
            self._make_room(IDS_AT_ONCE)
        encoded.after.extend(after)

    @cached_property
    def _stretch(self) -> int:
        """Number of bytes of a long pre-token merged together; no token is longer."""
        return max(IDS_AT_ONCE, self._vocabulary.numbers[LONGEST])

    def _by_stretches(
        self, data: Any, start: int, end: int, ids: array[int], others: _Workers
    ) -> array[int]:
        """Merge a long pre-token stretch by stretch, which needs little memory.

        Tokens are those of the whole pre-token if any two neighbors are the encoding of just their
        bytes, because the first merge across their border would also occur in these bytes alone. So
        merging can restart after any token for which this holds.

        Returns:
            The end of each token; their ids are appended to `ids`.
        """
        length, other = self._stretch, others.take()
        ends = array("q", [start])
        while (at := ends[-1]) < end:
            stop = min(at + length, end)
            stretch = other.as_pre_token(data, at, stop, others)
            if at > start:
                both = other.as_pre_token(data, ends[-2], stretch.token_borders[1], others)
                if both.ids.tolist() != [ids[-1], stretch.ids[0]]:
                    # Restart after an earlier token, if necessary with the whole pre-token.
                    del ids[-1], ends[-1]
                    length += length // 8 + 1
                    continue
            n_sure = len(stretch.ids) if stop == end else max(len(stretch.ids) - _UNSURE, 1)
            ids.extend(stretch.ids[:n_sure])
            ends.extend(stretch.token_borders[1 : n_sure + 1])
        others.put(other)
        del ends[0]
        return ends

    def as_pre_token(self, data: Any, start: int, end: int, others: _Workers) -> Encoded:
        """Encode bytes at once, as one pre-token."""
        if end - start + kernels.MOST_IDS > self._state[kernels.ROOM]:
            self._make_room(end - start)
        encoded = Encoded.none()
        self.encode(_WHOLE.texts(data, [start], [end]), True, 0, others, encoded)
        return encoded


class _Batch(NamedTuple):
    """Texts that one thread encodes at a time.

    Attributes:
        data: Bytes that contain the texts.
        starts: Start of each text in `data`.
        ends: End of each text.
        before: Number of bytes before `data`.
        continues: Whether the first text continues the last text of the previous part.
    """

    data: bytes
    starts: list[int]
    ends: list[int]
    before: int = 0
    continues: bool = False


def _batches(scanner: Scanner, segments: Segments, to_bytes: ToBytes) -> Iterator[_Batch]:
    """Yield texts in parts; long texts are cut where a pre-token surely ends."""
    held: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    size = before = 0
    continues = False
    for text, special in segments:
        if not special:
            starts.append(size)
        for at in range(0, len(text), BATCH_CHARS):
            held.append(to_bytes(text[at : at + BATCH_CHARS]))
            size += len(held[-1])
            if special or at + BATCH_CHARS >= len(text):
                continue
            if cut := scanner.last_cut(held[-1], 0, len(held[-1])):
                rest = held[-1][cut:]
                held[-1] = held[-1][:cut]
                ends.append(size - len(rest))
                yield _Batch(b"".join(held), starts, ends, before, continues)
                before += size - len(rest)
                held, starts, ends, size, continues = [rest], [0], [], len(rest), True
        if not special:
            ends.append(size)
        if size >= BATCH_CHARS:
            yield _Batch(b"".join(held), starts, ends, before, continues)
            before += size
            held, starts, ends, size, continues = [], [], [], 0, False
    if starts or not before:  # a single part is not copied
        yield _Batch(held[0] if len(held) == 1 else b"".join(held), starts, ends, before, continues)


def _cut_by_regex(
    pattern: SplitPattern, segments: Segments, to_bytes: ToBytes
) -> tuple[_Batch, list[int]]:
    """Return the pre-tokens of texts as if they were texts, and how many each text has."""
    held: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    n_pre_tokens = []
    at = 0
    for text, special in segments:
        held.append(to_bytes(text))
        if not special:
            text_ends = pre_token_ends(pattern, text, at)
            starts += [at, *text_ends[:-1]] if text_ends else ()
            ends += text_ends
            n_pre_tokens.append(len(text_ends))
        at += len(held[-1])
    return _Batch(b"".join(held), starts, ends), n_pre_tokens
