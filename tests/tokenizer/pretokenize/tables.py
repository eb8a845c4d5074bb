r"""Make the tables of character classes below assets/unicode: `python -m
tests.tokenizer.pretokenize.tables`.

That of the scanners is made from the one of tiktoken's classes.

tiktoken keeps only what its split pattern matches, so an encoder of single bytes with the pattern
`\p{L}` returns exactly the letters among all code points.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby

from tokviz.storage.assets import asset_path
from tokviz.tokenizer.pretokenize import scan_table, unicode_classes
from tokviz.tokenizer.pretokenize.scan_table import (
    CASELESS,
    LOWER,
    MARK,
    NOT_ASCII,
    NUMBER,
    PAGE_SIZE,
    PLAIN,
    SPACE,
    SYMBOL,
    UPPER,
)
from tokviz.tokenizer.pretokenize.unicode_classes import CLASSES, N_CODE_POINTS, stored_classes


@cache
def code_points_of(class_name: str) -> list[int]:
    """Return the code points that tiktoken puts into a Unicode class, ascending."""
    import tiktoken

    encoding = tiktoken.Encoding(
        "probe",
        pat_str=rf"\p{{{class_name}}}",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={},
    )
    everything = "".join(chr(code) for code in range(N_CODE_POINTS) if not 0xD800 <= code <= 0xDFFF)
    return [ord(char) for char in bytes(encoding.encode_ordinary(everything)).decode()]


def _ranges(codes: list[int]) -> Iterator[tuple[int, int]]:
    for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        members = [code for _, code in run]
        yield members[0], members[-1]


def render_classes() -> str:
    """Render the table: a line `first-last class` for every run of code points, in hex."""
    rows = [
        (first, last, name) for name in CLASSES for first, last in _ranges(code_points_of(name))
    ]
    lines = [
        f"{first:X} {name}" if first == last else f"{first:X}-{last:X} {name}"
        for first, last, name in sorted(rows)
    ]
    head = "# Character classes as tiktoken sees them: python -m tests.tokenizer.pretokenize.tables"
    return "\n".join([head, *lines, ""])


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
    """Return the flags of every code point, from the table of classes; 0 for surrogates."""
    flags = stored_classes().translate(
        bytes([SYMBOL | PLAIN, *(_FLAGS[name] for name in CLASSES)]).ljust(256, b"\0")
    )
    flags[0xD800:0xE000] = bytes(0x800)
    return flags


def render_flags() -> bytes:
    """Render the table of the scanners.

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


if __name__ == "__main__":
    asset_path(unicode_classes.TABLE).write_text(render_classes(), "ascii")
    asset_path(scan_table.TABLE).write_bytes(render_flags())
