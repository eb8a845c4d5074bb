"""Live comparison of one edited text in several tokenizers.

Another thread can read the content of a `LiveDocument` as a `Track`: its current chunks, whose text
and tokens never change.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from tokviz.compare.boundaries import Comparison, Disagreement, differing
from tokviz.compare.tokenized_text import Side, borders_of, marks_of
from tokviz.formats.registry import place_words, short_name
from tokviz.live.changes import Change
from tokviz.live.document import LiveDocument
from tokviz.text.snapshots import TextPart
from tokviz.tokenizer.tokenizer import Tokenizer

_MOST_FOLLOWED = 64 * 1024
"""Larger changes, in characters, are better handled by a new document in a thread."""
_FIRST_WINDOW, _LAST_WINDOW = 4096, 1024 * 1024
"""Bytes searched per step: at first, and at most."""
_COUNTING_WINDOW = 256 * 1024
"""Bytes searched per step when all disagreements are wanted, so that other threads get a turn."""
_MOST_WINDOW = 4 * 1024 * 1024
"""Maximum number of bytes around a disagreement to tokenize again to find its cause."""


class ComparedDocument:
    """A copy, in another tokenizer, of a text edited elsewhere.

    Attributes:
        document: The text with its tokens.
    """

    def __init__(
        self, parts: Iterable[TextPart], tokenizer: Tokenizer, parse_specials: bool, revision: int
    ) -> None:
        """Copy the text at a revision. Callable from any thread."""
        texts = (part.text for part in parts)
        self.document = LiveDocument(texts, tokenizer, parse_specials=parse_specials)
        self._revision = revision

    def follow(self, live: LiveDocument) -> bool:
        """Apply the edits made in another document.

        Returns:
            False if a new copy is needed, because too much has changed.
        """
        change = live.changes.since(self._revision)
        if change is None or live.parse_specials != self.document.parse_specials:
            return False
        start, old_end, new_end = change
        if max(old_end, new_end) - start > _MOST_FOLLOWED:
            return False
        if change != Change(0, 0, 0):
            self.document.edit(start, old_end - start, live.text_in(start, new_end))
        self._revision = live.revision
        return True


MOST_OTHERS = 3
"""Maximum number of tokenizers to compare with the current one."""


@dataclass(eq=False)
class ComparedTokenizer:
    """A tokenizer compared with the current one.

    Attributes:
        source: The name or path to load it from.
        tokenizer: The tokenizer, None until it is loaded.
        lane: The text in this tokenizer, None until it is created.
        error: The reason why it cannot be loaded.
        n_requests: Number of documents requested so far; only the last one counts.
    """

    source: str
    tokenizer: Tokenizer | None = None
    lane: ComparedDocument | None = None
    error: str = ""
    n_requests: int = 0

    @property
    def name(self) -> str:
        """The displayed name, safe for terminals."""
        tokenizer = self.tokenizer
        return place_words(self.source)[0] if tokenizer is None else short_name(tokenizer.name)


class Track:
    """A snapshot of a document for any thread.

    Attributes:
        tokenizer: Its tokenizer.
        n_bytes: Number of bytes of the text.
    """

    def __init__(self, document: LiveDocument) -> None:
        """Take a snapshot of a document. Editing thread only."""
        assert document.tokenizer is not None
        self.tokenizer = document.tokenizer
        self.parse_specials = document.parse_specials
        self._chunks = document.chunks()
        self.n_bytes = document.n_bytes

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((chunk.n_bytes for chunk in self._chunks), initial=0))

    def _chunks_in(self, start: int, end: int) -> range:
        first = max(bisect_right(self._starts, start, 0, len(self._chunks)) - 1, 0)
        last = min(bisect_left(self._starts, end), len(self._chunks))
        return range(first, max(last, first + 1))

    def text_around(self, start: int, end: int) -> tuple[int, str]:
        """Return the text of whole chunks that contain some bytes, and the byte it starts at."""
        numbers = self._chunks_in(start, end)
        return self._starts[numbers[0]], "".join(self._chunks[n].text for n in numbers)

    def side(self, start: int, end: int) -> Side | None:
        """Return the tokens of at least the bytes from `start` to `end`; None if some are unknown.

        All positions refer to the whole text. The side has no pre-tokens.
        """
        tokenizer = self.tokenizer
        specials = np.fromiter(tokenizer.special_tokens.values(), np.int64)
        lowest = min(tokenizer.special_tokens.values(), default=1 << 62)
        ids: list[int] = []
        ends = [np.empty(0, np.int64)]
        marks: set[tuple[int, bool, bytes]] = set()
        numbers = self._chunks_in(start, end)
        for number in numbers:
            chunk = self._chunks[number]
            tokens = chunk.tokens
            if tokens is None and not chunk.n_bytes:
                continue
            if tokens is None:
                return None
            at = self._starts[number]
            borders = np.array(tokens.borders, np.int64) + at
            if tokens.changed or max(tokens.ids, default=-1) >= lowest:
                special = np.isin(np.array(tokens.ids, np.int64), specials)
                spans = np.stack([borders[:-1], borders[1:]], axis=1)
                marks |= marks_of(
                    tokenizer, tokens.ids, spans, special, chunk.text, at, altered=tokens.changed
                )
            ids += tokens.ids
            ends.append(borders[1:])
        joined = np.concatenate(ends)
        first, last = self._starts[numbers[0]], self._starts[numbers[-1] + 1]
        borders = borders_of(first, joined, last)
        return Side(tokenizer, ids, joined, borders, np.empty(0, np.int64), frozenset(marks))


class SpanSearch(NamedTuple):
    """The result of a search.

    Attributes:
        span: The bytes of a disagreement, None if there is none.
        waits: Whether the search stopped at text whose tokens are not known yet.
    """

    span: tuple[int, int] | None
    waits: bool = False


def _spans_in(tracks: Sequence[Track], start: int, end: int) -> tuple[list[list[int]], int, int]:
    """Return the disagreements in a byte range, and the bytes between which they are complete.

    Raises:
        _Unknown: If some tokens are not known.
    """
    sides = []
    for track in tracks:
        side = track.side(start, end)
        if side is None:
            raise _Unknown
        sides.append(side)
    shared, spans = differing(sides)
    if not len(shared):
        return [], start, start
    return spans.tolist(), int(shared[0]), int(shared[-1])


class _Unknown(Exception):
    """Tokens are not known yet."""


def _spans_from(
    tracks: Sequence[Track], byte: int, cancelled: Callable[[], bool], most: int = _LAST_WINDOW
) -> Iterator[tuple[list[list[int]], int]]:
    """Yield the disagreements that start at a byte or later, and up to where they are complete.

    Raises:
        _Unknown: If some tokens are not known.
    """
    at, window, n_bytes = byte, _FIRST_WINDOW, tracks[0].n_bytes
    while at < n_bytes and not cancelled():
        spans, _, last = _spans_in(tracks, at, min(at + window, n_bytes))
        yield [span for span in spans if span[0] >= at], max(at, last)
        if last <= at and at + window >= n_bytes:
            return  # in one of them, the tokens do not end where the text does
        # If a stretch without a shared border fills the range, search a larger range.
        at, window = max(at, last), min(window * 4, most) if last > at else window * 4


def next_span(
    tracks: Sequence[Track], byte: int, cancelled: Callable[[], bool] = lambda: False
) -> SpanSearch:
    """Find the first disagreement that starts at a byte or later. Callable from any thread."""
    try:
        for (start, end), *_ in (
            spans for spans, _ in _spans_from(tracks, byte, cancelled) if spans
        ):
            return SpanSearch((start, end))
    except _Unknown:
        return SpanSearch(None, waits=True)
    return SpanSearch(None)


def all_starts(
    tracks: Sequence[Track],
    cancelled: Callable[[], bool] = lambda: False,
    on_progress: Callable[[float], object] = lambda share: None,
) -> array[int] | None:
    """Return the start of every disagreement, ascending; None if some tokens are not known.

    Args:
        tracks: The tracks to compare.
        cancelled: Stops the search once it returns True, with the results so far.
        on_progress: Called with the share of the text that is done.
    """
    starts = array("q")
    try:
        for spans, end in _spans_from(tracks, 0, cancelled, _COUNTING_WINDOW):
            starts.extend(start for start, _ in spans)
            on_progress(end / tracks[0].n_bytes)
    except _Unknown:
        return None
    return starts


def previous_span(
    tracks: Sequence[Track], byte: int, cancelled: Callable[[], bool] = lambda: False
) -> SpanSearch:
    """Find the last disagreement that starts before a byte. Callable from any thread."""
    end, window = min(byte + _FIRST_WINDOW, tracks[0].n_bytes), 2 * _FIRST_WINDOW
    while end > 0 and not cancelled():
        try:
            spans, first, _ = _spans_in(tracks, max(end - window, 0), end)
        except _Unknown:
            return SpanSearch(None, waits=True)
        last = next((span for span in reversed(spans) if span[0] < byte), None)
        if last is not None:
            return SpanSearch((last[0], last[1]))
        if end - window <= 0:
            break
        is_closer = first < end
        end, window = min(end, first), min(window * 4, _LAST_WINDOW) if is_closer else window * 4
    return SpanSearch(None)


def span_at(tracks: Sequence[Track], byte: int) -> SpanSearch:
    """Find the disagreement that contains a byte. Callable from any thread."""
    result = previous_span(tracks, byte + 1)
    if result.span is not None and not result.span[0] <= byte < result.span[1]:
        return SpanSearch(None)
    return result


def explained(tracks: Sequence[Track], span: tuple[int, int]) -> Disagreement | None:
    """Find the causes of a disagreement from the text around it. Callable from any thread.

    It tokenizes enough of the text again to get the same tokens as in the whole text; the span of
    the result counts from the start of this part.

    Returns:
        None if that would take too much text, or if some tokens are no longer known.
    """
    start, end = span
    margin = _FIRST_WINDOW
    sides = [track.side(start, end) for track in tracks]
    ids = [side.ids_in(np.array([span]))[0] for side in sides if side is not None]
    tokenizers = [track.tokenizer for track in tracks]
    while len(ids) == len(tracks):
        at, text = tracks[0].text_around(start - margin, end + margin)
        comparison = Comparison(text, tokenizers, tracks[0].parse_specials)
        inner = (start - at, end - at)
        if list(inner) in comparison.spans.tolist():
            disagreement = comparison.disagreements_in(np.array([inner]))[0]
            if list(disagreement.ids) == ids:
                return disagreement
        if margin > _MOST_WINDOW or (margin > start and end + margin > tracks[0].n_bytes):
            break
        margin *= 16
    return None
