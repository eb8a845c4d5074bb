"""Convert documents to texts: cut at special tokens and delimiters, limited, in blocks of memory.

A text is the part between two cuts; no pre-token crosses its ends. Blocks are about 512 KB, so a
text may continue in the next block; then it is cut between two characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tokviz.text import bytetext

BLOCK_BYTES = 1 << 19

MOST_FIRSTS = 200
"""Number of candidates per block that are found by their first byte."""

Chunk = tuple[bytes, bool]
"""Bytes of a document, and whether the document ends with them."""

# Between documents in a block: no special token contains this byte, so none crosses it.
_SEPARATOR = b"\xff"

REST = -1
"""In place of the index of a file: all files that are not tracked (see `Corpus.tracked_files`)."""


class TextBlock:
    """Texts in one block of memory, in order.

    Attributes:
        data: Contains the texts, with other bytes between them.
        starts: The start of each text in `data`.
        ends: The end of each text; a text may be empty.
        ends_document: Whether a document ends with the text.
        is_open: True if the last text continues as the first one of the next block.
        file: The index of their file in the corpus, or `REST`.
    """

    def __init__(
        self,
        data: bytes,
        starts: Iterable[int] = (),
        ends: Iterable[int] = (),
        ends_document: Iterable[bool] = (),
        is_open: bool = False,
        file: int = REST,
    ) -> None:
        """Create a block."""
        self.data = data
        self.starts = list(starts)
        self.ends = list(ends)
        self.ends_document = list(ends_document)
        self.is_open = is_open
        self.file = file

    @property
    def n_bytes(self) -> int:
        """The bytes of all texts."""
        return sum(self.ends) - sum(self.starts)

    def add(self, start: int, end: int, ends_document: bool) -> None:
        """Add a text."""
        self.starts.append(start)
        self.ends.append(end)
        self.ends_document.append(ends_document)

    def whole_texts(self, open_text: list[bytes]) -> Iterator[bytes]:
        """Yield the texts that end in this block.

        Args:
            open_text: The start of the first text, from earlier blocks; receives the start of an
                open text.
        """
        last = len(self.starts) - 1
        for index, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            open_text.append(self.data[start:end])
            if index < last or not self.is_open:
                text = b"".join(open_text)
                open_text.clear()
                yield text


def text_blocks(
    chunks: Iterable[Chunk], specials: Iterable[bytes], delimiter: bytes
) -> Iterator[TextBlock]:
    """Cut documents into texts.

    Where special tokens overlap, the first wins, and among those at one place the longest.

    Args:
        chunks: The documents; the last chunk ends one.
        specials: The special tokens, which are cut out.
        delimiter: Text between documents, which is cut out too; empty for none.
    """
    cuts = sorted({*specials, delimiter} - {b""}, key=lambda cut: (-len(cut), cut))
    pattern = re.compile(b"|".join(map(re.escape, cuts))) if cuts else None
    firsts = {cut[:1] for cut in cuts}
    first = firsts.pop() if len(firsts) == 1 else b""
    longest = len(cuts[0]) if cuts else 1
    pending = b""
    for batch in _batches(chunks):
        block = TextBlock(pending + batch.data, is_open=batch.is_open)
        shift = len(pending)
        for index, (start, end) in enumerate(zip(batch.starts, batch.ends, strict=True)):
            start, end = start + shift if index else start, end + shift
            continues = batch.is_open and index == len(batch.starts) - 1
            # The possible start of a special token waits for the next block.
            decided = max(start, end - longest + 1) if continues else end
            for hit in _hits(pattern, first, block.data, start, end) if pattern else ():
                if hit.start() >= decided:
                    break
                block.add(start, hit.start(), hit[0] == delimiter)
                start = hit.end()
            if continues:
                decided = _character_border(block.data, start, max(start, decided))
                block.add(start, decided, False)
            else:
                block.add(start, end, True)
        pending = block.data[decided:] if batch.is_open else b""
        yield block


def _hits(
    pattern: re.Pattern[bytes], first: bytes, data: bytes, start: int, end: int
) -> Iterator[re.Match[bytes]]:
    """Find all matches, by their first byte while it is rare, which halves the time.

    Args:
        pattern: The pattern, which has no empty match.
        first: The first byte of all matches, empty if there are several.
        data: The data.
        start: The start of the search.
        end: The end of the search.
    """
    for _ in range(MOST_FIRSTS if first else 0):
        start = data.find(first, start, end)
        if start < 0:
            return
        hit = pattern.match(data, start, end)
        if hit is not None:
            yield hit
        start = start + 1 if hit is None else hit.end()
    yield from pattern.finditer(data, start, end)


def _batches(chunks: Iterable[Chunk]) -> Iterator[TextBlock]:
    """Join chunks into blocks, with one text per document."""
    parts: list[bytes] = []
    batch = TextBlock(b"")
    start = position = 0
    for data, ends_document in chunks:
        parts.append(data)
        position += len(data)
        if ends_document:
            batch.add(start, position, True)
            parts.append(_SEPARATOR)
            position += len(_SEPARATOR)
            start = position
        if position >= BLOCK_BYTES:
            if not ends_document:
                batch.add(start, position, False)
                batch.is_open = True
            batch.data = b"".join(parts)
            yield batch
            parts, batch, start, position = [], TextBlock(b""), 0, 0
    if parts:
        batch.data = b"".join(parts)
        yield batch


def _character_border(data: bytes, first: int, position: int) -> int:
    """Move `position` back to the start of a character, but not before `first`."""
    for n_back in range(1, min(3, position - first) + 1):
        byte = data[position - n_back]
        if byte >= 0xC0:
            width = 2 + (byte >= 0xE0) + (byte >= 0xF0)
            return position - n_back if width > n_back else position
        if byte < 0x80:
            break
    return position


def capped(
    blocks: Iterable[TextBlock], max_chars: int | None, max_doc_chars: int | None
) -> Iterator[TextBlock]:
    """Truncate long documents, and stop once there is enough text.

    As in karpathy/nanochat `scripts/tok_train.py`: at most `max_doc_chars` characters of a document
    are used, and the document with which the total exceeds `max_chars` is the last. Also, at most
    `max_chars` characters of a document are used. A byte that is not UTF-8 counts as a character;
    special tokens do not count.
    """
    if max_chars is None and max_doc_chars is None:
        yield from blocks
        return
    caps = [cap for cap in (max_chars, max_doc_chars) if cap is not None]
    cap = min(caps)
    total = in_document = 0
    for block in blocks:
        for index, start in enumerate(block.starts):
            text = bytetext.from_bytes(block.data[start : block.ends[index]])
            kept = text[: cap - in_document]
            in_document += len(kept)
            total += len(kept)
            is_cut = len(kept) < len(text)
            if is_cut:
                block.ends[index] = start + bytetext.n_bytes(kept)
                if index == len(block.starts) - 1:
                    block.is_open = False
            if (is_cut or block.ends_document[index]) and (
                max_chars is not None and total >= max_chars + (not is_cut)
            ):
                _end_with(block, index)
                yield block
                return
            if block.ends_document[index]:
                in_document = 0
        yield block


def _end_with(block: TextBlock, index: int) -> None:
    """Remove all texts after this one."""
    rest = slice(index + 1, None)
    del block.starts[rest], block.ends[rest], block.ends_document[rest]
    block.ends_document[index] = True
    block.is_open = False
