"""Live document: an edited text with queries about its tokens."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import accumulate, chain, count, islice, pairwise, repeat
from typing import NamedTuple

from tokviz.live.chunked_text import ChunkedText
from tokviz.live.chunks import BYTES, CHARS, NEWLINES, TOKENS, Chunk, ChunkTokens
from tokviz.live.occurrences import numbers_in
from tokviz.live.prefix_sums import BlockPlace
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import SpecialTokens
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.tokenizer.tokenizer import Tokenizer

UNKNOWN = -1
"""Index, id and hue of a stretch of text whose tokens are not known yet."""

BEGINS_INSIDE = 1
"""Bit of `TokenSpan.split`: the token starts inside a character."""

ENDS_INSIDE = 2
"""Bit of `TokenSpan.split`: the token ends inside a character."""


class TokenSpan(NamedTuple):
    """A token, as the range of characters that contain any of its bytes.

    Attributes:
        start: Offset of the first character.
        end: Offset after the last character, more than `start`.
        index: The token's number among the known tokens, or `UNKNOWN`.
        id: The token id, or `UNKNOWN`.
        hue: 0 to 5, or `UNKNOWN`.
        split: `BEGINS_INSIDE` and `ENDS_INSIDE`, or 0.
    """

    start: int
    end: int
    index: int  # type: ignore[assignment]  # hides tuple.index
    id: int
    hue: int
    split: int


class TokenInfo(NamedTuple):
    """The characters, bytes and hue of one token of a document."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    id: int
    start: int
    end: int
    byte_start: int
    byte_end: int
    hue: int


class TextSize(NamedTuple):
    """The size of a stretch of text; tokens partly inside it count too."""

    chars: int
    bytes: int
    tokens: int


_token_span = partial(tuple.__new__, TokenSpan)
"""Makes a TokenSpan from a tuple, three times as fast as a call of the class."""


def unknown_span(start: int, end: int) -> TokenSpan:
    """Return a span for a stretch of text whose tokens are not known yet."""
    return TokenSpan(start, end, UNKNOWN, UNKNOWN, UNKNOWN, 0)


def touching(chunk: Chunk, tokens: ChunkTokens, lo: int, hi: int) -> tuple[int, int]:
    """Return the range (first, end) of tokens with any byte in the chunk's characters lo to hi."""
    borders = tokens.borders
    first = bisect_right(borders, chunk.byte_of_char(lo)) - 1
    return first, bisect_left(borders, chunk.byte_of_char(hi), first)


def token_spans(
    chunk: Chunk, tokens: ChunkTokens, first: int, last: int, char: int, index: int
) -> list[TokenSpan]:
    """Return the spans of consecutive tokens of a chunk.

    Args:
        chunk: The chunk.
        tokens: Its tokens.
        first: Number of the first token in the chunk.
        last: Number after the last one.
        char: Character offset of the chunk in the document.
        index: Number of the chunk's first token in the document.
    """
    if first >= last:
        return []
    borders = tokens.borders[first : last + 1]
    starts: Iterable[int]
    ends: Iterable[int]
    splits: Iterable[int]
    if chunk.n_bytes == chunk.n_chars:
        at = [border + char for border in borders]
        starts, ends, splits = at, at[1:], repeat(0)
    else:
        starts, ends, splits = _char_spans(chunk, list(borders), char)
    columns = zip(
        starts,
        ends,
        count(index + first),
        tokens.ids[first:last],
        tokens.hues[first:last],
        splits,
        strict=False,
    )
    return list(map(_token_span, columns))


def remembered_spans(chunk: Chunk, lo: int, hi: int, char: int) -> list[TokenSpan]:
    """Return spans with previous hues for the characters lo to hi of a pending chunk.

    Args:
        chunk: The chunk.
        lo: The first character, counted from the chunk's start.
        hi: The character after the last one.
        char: Character offset of the chunk in the document.

    Returns:
        Adjacent spans whose index and id are `UNKNOWN`; new text also has an unknown hue.
    """
    first_byte, last_byte = chunk.byte_of_char(lo), chunk.byte_of_char(hi)
    spans: list[TokenSpan] = []
    at, end = char + lo, char + hi
    for run in chunk.runs:
        old, shift = run.tokens, run.shift
        first = max(run.first, bisect_right(old.borders, first_byte - shift) - 1)
        last = min(run.last, bisect_left(old.borders, last_byte - shift))
        if first >= last:
            continue
        borders = array("I", (border + shift for border in old.borders[first : last + 1]))
        part = old.part(first, last, borders)
        for start, stop, _, _, hue, _ in token_spans(chunk, part, 0, last - first, char, 0):
            if start > at:
                spans.append(unknown_span(at, start))
                at = start
            stop = stop if stop < end else end
            if at < stop:
                spans.append(_token_span((at, stop, UNKNOWN, UNKNOWN, hue, 0)))
                at = stop
    if at < end:
        spans.append(unknown_span(at, end))
    return spans


@lru_cache(maxsize=8192)
def starts_within(tokenizer: Tokenizer, pre_token: str) -> tuple[int, ...]:
    """Return the character positions within a pre-token at which tokens start, except the first.

    The result does not depend on the split pattern, because it is disabled for this.
    """
    alone = _uncut(tokenizer)
    ends = accumulate(
        len(alone.token_bytes(token_id)) for token_id in alone.byte_text.encode(pre_token, False)
    )
    borders = set(ends)
    places = accumulate(len(bytetext.to_bytes(char)) for char in pre_token)
    return tuple(n for n, place in enumerate(places, 1) if place in borders and n < len(pre_token))


@lru_cache(maxsize=4)
def _uncut(tokenizer: Tokenizer) -> Tokenizer:
    return tokenizer.with_parts(SPLIT_PATTERNS["none"], SpecialTokens({}))


def _char_spans(
    chunk: Chunk, borders: list[int], char: int
) -> tuple[list[int], list[int], Iterable[int]]:
    """Convert the byte borders of tokens to character starts and ends, and split bits."""
    first_char = chunk.char_of_byte(borders[0])
    last_char = chunk.char_of_byte(borders[-1] - 1)
    first_byte = chunk.byte_of_char(first_char)
    begins = bytetext.char_starts(chunk.text_in(first_char, last_char + 1))
    # For every byte, and the position after the last: how many characters start before it, and
    # whether one starts at it.
    started = list(accumulate(begins, initial=char + first_char))
    begins += b"\x01"
    at = [border - first_byte for border in borders]
    chars = list(map(started.__getitem__, at))
    whole = bytes(map(begins.__getitem__, at))
    if 0 not in whole:
        return chars, chars[1:], repeat(0)
    starts = [char - 1 + is_start for char, is_start in zip(chars, whole, strict=True)]
    splits = [
        (0 if is_start else BEGINS_INSIDE) | (0 if is_end else ENDS_INSIDE)
        for is_start, is_end in pairwise(whole)
    ]
    return starts, chars[1:], splits


TokenSearch = Callable[[Chunk], list[int]]
"""Returns the positions of a token among the tokens of a chunk, ascending."""


class LiveDocument(ChunkedText):
    r"""Byte text with its tokens, exact after every edit.

    Offsets are characters (code points) of the byte text unless a name contains `byte`; a token
    index counts the known tokens. Tokens become known on request (`tokens_in`, `token_index_at`,
    `ensure`), after a short edit, and by `encode_pending`, the one method for a worker thread.
    Requests never encode a chunk of more than 8 K characters.

    An index stays valid until the text changes or more tokens become known. Queries by index or id
    neither encode anything nor take over results of a worker, so after `tokens_in` or `n_tokens`
    they all refer to the same tokens.

    >>> import tokviz
    >>> document = LiveDocument("Hello worl", tokviz.load("gpt2"))
    >>> document.edit(10, 0, "d")
    >>> [(span.start, span.end, span.id) for span in document.tokens_in(0, 11)]
    [(0, 5, 15496), (5, 11, 995)]
    """

    # -- tokens by characters

    def tokens_in(self, lo: int, hi: int) -> list[TokenSpan]:
        """Return every token that has any byte in the characters lo to hi, in order.

        A stretch whose tokens are not known is one span with index, id and hue -1, clipped to lo
        and hi. A pending chunk after an edit recalls the hues of its previous tokens instead.
        Several tokens share a character if it is divided among them.
        """
        lo, hi = max(lo, 0), min(hi, self.n_chars)
        if lo >= hi:
            return []
        self._refine(lo, hi)
        place = self._chunks.locate(CHARS, lo)
        char = self._chunks.start(place, CHARS)
        index = self._chunks.start(place, TOKENS)
        spans: list[TokenSpan] = []
        for chunk in self._chunks.walk(place):
            if char >= hi:
                break
            first_char, last_char = max(lo - char, 0), min(hi - char, chunk.n_chars)
            tokens = self._known(chunk)
            if tokens is None and chunk.runs:
                spans += remembered_spans(chunk, first_char, last_char, char)
            elif tokens is None or not tokens.ids:
                spans.append(unknown_span(char + first_char, char + last_char))
            else:
                first, last = touching(chunk, tokens, first_char, last_char)
                spans += token_spans(chunk, tokens, first, last, char, index)
            char += chunk.n_chars
            index += chunk.n_tokens
        if self._has_empty_spans:
            # Libraries and normalization may produce tokens that correspond to no text.
            return [span for span in spans if span.end > span.start]
        return spans

    @property
    def _has_empty_spans(self) -> bool:
        tokenizer = self.tokenizer
        return tokenizer is not None and (tokenizer.in_child or bool(tokenizer.normalizer))

    def token_index_at(self, offset: int) -> int | None:
        """Return the index of the first token of a character, None if it is not known."""
        if not 0 <= offset < self.n_chars:
            return None
        self._refine(offset, offset + 1)
        place = self._chunks.locate(CHARS, offset)
        chunk = self._chunks.item(place)
        tokens = self._known(chunk)
        if tokens is None or not tokens.ids:
            return None
        char = offset - self._chunks.start(place, CHARS)
        return self._chunks.start(place, TOKENS) + touching(chunk, tokens, char, char + 1)[0]

    def counts(self, lo: int, hi: int) -> TextSize:
        """Count the characters, bytes and known tokens in the characters lo to hi."""
        lo, hi = max(lo, 0), min(hi, self.n_chars)
        if lo >= hi:
            return TextSize(0, 0, 0)
        n_tokens = self._tokens_before(hi, partial=True) - self._tokens_before(lo, partial=False)
        return TextSize(hi - lo, self.byte_offset(hi) - self.byte_offset(lo), n_tokens)

    def _tokens_before(self, offset: int, *, partial: bool) -> int:
        """Count the known tokens that end before a character, or (`partial`) start before it."""
        self._take_finished()
        # To find a token that starts before `offset`, look up the character before it.
        place = self._chunks.locate(CHARS, offset - partial)
        chunk = self._chunks.item(place)
        n_before = self._chunks.start(place, TOKENS)
        if chunk.tokens is None or not chunk.tokens.ids:
            return n_before
        char = offset - partial - self._chunks.start(place, CHARS)
        return n_before + touching(chunk, chunk.tokens, char, char + 1)[int(partial)]

    # -- tokens by index

    def token(self, index: int) -> TokenInfo:
        """Return a token's id, span and hue.

        Raises:
            IndexError: If fewer tokens are known.
        """
        place, chunk, tokens = self._chunk_of_token(index)
        number = index - self._chunks.start(place, TOKENS)
        char = self._chunks.start(place, CHARS)
        byte = self._chunks.start(place, BYTES)
        span = token_spans(chunk, tokens, number, number + 1, char, index - number)[0]
        return TokenInfo(
            index,
            span.id,
            span.start,
            span.end,
            byte + tokens.borders[number],
            byte + tokens.borders[number + 1],
            span.hue,
        )

    def tokens_slice(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the (id, hue) of the known tokens with indexes first <= index < last."""
        first, last = max(first, 0), min(last, self._chunks.total(TOKENS))
        if first >= last:
            return []
        place = self._chunks.locate(TOKENS, first)
        index = self._chunks.start(place, TOKENS)
        pairs: list[tuple[int, int]] = []
        for chunk in self._chunks.walk(place):
            if index >= last:
                break
            if chunk.tokens is not None:
                part = slice(max(first - index, 0), last - index)
                pairs += zip(chunk.tokens.ids[part], chunk.tokens.hues[part], strict=True)
            index += chunk.n_tokens
        return pairs

    def _chunk_of_token(self, index: int) -> tuple[BlockPlace, Chunk, ChunkTokens]:
        n_tokens = self._chunks.total(TOKENS)
        if not 0 <= index < n_tokens:
            raise IndexError(f"no token {index}: {n_tokens} tokens are known")
        place = self._chunks.locate(TOKENS, index)
        chunk = self._chunks.item(place)
        assert chunk.tokens is not None
        return place, chunk, chunk.tokens

    # -- occurrences of a token

    def occurrences(self, token_id: int, limit: int = 16) -> tuple[int, list[int]]:
        """Return the count of a token, and the first `limit` of its indexes.

        The count takes constant time, but can be outdated until `encode_pending` has finished.
        Finding the indexes of a rare token searches the text.
        """
        number = self._n_occurrences(token_id)
        if not number:
            return 0, []
        indexes = self._occurrences_from(self._search(token_id), 0)
        return number, list(islice(indexes, min(number, limit)))

    @property
    def replaces_bytes(self) -> bool:
        """True if bytes that are not valid UTF-8 are encoded as U+FFFD, as libraries do."""
        return (
            self.tokenizer is not None
            and (self.tokenizer.remote or self.tokenizer.normalizer.replaces_bytes)
            and self.n_raw_bytes > 0
        )

    @property
    def lossless(self) -> bool:
        """True if the known tokens decode to the text, byte for byte."""
        if self.replaces_bytes:
            return False
        if self.tokenizer is None or not self.tokenizer.lossy:
            return True
        unchanged = self._backlog is not None and not self._backlog.counts.n_changed
        return bool(self.tokenizer.normalizer) and unchanged

    def token_counts(self) -> dict[int, int]:
        """Return the count of every known token, by id; it can be outdated, see `occurrences`."""
        return {} if self._backlog is None else self._backlog.counts.as_dict()

    def next_occurrence(self, token_id: int, after_index: int, step: int = 1) -> int | None:
        """Find the nearest token with this id after (step 1) or before (step -1) an index."""
        if not self._n_occurrences(token_id):
            return None
        search = self._search(token_id)
        if step > 0:
            return next(self._occurrences_from(search, max(after_index + 1, 0)), None)
        return next(self._occurrences_back(search, after_index), None)

    def _n_occurrences(self, token_id: int) -> int:
        return 0 if self._backlog is None else self._backlog.counts[token_id]

    def _occurrences_from(self, search: TokenSearch, start: int) -> Iterator[int]:
        """Yield the indexes of a token from an index on, ascending."""
        place = self._chunks.locate(TOKENS, start)
        index = self._chunks.start(place, TOKENS)
        for chunk in self._chunks.walk(place):
            for number in search(chunk):
                if index + number >= start:
                    yield index + number
            index += chunk.n_tokens

    def _occurrences_back(self, search: TokenSearch, stop: int) -> Iterator[int]:
        """Yield the indexes of a token before an index, descending."""
        place = self._chunks.locate(TOKENS, max(stop, 0))
        last = self._chunks.item(place)
        index = self._chunks.start(place, TOKENS) + last.n_tokens
        for chunk in chain((last,), self._chunks.walk_back(place)):
            index -= chunk.n_tokens
            for number in reversed(search(chunk)):
                if index + number < stop:
                    yield index + number

    def _search(self, token_id: int) -> TokenSearch:
        """Return a function that finds a token in a chunk."""
        assert self.tokenizer is not None
        token = self.tokenizer.token_bytes(token_id)
        # ASCII bytes are always whole characters, and text is faster to search than ids.
        text = token.decode("ascii") if token.isascii() else ""
        return partial(numbers_in, token_id, text)

    # -- positions in the text

    def char_offset(self, byte: int) -> int:
        """Return the offset of the character that contains a byte; `n_chars` for the end."""
        if byte >= self.n_bytes:
            return self.n_chars
        place = self._chunks.locate(BYTES, byte)
        chunk = self._chunks.item(place)
        local = chunk.char_of_byte(byte - self._chunks.start(place, BYTES))
        return self._chunks.start(place, CHARS) + local

    def line_start(self, row: int) -> int:
        """Return the offset at which a line starts, at most that of the last line."""
        number = min(row, self.n_lines - 1) - 1
        if number < 0:
            return 0
        place = self._chunks.locate(NEWLINES, number)
        newline = self._chunks.item(place).newline(number - self._chunks.start(place, NEWLINES))
        return self._chunks.start(place, CHARS) + newline + 1

    def line_end(self, row: int) -> int:
        """Return the offset of the end of a line, before its line feed."""
        return self.n_chars if row + 1 >= self.n_lines else self.line_start(row + 1) - 1

    def lines(self, first: int, last: int) -> list[str]:
        """Return the lines first to last, at least one, without their line feeds."""
        return self.text_in(self.line_start(first), self.line_end(last - 1)).split("\n")

    def line_blocks(self, first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
        """Divide the lines first to last into blocks, without reading their text.

        Args:
            first: The first line.
            last: The line after the last one.
            size: Approximate size of a block, in cells.

        Yields:
            The number of lines of each block, and about how many cells they take.
        """
        place = self._chunks.locate(NEWLINES, max(first - 1, 0))
        at, n_cells = self._chunks.start(place, NEWLINES), 0
        for chunk in self._chunks.walk(place):
            at += chunk.n_newlines
            # In UTF-8, most characters that are two cells wide take three bytes.
            n_cells += (chunk.n_chars + chunk.n_bytes) // 2
            if at >= last:
                break
            if n_cells >= size and at > first:
                yield from _divided(at - first, n_cells, size)
                first, n_cells = at, 0
        if first < last:
            yield from _divided(last - first, n_cells, size)

    def location(self, offset: int) -> tuple[int, int]:
        """Return the row and column (in characters) of an offset."""
        offset = max(0, min(offset, self.n_chars))
        place = self._chunks.locate(CHARS, offset)
        local = offset - self._chunks.start(place, CHARS)
        row = self._chunks.start(place, NEWLINES) + self._chunks.item(place).newlines_before(local)
        return row, offset - self.line_start(row)

    # -- all tokens

    def ids(self) -> array[int]:
        """Return all token ids, typecode "I"; encode the chunks that are still pending.

        Raises:
            TokvizError: If a chunk cannot be encoded.
        """
        self._take_finished()
        ids = array("I")
        for chunk in self._chunks:
            if chunk.tokens is None and self._backlog is not None:
                self._encode_now(self._backlog, chunk)
            if chunk.tokens is not None:
                ids.extend(chunk.tokens.ids)
            elif self.failure is not None:
                raise self.failure
        return ids


def _divided(n_lines: int, n_cells: int, size: int) -> Iterator[tuple[int, int]]:
    """Divide the lines of one long chunk evenly into blocks of about `size` cells."""
    n_blocks = max(1, min(n_lines, n_cells // size))
    for block in range(n_blocks):
        yield n_lines * (block + 1) // n_blocks - n_lines * block // n_blocks, n_cells // n_blocks
