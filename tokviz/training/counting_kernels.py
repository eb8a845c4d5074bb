"""Hash table of pre-tokens: open addressing, with the bytes of the pre-tokens in order.

Arrays do not grow here: a kernel returns when an array is full, and the caller enlarges it.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel, prefetch, word
from tokviz.tokenizer.pretokenize.character_kernels import decode, load_word
from tokviz.tokenizer.pretokenize.pre_token_keys import (
    MIXER,
    WORD,
    key_of,
    same,
    shift_for,
    slot_of,
)
from tokviz.tokenizer.pretokenize.scan_kernels import N_BYTES, N_TEXTS, Texts, find_pre_tokens

DONE, PAUSED, FULL = range(3)
"""Reasons why a kernel returned."""

_HIGHEST = 0x8080808080808080

_AHEAD = 8
"""How many pre-tokens ahead slots are prefetched."""

(
    N_UNIQUE,
    N_SLOTS,
    MOST_PRE_TOKENS,
    MOST_BYTES,
    WANTED_BYTES,
    N_NUMBERS,
) = range(6)
"""The indexes of `Table.numbers`."""

TEXT, POSITION = range(2)
"""The indexes of `Table.reached`."""

BATCH = 512
"""How many pre-tokens are looked up at once."""


class Table(NamedTuple):
    """Pre-tokens and their counts.

    Attributes:
        slots: Shape (a power of two, 2): a pre-token's key and its index plus one, 0 for a free
            slot. At least a quarter of them is free, because there is room for fewer pre-tokens.
        counts: Number of occurrences of each pre-token, by index.
        offsets: Start of each pre-token in `data`; each ends where the next one starts.
        data: The bytes of all pre-tokens, in the order of their first occurrence.
        numbers: The number of pre-tokens and slots, the capacity for pre-tokens and bytes, and the
            length of the pre-token that did not fit.
        reached: The index of the next text, and the position in it.
        pre_tokens: Shape (BATCH, 2): start and end of the pre-tokens of the current batch.
        keys: Their keys.
    """

    slots: Int64s
    counts: Int64s
    offsets: Int64s
    data: Bytes
    numbers: Int64s
    reached: Int64s
    pre_tokens: Int64s
    keys: Int64s


@kernel
def count_texts(texts: Texts, table: Table, budget: int) -> int:
    """Count the pre-tokens of texts, up to about `budget` bytes or until an array is full.

    Args:
        texts: The texts. If the last one is open, its undecided rest starts at the position in
            `table.reached`.
        table: The table, with the position to start from.
        budget: Number of bytes after which to return.
    """
    source = texts.data
    n_bytes = texts.numbers[N_BYTES]
    shift = shift_for(table.numbers[N_SLOTS])
    reached = table.reached
    pre_tokens = table.pre_tokens
    while budget > 0:
        before = reached[POSITION]
        n_found = find_pre_tokens(texts, reached, pre_tokens, BATCH)
        # The table exceeds the processor's caches, so prefetch the slots of the whole batch.
        for i in range(n_found):
            start = pre_tokens[2 * i]
            key = key_of(source, n_bytes, start, pre_tokens[2 * i + 1] - start)
            table.keys[i] = integer(key)
            prefetch(table.slots, 2 * slot_of(key, shift))
        for i in range(n_found):
            entry = table.slots[2 * slot_of(word(table.keys[i]), shift) + 1]
            prefetch(table.counts, entry - 1)
            prefetch(table.offsets, entry - 1)
        for i in range(n_found):
            start = pre_tokens[2 * i]
            key = word(table.keys[i])
            if not _add(table, shift, key, source, start, pre_tokens[2 * i + 1] - start, 1):
                _rewind(reached, start, texts.starts, texts.numbers[N_TEXTS])
                return FULL
        if n_found < BATCH:
            return DONE
        budget -= abs(reached[POSITION] - before)
    return PAUSED


@helper
def _rewind(reached: Int64s, position: int, starts: Int64s, n_texts: int) -> None:
    """Move the current position back to the start of a pre-token."""
    text = reached[TEXT]
    while text == n_texts or starts[text] > position:
        text -= 1
    reached[TEXT] = text
    reached[POSITION] = position


@kernel
def add_pre_tokens(other: Table, first: int, last: int, table: Table) -> int:
    """Add the pre-tokens `first` to `last` of another table, until an array is full.

    The index of each added pre-token in this table replaces its count in the other table.

    Returns:
        The next pre-token to add.
    """
    shift = shift_for(table.numbers[N_SLOTS])
    n_bytes = other.offsets[other.numbers[N_UNIQUE]]
    for pre_token in range(first, last):
        _prefetch_slot(other, min(pre_token + _AHEAD, last - 1), table, shift)
        start = other.offsets[pre_token]
        length = other.offsets[pre_token + 1] - start
        key = key_of(other.data, n_bytes, start, length)
        entry = _add(table, shift, key, other.data, start, length, other.counts[pre_token])
        if entry == 0:
            return pre_token
        other.counts[pre_token] = entry - 1
    return last


@kernel
def find_buckets(data: Bytes, offsets: Int64s, n: int, n_buckets: int, buckets: Int32s) -> None:
    """Assign each pre-token to a bucket that depends only on its bytes.

    Args:
        data: The bytes of the pre-tokens, concatenated.
        offsets: The start of each pre-token, then the end of the last one.
        n: Number of pre-tokens.
        n_buckets: Number of buckets, at most 65,536.
        buckets: Receives the bucket of each pre-token.
    """
    for pre_token in range(n):
        start = offsets[pre_token]
        key = key_of(data, offsets[n], start, offsets[pre_token + 1] - start)
        # The table uses other bits of the key, otherwise a bucket's pre-tokens would cluster there.
        buckets[pre_token] = (integer((key * MIXER) >> 40) * n_buckets) >> 24


@kernel
def take_pre_tokens(data: Bytes, offsets: Int64s, order: Int64s, n: int, taken: Bytes) -> None:
    """Concatenate the bytes of some pre-tokens in the given order."""
    end = 0
    for i in range(n):
        for at in range(offsets[order[i]], offsets[order[i] + 1]):
            taken[end] = data[at]
            end += 1


@kernel
def take_new(counts: Int64s, n: int, before: Int64s, pre_tokens: Int32s, times: Int64s) -> int:
    """Find the pre-tokens that were counted since the previous call.

    Args:
        counts: The count of each pre-token.
        n: Number of pre-tokens.
        before: The counts at the previous call, 0 for new pre-tokens; updated.
        pre_tokens: Receives the indexes of the pre-tokens.
        times: Receives the increase of their counts.

    Returns:
        The number of these pre-tokens.
    """
    n_found = 0
    for pre_token in range(n):
        if counts[pre_token] != before[pre_token]:
            pre_tokens[n_found] = pre_token
            times[n_found] = counts[pre_token] - before[pre_token]
            before[pre_token] = counts[pre_token]
            n_found += 1
    return n_found


@kernel
def renumber(pre_tokens: Int32s, n: int, places: Int64s) -> None:
    """Replace indexes of pre-tokens by their indexes in another table."""
    for i in range(n):
        pre_tokens[i] = places[pre_tokens[i]]


@kernel
def rehash(slots: Int64s, n_slots: int, larger: Int64s, n_larger: int) -> None:
    """Copy the entries of a hash table into a larger, empty one."""
    mask = n_larger - 1
    shift = shift_for(n_larger)
    for old in range(n_slots):
        if slots[2 * old + 1] == 0:
            continue
        new = slot_of(word(slots[2 * old]), shift)
        while larger[2 * new + 1] != 0:
            new = (new + 1) & mask
        larger[2 * new] = slots[2 * old]
        larger[2 * new + 1] = slots[2 * old + 1]


@kernel
def measure(
    data: Bytes,
    offsets: Int64s,
    counts: Int64s,
    n: int,
    table: Bytes,
    lengths: Int64s,
    sums: Int64s,
) -> int:
    """Count the characters of all occurrences, and their bytes that are not UTF-8.

    Args:
        data: The bytes of the pre-tokens, concatenated.
        offsets: The start of each pre-token, then the end of the last one.
        counts: Number of occurrences of each pre-token.
        n: Number of pre-tokens.
        table: The flags of all characters, from `scan_table`.
        lengths: Receives the number of bytes of each pre-token.
        sums: Receives the number of characters (including invalid bytes), of invalid bytes, and of
            occurrences.

    Returns:
        The number of bytes of all occurrences.
    """
    n_bytes = 0
    n_chars = 0
    n_invalid = 0
    n_occurrences = 0
    end_of_ascii = 0
    for pre_token in range(n):
        position = offsets[pre_token]
        end = offsets[pre_token + 1]
        n_occurrences += counts[pre_token]
        lengths[pre_token] = end - position
        n_bytes += counts[pre_token] * lengths[pre_token]
        if end_of_ascii < position:
            end_of_ascii = _ascii(data, position, offsets[n])
        if end <= end_of_ascii:
            n_chars += counts[pre_token] * lengths[pre_token]
            continue
        while position < end:
            n_chars += counts[pre_token]
            if data[position] < 0x80:
                position += 1
                continue
            _, width = decode(data, position, end, table)
            if width == 1:
                n_invalid += counts[pre_token]
            position += width
    sums[0] = n_chars
    sums[1] = n_invalid
    sums[2] = n_occurrences
    return n_bytes


@helper
def _prefetch_slot(other: Table, pre_token: int, table: Table, shift: int) -> None:
    """Prefetch the slot that a look-up of another table's pre-token will need."""
    start = other.offsets[pre_token]
    n_bytes = other.offsets[other.numbers[N_UNIQUE]]
    key = key_of(other.data, n_bytes, start, other.offsets[pre_token + 1] - start)
    prefetch(table.slots, 2 * slot_of(key, shift))


@helper
def _ascii(data: Bytes, at: int, end: int) -> int:
    """Return the end of a run of ASCII bytes, comparing eight at a time."""
    while at + WORD <= end and not load_word(data, at) & word(_HIGHEST):
        at += WORD
    while at < end and data[at] < 0x80:
        at += 1
    return at


@helper
def _find(table: Table, shift: int, key: int, source: Bytes, start: int, length: int) -> int:
    """Find the slot of a pre-token, or the free slot for it."""
    mask = table.numbers[N_SLOTS] - 1
    slot = slot_of(key, shift)
    while True:
        entry = table.slots[2 * slot + 1]
        if entry == 0:
            return slot
        if word(table.slots[2 * slot]) == key and (
            length < WORD
            or (
                table.offsets[entry] - table.offsets[entry - 1] == length
                and same(source, start, table.data, table.offsets[entry - 1], length)
            )
        ):
            return slot
        slot = (slot + 1) & mask


@helper
def _add(
    table: Table, shift: int, key: int, source: Bytes, start: int, length: int, times: int
) -> int:
    """Count a pre-token, and return its index plus one; 0 if the table is full."""
    numbers = table.numbers
    offsets = table.offsets
    slot = _find(table, shift, key, source, start, length)
    entry = table.slots[2 * slot + 1]
    if entry > 0:
        table.counts[entry - 1] += times
        return entry
    n_unique = numbers[N_UNIQUE]
    kept = offsets[n_unique]
    if n_unique == numbers[MOST_PRE_TOKENS] or kept + length > numbers[MOST_BYTES]:
        numbers[WANTED_BYTES] = length
        return 0
    for i in range(length):
        table.data[kept + i] = source[start + i]
    table.counts[n_unique] = times
    offsets[n_unique + 1] = kept + length
    table.slots[2 * slot] = integer(key)
    table.slots[2 * slot + 1] = n_unique + 1
    numbers[N_UNIQUE] = n_unique + 1
    return n_unique + 1
