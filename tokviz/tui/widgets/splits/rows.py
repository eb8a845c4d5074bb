"""Rows of the gloss, which return the pre-tokens of any part of the text known so far.

A named pattern's pre-tokens are found from the text nearby. If that is not possible, and for a
custom regex, those of an older text are shown until the new ones are known.

The visible part is laid out in blocks, so the cost does not depend on the length of the document:
a *block* is a line or a part of `BLOCK_CHARS` characters of a long line.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Protocol

from textual.strip import Strip

from tokviz.live.changes import Change
from tokviz.live.document import BEGINS_INSIDE, LiveDocument
from tokviz.live.pre_tokens import PreTokenCounter
from tokviz.process.jobs.split_client import PreToken, SplitResult
from tokviz.tokenizer.pretokenize.patterns import (
    CUT_CONTEXT,
    SPLIT_PATTERNS,
    SplitPattern,
    first_cut,
)
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tui.widgets.splits.gloss import (
    GlossPreToken,
    GlossRow,
    GlossStyles,
    Spans,
    TextRow,
    begins,
    difference_strip,
    label_columns,
    row_strip,
    text_rows,
)

BLOCK_CHARS = 1024


@dataclass(frozen=True, eq=False)
class Layout:
    """A laid out block, with character numbers counted from its start."""

    rows: tuple[GlossRow, ...]
    text_rows: tuple[TextRow, ...]
    shared: frozenset[int]
    """Characters at which a pre-token starts in every row."""
    differing: frozenset[int]
    """Characters at which rows differ."""


@lru_cache(maxsize=128)
def lay_out(text: str, rows: tuple[GlossRow, ...], width: int) -> Layout:
    """Lay out a block in `width` columns; equal blocks return the same object."""
    anywhere, shared, differing = begins(rows, len(text))
    parts = text_rows(text, anywhere, shared, width)
    return Layout(rows, tuple(parts), frozenset(shared), frozenset(differing))


@lru_cache(maxsize=128)
def text_row_strips(
    layout: Layout,
    index: int,
    label_width: int,
    spans: Spans,
    styles: GlossStyles,
    labelled: bool = True,
) -> tuple[Strip, ...]:
    """Draw a text row of a block: its gloss rows, and the differences below them."""
    text_row = layout.text_rows[index]
    below = difference_strip(text_row, layout.differing, label_width, styles)
    shared = layout.shared
    rows = (
        row_strip(row, text_row, shared, label_width, spans, styles, labelled=labelled)
        for row in layout.rows
    )
    return (*rows, below)


@dataclass(frozen=True, slots=True)
class GlossBlock:
    """A line or a part of a long line, at its place in the document."""

    start: int
    end: int
    layout: Layout

    def index_of(self, offset: int) -> int:
        """Return the text row that contains a character, the last one for the end of the block."""
        parts = self.layout.text_rows
        place = bisect_right(parts, offset - self.start, key=lambda part: part.start)
        return max(0, place - 1)


@dataclass(frozen=True, slots=True)
class Located:
    """A text row of a block."""

    block: GlossBlock
    index: int

    @property
    def text_row(self) -> TextRow:
        """The text row, with character numbers counted from the start of the block."""
        return self.block.layout.text_rows[self.index]

    @property
    def start(self) -> int:
        """The offset of the first character in the document."""
        return self.block.start + self.text_row.start

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.block.start + self.text_row.end

    def pre_token_at(self, row: int, column: int) -> tuple[int, int] | None:
        """Return the characters of the pre-token drawn in a row at a column of the text."""
        char = self.text_row.char_at(column)
        if char is None:
            return None
        gloss = self.block.layout.rows[row]
        index = gloss.pre_token_of(char)
        start, end = (char, char + 1) if index is None else gloss.pre_tokens[index][:2]
        return self.block.start + start, self.block.start + end


@dataclass(frozen=True, slots=True)
class FrameLine:
    """A line of the view: gloss row `row` of a text row, or the differences below the last one."""

    strip: Strip
    place: Located
    row: int


class Gloss:
    """The gloss of a document for given rows and width, laid out on demand."""

    def __init__(
        self,
        live: LiveDocument,
        rows: Sequence[Row],
        width: int,
        starts_within: Callable[[str], Iterable[int]] | None = None,
    ) -> None:
        """Create a gloss.

        Args:
            live: The document.
            rows: The rows.
            width: The columns, including the labels.
            starts_within: Returns the characters of a pre-token, other than its first, at which
                tokens start; None if these are not shown.
        """
        self._live = live
        self._rows = rows
        self._starts_within = starts_within
        self.label_width = label_columns([row.title for row in rows], width)
        self._text_width = max(1, width - self.label_width)
        self._blocks: dict[int, GlossBlock] = {}

    @property
    def lines_per_text_row(self) -> int:
        """The lines that a text row takes in the view."""
        return len(self._rows) + 1

    def block_at(self, offset: int) -> GlossBlock:
        """Return the block that contains a character."""
        start, end = self._bounds(offset)
        block = self._blocks.get(start)
        if block is None:
            rows = tuple(self._row(row, start, end) for row in self._rows)
            layout = lay_out(self._live.text_in(start, end), rows, self._text_width)
            block = self._blocks[start] = GlossBlock(start, end, layout)
        return block

    def _bounds(self, offset: int) -> tuple[int, int]:
        live = self._live
        line, column = live.location(offset)
        line_start = live.line_start(line)
        line_end = live.line_start(line + 1) if line + 1 < live.n_lines else live.n_chars
        start = line_start + column // BLOCK_CHARS * BLOCK_CHARS
        if start == line_end and line_start < line_end:
            # The end of the text is after a full block.
            start -= BLOCK_CHARS
        return start, min(line_end, start + BLOCK_CHARS)

    def _row(self, row: Row, start: int, end: int) -> GlossRow:
        pre_tokens = [GlossPreToken(*pre_token) for pre_token in row.pre_tokens_in(start, end)]
        within = self._starts_within
        tokens = frozenset(
            one.start + char - start
            for one in pre_tokens
            if within is not None and 1 < one.end - one.start <= BLOCK_CHARS
            for char in within(self._live.text_in(one.start, one.end))
            if start <= one.start + char < end
        )
        return GlossRow(
            row.title,
            tuple(one._replace(start=one.start - start, end=one.end - start) for one in pre_tokens),
            tokens,
        )

    def text_row_at(self, offset: int) -> Located:
        """Return the text row that contains a character."""
        block = self.block_at(offset)
        return Located(block, block.index_of(offset))

    def from_text_row(self, offset: int) -> Iterator[Located]:
        """Yield text rows, starting with the one that contains a character."""
        block = self.block_at(offset)
        first = block.index_of(offset)
        while True:
            for index in range(first, len(block.layout.text_rows)):
                yield Located(block, index)
            if block.end >= self._live.n_chars:
                return
            block = self.block_at(block.end)
            first = 0

    def step(self, offset: int, n_rows: int) -> int:
        """Return the start of the text row a number of rows below or above; stop at the ends."""
        if n_rows > 0:
            walk = islice(self.from_text_row(offset), n_rows + 1)
            return [place.start for place in walk][-1]
        start = self.text_row_at(offset).start
        for _ in range(-n_rows):
            if start == 0:
                break
            start = self.text_row_at(start - 1).start
        return start


def frame(
    gloss: Gloss, anchor: int, height: int, spans: Spans, styles: GlossStyles
) -> list[FrameLine]:
    """Draw the lines of a view whose first text row contains the character `anchor`.

    The first text row of the view and of every block has labels.
    """
    lines: list[FrameLine] = []
    for place in gloss.from_text_row(anchor):
        if len(lines) >= height:
            break
        block = place.block
        marked = spans.within(block.start, block.end)
        labelled = not (lines and place.index)
        strips = text_row_strips(
            block.layout, place.index, gloss.label_width, marked, styles, labelled
        )
        lines += [FrameLine(strip, place, row) for row, strip in enumerate(strips)]
    return lines[:height]


CUSTOM = "custom"


def title_of(name: str) -> str:
    """Return a pattern's short title."""
    return SPLIT_PATTERNS[name].title or name


_DISTANCES = (64, 512, 8192)
"""How far to look for a safe cut while drawing; a thread searches further."""

ReadText = Callable[[int, int], str]
"""Returns the characters lo to hi of the text."""


def pre_tokens_near(
    pattern: SplitPattern, read: ReadText, n_chars: int, lo: int, hi: int
) -> list[PreToken] | None:
    """Return the pre-tokens that overlap `lo` to `hi`, in time independent of the text's length.

    The text is split between two places at which the pattern always starts a pre-token.

    Returns:
        The pre-tokens, or None if there is no such place nearby.
    """
    if lo >= min(hi, n_chars):
        return []
    start = _cut_before(pattern, read, n_chars, lo)
    end = _cut_behind(pattern, read, n_chars, hi)
    if start is None or end is None:
        return None
    pre_tokens = []
    for first, last in _spans(pattern, read(start, end)):
        if start + last > lo and start + first < hi:
            pre_tokens.append(PreToken(start + first, start + last))
    return pre_tokens


@lru_cache(maxsize=512)
def _spans(pattern: SplitPattern, text: str) -> list[tuple[int, int]]:
    return list(split(pattern, text).spans())


def _cut_before(pattern: SplitPattern, read: ReadText, n_chars: int, offset: int) -> int | None:
    """Return the last safe cut at `offset` or before."""
    for distance in _DISTANCES:
        start = max(0, offset - distance)
        if pattern.safe_cut is not None and offset < n_chars:
            text = read(start, offset + 1)
            last, cut = None, first_cut(pattern.safe_cut, text, 0, len(text))
            while cut is not None:
                last, cut = cut, first_cut(pattern.safe_cut, text, cut + 1, len(text))
            if last is not None:
                return start + last
        if start == 0:
            return 0
    return None


def _cut_behind(pattern: SplitPattern, read: ReadText, n_chars: int, offset: int) -> int | None:
    """Return the first safe cut at `offset` or after."""
    start = max(0, offset - CUT_CONTEXT)
    for distance in _DISTANCES:
        end = min(n_chars, offset + distance)
        if pattern.safe_cut is not None:
            cut = first_cut(pattern.safe_cut, read(start, end), offset - start, end - start)
            if cut is not None:
                return start + cut
        if end == n_chars:
            return n_chars
    return None


_TENTATIVE_CHARS = 200
"""Edited text up to this length is shown as one pre-token until it is split again."""

NO_CHANGE = Change(0, 0, 0)


@dataclass(slots=True)
class KnownPreTokens:
    """The pre-tokens of the text at a revision, and the change since then."""

    revision: int
    result: SplitResult = field(default_factory=SplitResult)
    change: Change | None = NO_CHANGE
    """None if the change is not known."""

    def pre_tokens_in(self, lo: int, hi: int) -> list[PreToken]:
        """List the pre-tokens that overlap the characters `lo` to `hi` of the current text.

        Characters in no pre-token are not known. An edited pre-token remains one pre-token until
        the regex has split it again.
        """
        change = self.change
        if change is None:
            return []
        if change == NO_CHANGE:
            return self.result.pre_tokens_in(lo, hi)
        before = self.result.pre_tokens_in(lo, min(hi, change.start))
        before = [pre_token for pre_token in before if pre_token.end <= change.start]
        behind = self.result.pre_tokens_in(
            max(lo - change.shift, change.old_end), hi - change.shift
        )
        moved = [
            PreToken(pre_token.start + change.shift, pre_token.end + change.shift, pre_token.gap)
            for pre_token in behind
            if pre_token.start >= change.old_end
        ]
        edited = self._edited(change)
        middle = [edited] if edited and edited.start < hi and edited.end > lo else []
        return before + middle + moved

    def _edited(self, change: Change) -> PreToken | None:
        """Return the edited pre-tokens as one, None if that is too unlikely to be right.

        Text inserted between two pre-tokens may belong to either or to neither.
        """
        around = self.result.pre_tokens_in(change.start - 1, change.old_end + 1)
        if change.start == change.old_end:
            edited = [
                pre_token for pre_token in around if pre_token.start < change.start < pre_token.end
            ]
        else:
            edited = [p for p in around if p.start < change.old_end and p.end > change.start]
        if not edited:
            return None
        start, end = edited[0].start, edited[-1].end + change.shift
        return PreToken(start, end) if start < end <= start + _TENTATIVE_CHARS else None


class Row(Protocol):
    """A row of the gloss."""

    title: str
    """The label beside the row."""

    def pre_tokens_in(self, lo: int, hi: int) -> Sequence[PreToken | GlossPreToken]:
        """List the known pre-tokens that overlap the characters `lo` to `hi`."""


class TokenRow:
    """The tokens of a document."""

    def __init__(self, title: str, document: LiveDocument) -> None:
        """Take the title and the document."""
        self.title = title
        self.document = document

    def pre_tokens_in(self, lo: int, hi: int) -> list[GlossPreToken]:
        """List the tokens that overlap some characters; tokens that divide a character are one."""
        tokenizer, found = self.document.tokenizer, list[GlossPreToken]()
        for start, end, _, token_id, hue, parts in self.document.tokens_in(lo, hi):
            if token_id < 0 or tokenizer is None:
                continue
            inner = (len(tokenizer.token_bytes(token_id)),) if parts else ()
            if parts & BEGINS_INSIDE and found and found[-1].end > start:
                found[-1] = found[-1]._replace(end=end, inner=found[-1].inner + inner)
            else:
                found.append(GlossPreToken(start, end, hue=hue, inner=inner))
        return found


class NamedRow:
    """The pre-tokens of a named pattern.

    Attributes:
        title: The pattern's short title.
        pattern: The pattern.
        counter: Counts all its pre-tokens, in a thread.
        wanted: The character around which a thread must find pre-tokens, None for none.
        busy: Whether a thread is finding them.
    """

    def __init__(self, live: LiveDocument, name: str, want: Callable[[], object]) -> None:
        """Take the document, the pattern's name and a callback for when pre-tokens are `wanted`."""
        self.title = title_of(name)
        self.pattern = SPLIT_PATTERNS[name]
        self.counter = PreTokenCounter(self.pattern)
        self.wanted: int | None = None
        self.busy = False
        self._live = live
        self._want = want
        self._requested = set[int]()
        """The characters requested since the last edit."""
        self._far: list[KnownPreTokens] = []

    def pre_tokens_in(self, lo: int, hi: int) -> list[PreToken]:
        """List the known pre-tokens that overlap the characters `lo` to `hi`."""
        live = self._live
        for far in self._far:
            if far.change == NO_CHANGE and far.result.covers(lo, hi):
                return far.pre_tokens_in(lo, hi)
        near = pre_tokens_near(self.pattern, live.text_in, live.n_chars, lo, hi)
        if near is not None:
            return near
        if self.wanted is None and not self.busy and lo not in self._requested:
            self._requested.add(lo)
            self.wanted = lo
            self._want()
        return sorted({pre_token for far in self._far for pre_token in far.pre_tokens_in(lo, hi)})

    def take_far(self, revision: int, result: SplitResult) -> None:
        """Receive the pre-tokens that a thread found around a wanted character."""
        self.busy = False
        change = self._live.changes.since(revision)
        self._far = [far for far in self._far if far.revision == revision]
        self._far.append(KnownPreTokens(revision, result, change))

    def note_changes(self) -> None:
        """Follow an edit of the text."""
        self._requested.clear()
        for far in self._far:
            far.change = self._live.changes.since(far.revision)


@dataclass(slots=True)
class StepRow:
    """The pre-tokens after one step of the tokenizer's split pattern, found by a thread."""

    title: str
    known: KnownPreTokens

    def pre_tokens_in(self, lo: int, hi: int) -> list[PreToken]:
        """List the known pre-tokens that overlap the characters `lo` to `hi`."""
        return self.known.pre_tokens_in(lo, hi)


NEAR_CHARS = 65_536
"""Text further than this from the part split so far is split first, with this much around it."""


class CustomRow:
    """The pre-tokens of the custom regex, received from the child process.

    Attributes:
        known: The pre-tokens of the last text that was split to its end.
        incoming: Those of the text that is being split, None if there is none.
        near: Provisional pre-tokens of the visible part, found from the text around it. Splitting
            the whole text may give others.
        wanted: The character around which such pre-tokens are wanted, None for none.
    """

    title = CUSTOM

    def __init__(self, live: LiveDocument, want: Callable[[], object]) -> None:
        """Take the document, and a callback for when pre-tokens are `wanted`."""
        self._live = live
        self._want = want
        self.known = KnownPreTokens(live.revision)
        self.incoming: KnownPreTokens | None = None
        self.near: KnownPreTokens | None = None
        self.wanted: int | None = None
        self._requested = range(0)

    @property
    def result(self) -> SplitResult:
        """The latest result, which may be incomplete."""
        return (self.incoming or self.known).result

    def begin(self) -> None:
        """Start receiving the pre-tokens of the current text; the old ones are kept until then."""
        self.incoming = KnownPreTokens(self._live.revision)
        self.near, self.wanted, self._requested = None, None, range(0)

    def text_near(self, offset: int) -> tuple[int, str] | None:
        """Return the text to split first around a character and its start, None for none."""
        self.wanted = None
        if offset - self.result.n_chars < NEAR_CHARS:
            return None
        start = self._live.line_start(self._live.location(offset - NEAR_CHARS // 4)[0])
        start = max(start, offset - NEAR_CHARS // 2)
        self._requested = range(start, min(self._live.n_chars, offset + NEAR_CHARS // 2))
        self.near = KnownPreTokens(self._live.revision)
        return start, self._live.text_in(start, self._requested.stop)

    def finish(self) -> None:
        """Replace the old pre-tokens by the new ones."""
        if self.incoming is not None:
            self.incoming.result.complete = True
            self.known, self.incoming, self.near = self.incoming, None, None

    def fail(self) -> None:
        """Keep the old pre-tokens."""
        self.incoming = self.near = None

    def pre_tokens_in(self, lo: int, hi: int) -> list[PreToken]:
        """List the known pre-tokens that overlap the characters `lo` to `hi`."""
        incoming = self.incoming
        for newer in filter(None, (incoming, self.near)):
            if newer.change == NO_CHANGE and newer.result.covers(lo, hi):
                return newer.pre_tokens_in(lo, hi)
        if incoming and lo - incoming.result.n_chars >= NEAR_CHARS and lo not in self._requested:
            self.wanted = lo
            self._want()
        old = self.known if incoming is None or self.known.result.complete else incoming
        return old.pre_tokens_in(lo, hi)

    def note_changes(self) -> None:
        """Follow an edit of the text."""
        for known in (self.known, self.incoming, self.near):
            if known is not None:
                known.change = self._live.changes.since(known.revision)
