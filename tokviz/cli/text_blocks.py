"""Cutting a long input into blocks that can be encoded one by one, with the same tokens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

from tokviz.errors import TokvizError
from tokviz.live.cuts import CutRule, cut_rule
from tokviz.storage.files import MAX_FILE_BYTES
from tokviz.text import bytetext
from tokviz.text.sentences import pluralize

if TYPE_CHECKING:
    from tokviz.tokenizer.tokenizer import Tokenizer

_BLOCK_CHARS = 1 << 18

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class InputCounts:
    """What has been read of an input; a byte that is not valid UTF-8 is one character.

    Attributes:
        n_bytes: Its bytes.
        n_chars: Its characters.
        n_tokens: Its tokens.
        note: What there is to say of them.
    """

    n_bytes: int = 0
    n_chars: int = 0
    n_tokens: int = 0
    note: str = ""

    def __iadd__(self, other: InputCounts) -> InputCounts:
        """Add what has been read of another, or of another part of it."""
        self.n_bytes += other.n_bytes
        self.n_chars += other.n_chars
        self.n_tokens += other.n_tokens
        self.note = other.note or self.note
        return self

    @property
    def bytes_per_token(self) -> float | None:
        """The compression ratio, None if there are no tokens."""
        return self.n_bytes / self.n_tokens if self.n_tokens else None


def text_blocks(
    blocks: Iterable[bytes],
    tokenizer: Tokenizer,
    *,
    parse_specials: bool | Literal["huggingface"],
    counts: InputCounts,
    block_chars: int = _BLOCK_CHARS,
) -> Iterator[str]:
    """Decode bytes to byte text and cut it where a pre-token ends in any case.

    The tokens of the blocks, one after another, are the tokens of the whole. Memory is bounded by
    the block size and by the longest stretch without a safe cut. At the end `counts` has a note if
    the tokenizer has changed the text.

    Args:
        blocks: The input's bytes.
        tokenizer: The tokenizer that will encode the blocks.
        parse_specials: Whether it will parse special tokens (none may be cut in two).
        counts: Its bytes and characters grow with what has been read.
        block_chars: Characters that a block has at least, but for the last.

    Raises:
        TokvizError: If a stretch without a safe cut is larger than memory should hold.
    """
    changed, n_replaced = False, 0
    for block in _cut(blocks, cut_rule(tokenizer, bool(parse_specials)), counts, block_chars):
        changed = changed or tokenizer.changes(block)
        if tokenizer.remote:  # takes characters only
            n_replaced += bytetext.n_raw_bytes(block)
        yield block
    if changed:
        counts.note = composes(tokenizer)
    elif n_replaced:
        verb = "is" if n_replaced == 1 else "are"
        counts.note = (
            f"note: {pluralize(n_replaced, 'byte')} {verb} not valid UTF-8: {tokenizer.name} "
            "encodes U+FFFD instead"
        )


def composes(tokenizer: Tokenizer) -> str:
    """Say that a tokenizer has changed the text."""
    return f"note: {tokenizer.name} composes the text first (NFC): its ids give another text"


def one_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int = 1
) -> Iterator[Result]:
    """Work on items in threads, while the next one is made here; give the results in order."""
    from concurrent.futures import ThreadPoolExecutor

    items = iter(items)
    with ThreadPoolExecutor(n_threads) as threads:
        going = deque(threads.submit(work, item) for item in islice(items, n_threads))
        for item in items:
            going.append(threads.submit(work, item))
            yield going.popleft().result()
        yield from (one.result() for one in going)


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
        # What comes later can still change whether a place near the end is a safe cut.
        n_known = len(joined) - rule.reach
        *whole, rest = rule.split(joined, block_chars, max(n_searched, block_chars), n_known)
        yield from whole
        if len(rest) > MAX_FILE_BYTES:
            raise TokvizError(
                f"more than {MAX_FILE_BYTES:,} characters without a place where a pre-token "
                f"surely ends"
            )
        gathered, n_gathered = [rest], len(rest)
        n_searched = 0 if whole else n_known
        # Doubling keeps the work linear where there is no cut for long.
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
