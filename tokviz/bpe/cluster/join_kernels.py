"""The compiled loop that finds which pieces of a part were new in a table."""

from __future__ import annotations

from tokviz.bpe.counting_kernels import Table
from tokviz.compiled import Int64s, helper, kernel


@kernel
def places_of_new(
    part: Table, places: Int64s, table: Table, first: int, last: int, new: Int64s
) -> int:
    """Note the places of the pieces that a table has just taken from a part, in the part's order.

    Args:
        part: The part's pieces.
        places: Where each of them occurs first.
        table: Where they were added.
        first: The first of those that were new.
        last: Behind the last of them.
        new: Receives their places.

    Returns:
        How many pieces of the part were looked at.
    """
    piece = 0
    for number in range(first, last):
        while not _is(part, piece, table, number):
            piece += 1
        new[number - first] = places[piece]
        piece += 1
    return piece


@helper
def _is(one: Table, piece: int, other: Table, number: int) -> int:
    """Tell whether pieces of two tables are the same."""
    at_one, at_other = one.offsets[piece], other.offsets[number]
    length = one.offsets[piece + 1] - at_one
    if other.offsets[number + 1] - at_other != length:
        return 0
    for i in range(length):
        if one.data[at_one + i] != other.data[at_other + i]:
            return 0
    return 1
