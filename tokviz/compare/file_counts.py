"""Token counts of many files: small texts are encoded together, large ones block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import add
from typing import Generic, NamedTuple, TypeVar

from tokviz.errors import TokvizError
from tokviz.live.cuts import common_cut_rule
from tokviz.live.text_blocks import Changes, InputCounts, cut_blocks, map_ahead
from tokviz.process.limits import n_processors
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.specials import AllowedSpecial
from tokviz.tokenizer.tokenizer import Tokenizer

Source = TypeVar("Source")
Documents = Iterable[Iterable[bytes]]
"""The documents of a file, each in blocks of bytes."""

_BATCH_BYTES = 1 << 20
_BATCH_TEXTS = 512


class FileCount(NamedTuple):
    """Sizes of a text, in bytes, in characters, and in the tokens of each tokenizer.

    Attributes:
        n_bytes: Number of bytes.
        n_chars: Number of characters; a byte that is not valid UTF-8 counts as one.
        n_tokens: By tokenizer, the number of tokens.
        notes: Messages about changes that tokenizers make in the text.
    """

    n_bytes: int
    n_chars: int
    n_tokens: tuple[int, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def zero(cls, n_tokenizers: int) -> FileCount:
        """Return the counts of no text."""
        return cls(0, 0, (0,) * n_tokenizers)

    def plus(self, other: FileCount) -> FileCount:
        """Return the sums with the counts of another text."""
        return FileCount(
            self.n_bytes + other.n_bytes,
            self.n_chars + other.n_chars,
            tuple(map(add, self.n_tokens, other.n_tokens)),
            tuple(dict.fromkeys(self.notes + other.notes)),
        )

    def bytes_per_token(self, tokenizer: int = 0) -> float | None:
        """Return the average number of bytes per token; None if there is no token."""
        n_tokens = self.n_tokens[tokenizer]
        return self.n_bytes / n_tokens if n_tokens else None


class _Piece(NamedTuple, Generic[Source]):
    """A document of a file, or the end of the file.

    Attributes:
        source: The file.
        data: The document: whole, or in blocks if it is large; None at the end of the file.
        failure: The error that ended the reading.
    """

    source: Source
    data: bytes | Iterator[bytes] | None = None
    failure: TokvizError | None = None


def count_files(
    sources: Iterable[Source],
    read: Callable[[Source], Documents],
    tokenizers: Sequence[Tokenizer],
    specials: AllowedSpecial | bool,
) -> Iterator[tuple[Source, FileCount | TokvizError]]:
    """Count files in order; a thread encodes while this one reads ahead.

    Args:
        sources: The files.
        read: Returns the documents of a file, which are encoded independently.
        tokenizers: The tokenizers.
        specials: Special tokens to recognize, as for `Tokenizer.encode_byte_text`.

    Yields:
        The file, and its counts or the error that kept it from being read.
    """
    count = partial(_count_batch, tokenizers=tokenizers, specials=specials)
    pieces = chain.from_iterable(_pieces(source, read) for source in sources)
    total: FileCount | TokvizError = FileCount.zero(len(tokenizers))
    for piece, found in chain.from_iterable(map_ahead(count, _batches(pieces))):
        if isinstance(total, FileCount):
            total = total.plus(found) if isinstance(found, FileCount) else found or total
        if piece.data is None:
            yield piece.source, total
            total = FileCount.zero(len(tokenizers))


def count_blocks(
    blocks: Iterable[bytes], tokenizers: Sequence[Tokenizer], specials: AllowedSpecial | bool
) -> FileCount:
    """Count a text in bounded memory."""
    sizes, changes = InputCounts(), [*map(Changes, tokenizers)]

    def count(text: str) -> list[int]:
        return [len(tokenizer.encode_to_array(text, specials)) for tokenizer in tokenizers]

    def cut() -> Iterator[str]:
        rule = common_cut_rule(tokenizers, bool(specials))
        for text in cut_blocks(blocks, rule, sizes):
            for change in changes:
                change.add(text)
            yield text

    # A child process that splits text handles one block at a time.
    in_child = any(tokenizer.in_child for tokenizer in tokenizers)
    counts = map_ahead(count, cut(), 1 if in_child else max(n_processors(), 1))
    n_tokens = [0] * len(tokenizers)
    for numbers in counts:
        n_tokens = [*map(add, n_tokens, numbers)]
    return FileCount(sizes.n_bytes, sizes.n_chars, tuple(n_tokens), _notes(changes))


def _pieces(source: Source, read: Callable[[Source], Documents]) -> Iterator[_Piece[Source]]:
    try:
        for document in read(source):
            blocks, gathered = iter(document), bytearray()
            for block in blocks:
                gathered += block
                if len(gathered) > _BATCH_BYTES:
                    yield _Piece(source, chain([bytes(gathered)], blocks))
                    break
            else:
                yield _Piece(source, bytes(gathered))
        yield _Piece(source)
    except TokvizError as error:
        yield _Piece(source, failure=error)


def _batches(pieces: Iterable[_Piece[Source]]) -> Iterator[list[_Piece[Source]]]:
    """Gather small documents; a large one comes alone."""
    batch: list[_Piece[Source]] = []
    n_bytes = 0
    for piece in pieces:
        size = _BATCH_BYTES
        if piece.data is None or isinstance(piece.data, bytes):
            size = len(piece.data or b"")
        if batch and (n_bytes + size > _BATCH_BYTES or len(batch) == _BATCH_TEXTS):
            yield batch
            batch, n_bytes = [], 0
        batch.append(piece)
        n_bytes += size
    if batch:
        yield batch


def _count_batch(
    batch: Sequence[_Piece[Source]],
    tokenizers: Sequence[Tokenizer],
    specials: AllowedSpecial | bool,
) -> list[tuple[_Piece[Source], FileCount | TokvizError | None]]:
    texts = [bytetext.from_bytes(one.data) for one in batch if isinstance(one.data, bytes)]
    try:
        encoded = ([*map(len, one.encode_byte_texts(texts, specials))] for one in tokenizers)
        counts = iter([*zip(*encoded, strict=True)])
    except TokvizError as error:
        if len(texts) == 1:
            return [(piece, error if piece.data else piece.failure) for piece in batch]
        return [*chain.from_iterable(_count_batch([one], tokenizers, specials) for one in batch)]
    counted: list[tuple[_Piece[Source], FileCount | TokvizError | None]] = []
    in_order = iter(texts)
    for piece in batch:
        found: FileCount | TokvizError | None = piece.failure
        if isinstance(piece.data, bytes):
            text, changes = next(in_order), [*map(Changes, tokenizers)]
            for change in changes:
                change.add(text)
            found = FileCount(len(piece.data), len(text), next(counts), _notes(changes))
        elif piece.data is not None:
            try:
                found = count_blocks(piece.data, tokenizers, specials)
            except TokvizError as error:
                found = error
        counted.append((piece, found))
    return counted


def _notes(changes: Iterable[Changes]) -> tuple[str, ...]:
    return tuple(filter(None, (change.note for change in changes)))


class CountTree:
    """Counts of files, summed by folder.

    Attributes:
        path: The path of the file or folder.
        name: Its name.
        count: The counts, for a folder those of all files in it.
        n_files: Number of files in it; 0 for a file.
        children: Files and folders in it, most tokens first.
    """

    def __init__(self, path: str, count: FileCount) -> None:
        """Create a tree without children."""
        self.path, self.name, self.count = path, os.path.basename(path) or path, count
        self.n_files = 0
        self.children: list[CountTree] = []

    def rows(
        self, is_open: Callable[[CountTree], bool] = lambda folder: True
    ) -> Iterator[tuple[int, CountTree]]:
        """Yield the folder and everything in it with their depths, without closed folders."""
        stack = [(0, self)]
        while stack:
            depth, node = stack.pop()
            yield depth, node
            if is_open(node):
                stack += [(depth + 1, child) for child in reversed(node.children)]


def count_tree(counts: Iterable[tuple[str, FileCount]], root: str = "") -> CountTree:
    """Sum the counts of files by folder.

    Args:
        counts: The files with their counts, at least one.
        root: A folder that contains all of them; by default the deepest one.
    """
    files = {os.path.normpath(path): count for path, count in counts}
    if not root:
        with suppress(ValueError):  # absolute and relative paths
            root = os.path.commonpath([*map(os.path.dirname, files)])
    root = os.path.normpath(root).removeprefix(os.curdir) if root != os.pardir else root
    zero = FileCount.zero(len(next(iter(files.values())).n_tokens))
    folders = {root: CountTree(root, zero)}
    for path, count in files.items():
        node, is_new = CountTree(path, count), True
        while node.path != root:
            above = os.path.dirname(node.path)
            above = root if above == node.path else above
            child, was_new = node, is_new
            is_new = above not in folders
            node = folders.setdefault(above, CountTree(above, zero))
            if was_new:
                node.children.append(child)
            node.count, node.n_files = node.count.plus(count), node.n_files + 1
    for folder in folders.values():
        folder.children.sort(key=lambda child: (-child.count.n_tokens[0], child.path))
    return folders[root]
