"""The compiled scanner by itself, as a kernel of its own: in the product it is part of counting."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from tokviz.compiled import Bytes, Int64s, kernel
from tokviz.pretokenize.scan import Scanner
from tokviz.pretokenize.scan_kernels import find_pieces
from tokviz.pretokenize.scan_table import scan_table

BATCH = 1 << 10
"""How many pieces are found at a time."""


@kernel
def scan(
    data: Bytes,
    starts: Int64s,
    ends: Int64s,
    n_texts: int,
    is_open: int,
    family: int,
    max_digits: int,
    table: Bytes,
    reached: Int64s,
    pieces: Int64s,
    most: int,
) -> int:
    """Find pieces: see `find_pieces`."""
    return find_pieces(
        data, starts, ends, n_texts, is_open, family, max_digits, table, reached, pieces, most
    )


def batches(
    scanner: Scanner,
    data: bytes,
    starts: Sequence[int],
    ends: Sequence[int],
    *,
    is_open: bool = False,
) -> Iterator[list[tuple[int, int]]]:
    """Cut the texts at `starts` to `ends`; yields where pieces start and end in `data`.

    If `is_open`, the last text goes on after its end here; its last piece may then be missing, and
    comes when its bytes are scanned again together with more.
    """
    if not starts:
        return
    places = array("q", starts), array("q", ends), len(starts), int(is_open)
    kind = scanner.family_number, scanner.max_digits, scan_table()
    reached = array("q", [0, starts[0]])
    pieces = array("q", bytes(16 * BATCH))
    n_found = BATCH
    while n_found == BATCH:
        n_found = scan(data, *places, *kind, reached, pieces, BATCH)
        yield list(zip(pieces[: 2 * n_found : 2], pieces[1 : 2 * n_found : 2], strict=True))


def pieces_of(scanner: Scanner, data: bytes) -> list[bytes]:
    """Cut a whole text into its pieces."""
    return [data[a:b] for batch in batches(scanner, data, [0], [len(data)]) for a, b in batch]
