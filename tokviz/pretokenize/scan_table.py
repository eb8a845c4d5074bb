"""The table of the compiled scanners: `python -m tokviz.pretokenize.scan_table` stores it.

Flags instead of classes: one bit test answers "may this character go on the run?". The table is
stored as it is used, so that nothing is built at start, and in two levels, so that the part that
common text needs stays in the processor's nearest cache:

| at | bytes | content |
|---|---|---|
| 0 | 256 | the flags of each byte, for ASCII |
| PAGES_AT | 8,704 | for each page of 128 code points, which of the different pages it is |
| FLAGS_AT | 128 n | the n different pages: the flags of each code point, 0 for a surrogate |
"""

from __future__ import annotations

from functools import lru_cache

from tokviz.assets import asset_path
from tokviz.pretokenize.unicode_classes import CLASSES, N_CODE_POINTS, stored_classes

TABLE = "unicode/tiktoken_flags.bin"

UPPER, LOWER, CASELESS, MARK, NUMBER, SPACE, SYMBOL = (1 << bit for bit in range(7))
"""Lu and Lt; Ll; Lm and Lo; M; N; White_Space; all other characters."""

NOT_ASCII = 128
"""Flag of the bytes 0x80 to 0xFF: the character they belong to must be decoded first."""

PAGE_BITS = 7
PAGE_SIZE = 1 << PAGE_BITS
PAGES_AT = 256
FLAGS_AT = PAGES_AT + N_CODE_POINTS // PAGE_SIZE

_FLAGS = {
    "Lu": UPPER,
    "Lt": UPPER,
    "Ll": LOWER,
    "Lm": CASELESS,
    "Lo": CASELESS,
    "M": MARK,
    "N": NUMBER,
    "White_Space": SPACE,
    "P": SYMBOL,
    "S": SYMBOL,
}


def flags_of_code_points() -> bytearray:
    """Give the flags of every code point, from the table of classes; 0 for surrogates."""
    flags = stored_classes().translate(
        bytes([SYMBOL, *(_FLAGS[name] for name in CLASSES)]).ljust(256, b"\0")
    )
    flags[0xD800:0xE000] = bytes(0x800)
    return flags


def render_table() -> bytes:
    """Render the stored form.

    Raises:
        OverflowError: If there are more than 256 different pages.
    """
    flags = bytes(flags_of_code_points())
    pages = [flags[first : first + PAGE_SIZE] for first in range(0, len(flags), PAGE_SIZE)]
    index_of = {page: index for index, page in enumerate(dict.fromkeys(pages))}
    if len(index_of) > 256:
        raise OverflowError(f"{len(index_of)} different pages do not fit an index of one byte")
    of_byte = flags[:128] + bytes([NOT_ASCII]) * 128
    return of_byte + bytes(index_of[page] for page in pages) + b"".join(index_of)


@lru_cache(maxsize=1)
def scan_table() -> bytes:
    """Load the stored table."""
    return asset_path(TABLE).read_bytes()


if __name__ == "__main__":
    asset_path(TABLE).write_bytes(render_table())
