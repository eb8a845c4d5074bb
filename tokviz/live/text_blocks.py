"""Cutting of a long input into blocks that can be encoded one by one without changing tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal, TypeVar

from tokviz.errors import TokvizError
from tokviz.live.cuts import CutRule, cut_rule
from tokviz.process.limits import n_processors
from tokviz.storage.files import MAX_FILE_BYTES
from tokviz.text import bytetext
from tokviz.text.sentences import pluralize
from tokviz.tokenizer.tokenizer import Tokenizer

_BLOCK_CHARS = 1 << 18

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class InputCounts:
    """Counts of the read part of an input. A byte that is not valid UTF-8 counts as one character.

    Attributes:
        n_bytes: Number of bytes.
        n_chars: Number of characters.
        n_tokens: Number of tokens.
        note: A message about changes of the text; may be empty.
        n_replaced: Number of bytes that are encoded as U+FFFD.
    """

    n_bytes: int = 0
    n_chars: int = 0
    n_tokens: int = 0
    note: str = ""
    n_replaced: int = 0

    def __iadd__(self, other: InputCounts) -> InputCounts:
        """Add the counts of another input, or of another part."""
        self.n_bytes += other.n_bytes
        self.n_chars += other.n_chars
        self.n_tokens += other.n_tokens
        self.note = other.note or self.note
        self.n_replaced += other.n_replaced
        return self

    @property
    def bytes_per_token(self) -> float | None:
        """Average number of bytes per token; None if there is no token."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None


def text_blocks(
    blocks: Iterable[bytes],
    tokenizer: Tokenizer,
    *,
    parse_specials: bool | Literal["huggingface"],
    counts: InputCounts,
    block_chars: int = _BLOCK_CHARS,
) -> Iterator[str]:
    """Decode bytes to byte text and cut it at safe cuts, where a pre-token ends in any context.

    The tokens of the blocks, joined, are the tokens of the whole text. Memory is bounded by the
    block size and by the longest stretch without a safe cut. At the end, `counts` has a note if
    the tokenizer changes the text.

    Args:
        blocks: The input's bytes.
        tokenizer: The tokenizer that will encode the blocks.
        parse_specials: Whether it will recognize special tokens, which must not be cut.
        counts: Updated with the bytes and characters that have been read.
        block_chars: Minimum number of characters of every block but the last.

    Raises:
        TokvizError: If a stretch without a safe cut is too large.
    """
    changed, n_replaced = False, 0
    for block in _cut(blocks, cut_rule(tokenizer, bool(parse_specials)), counts, block_chars):
        changed = changed or tokenizer.byte_text.changes(block)
        if tokenizer.remote:  # it has no tokens for such bytes
            n_replaced += bytetext.n_raw_bytes(block)
        yield block
    notes = [nfc_note(tokenizer)] if changed else []
    if n_replaced:
        verb = "is" if n_replaced == 1 else "are"
        notes.append(
            f"note: {pluralize(n_replaced, 'byte')} {verb} not valid UTF-8: {tokenizer.name} "
            "encodes U+FFFD instead"
        )
    counts.note, counts.n_replaced = "\n".join(notes), n_replaced


def count_blocks(
    data: Iterable[bytes], tokenizer: Tokenizer, parse_specials: bool | Literal["huggingface"]
) -> InputCounts:
    """Count a text in bounded memory."""
    counts = InputCounts()
    blocks = text_blocks(data, tokenizer, parse_specials=parse_specials, counts=counts)

    def count(text: str) -> int:
        return len(tokenizer.byte_text.encode(text, parse_specials))

    # Threads take longer to start than a short text to encode.
    counts.n_tokens = sum(map(count, islice(blocks, 1)))
    if (second := next(blocks, None)) is not None:
        # A child process that splits text handles one block at a time.
        n_threads = 1 if tokenizer.in_child else max(n_processors(), 1)
        counts.n_tokens += sum(map_ahead(count, chain([second], blocks), n_threads))
    return counts


def nfc_note(tokenizer: Tokenizer) -> str:
    """Return the message that a tokenizer has normalized the text."""
    return (
        f"note: {tokenizer.name} normalizes the text ({tokenizer.normalizer.name}): "
        "its ids decode to another text"
    )


def map_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int = 1
) -> Iterator[Result]:
    """Process items in threads while this thread creates the next one; yield results in order."""
    from concurrent.futures import ThreadPoolExecutor  # only needed here, and slow to import

    items = iter(items)
    with ThreadPoolExecutor(n_threads) as threads:
        running = deque(threads.submit(work, item) for item in islice(items, n_threads))
        for item in items:
            running.append(threads.submit(work, item))
            yield running.popleft().result()
        yield from (future.result() for future in running)


def _cut(
    blocks: Iterable[bytes], rule: CutRule, counts: InputCounts, block_chars: int
) -> Iterator[str]:
    gathered: list[str] = []
    n_gathered, n_searched, wanted = 0, 0, 2 * block_chars
    for text in _decoded(blocks, counts):
        gathered.append(text)
        n_gathered += len(text)
        if n_gathered < wanted:
            continue
        joined = "".join(gathered)
        # Text that follows can still make a cut near the end unsafe.
        n_known = len(joined) - rule.reach
        *whole, rest = rule.split(joined, block_chars, max(n_searched, block_chars), n_known)
        yield from whole
        if len(rest) > MAX_FILE_BYTES:
            raise TokvizError(
                f"more than {MAX_FILE_BYTES:,} characters without a safe place to cut the text"
            )
        gathered, n_gathered = [rest], len(rest)
        n_searched = 0 if whole else n_known
        # Doubling keeps the work linear in long stretches without a cut.
        wanted = 2 * max(block_chars, n_gathered)
    if n_gathered:
        yield "".join(gathered)


def _decoded(blocks: Iterable[bytes], counts: InputCounts) -> Iterator[str]:
    def counting() -> Iterator[bytes]:
        for block in blocks:
            counts.n_bytes += len(block)
            yield block

    for text in bytetext.from_blocks(counting()):
        counts.n_chars += len(text)
        yield text
