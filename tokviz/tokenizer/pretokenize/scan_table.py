"""The table of character flags for the compiled scanners.

With flags instead of classes, one bit test decides whether a character continues a run. The table
is stored as it is used, so that nothing is built at start, and in two levels, so that the part that
common text needs stays in the processor's nearest cache. `python -m
tests.tokenizer.pretokenize.tables` makes it:

| at | bytes | content |
|---|---|---|
| 0 | 256 | the flags of each byte, for ASCII |
| PAGES_AT | 8,704 | for each page of 128 code points, the index of its distinct page |
| FLAGS_AT | 128 n | the n distinct pages: the flags of each code point, 0 for a surrogate |
"""

from __future__ import annotations

from functools import lru_cache

from tokviz.storage.assets import asset_path
from tokviz.tokenizer.pretokenize.unicode_classes import N_CODE_POINTS

TABLE = "unicode/tiktoken_flags.bin"

UPPER, LOWER, CASELESS, MARK, NUMBER, SPACE, SYMBOL = (1 << bit for bit in range(7))
"""Lu and Lt; Ll; Lm and Lo; M; N; White_Space; all other characters."""

NOT_ASCII = 128
"""Flag of the bytes 0x80 to 0xFF: the character they belong to must be decoded first."""

PLAIN = 128
"""Second flag of a SYMBOL that is neither punctuation nor a symbol: control characters, unassigned
code points … (So no character has the same flags as a byte from 0x80 on.)"""

PAGE_BITS = 7
PAGE_SIZE = 1 << PAGE_BITS
PAGES_AT = 256
FLAGS_AT = PAGES_AT + N_CODE_POINTS // PAGE_SIZE


@lru_cache(maxsize=1)
def scan_table() -> bytes:
    """Load the stored table."""
    return asset_path(TABLE).read_bytes()
