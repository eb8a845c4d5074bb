"""Compiled encoding: pre-tokens from the scanner, a cache of their tokens, merging for the rest.

Natural text repeats its pre-tokens: 19 of 20 are found in a cache of a few megabytes. The cache
stores a pre-token of up to 15 bytes and 6 tokens in 32 bytes, two per line of the processor's
cache: a new one takes the second slot, and moves to the first when it is found again. A longer one
is stored in a pool and found by a hash.

Merging handles the parts between places that no token can span separately, because Chinese and
Japanese pre-tokens are long and their parts repeat.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int32s, Int64s, helper, integer, kernel, prefetch, word
from tokviz.tokenizer.encoding.merge_kernels import Scratch, merge
from tokviz.tokenizer.encoding.vocabulary_kernels import (
    LEAD,
    NEVER,
    SPARSE,
    WHOLE,
    Vocabulary,
    find,
    is_cut,
)
from tokviz.tokenizer.pretokenize.character_kernels import load_word
from tokviz.tokenizer.pretokenize.pre_token_keys import GOLDEN, MIXER, key_of, same, slot_of
from tokviz.tokenizer.pretokenize.scan_kernels import N_BYTES, N_TEXTS, Texts, find_pre_tokens

DONE, FULL, LONG, MISSING = range(4)
"""Why the kernel returned: done; the arrays are full; a pre-token is longer than they are; a byte
has no token."""

(
    TEXT,
    POSITION,
    AT_TEXT,
    N_IDS,
    N_PRE_TOKENS,
    N_BEFORE,
    BYTES_BEFORE,
    WANTED,
    ROOM,
    POOL_END,
    POOL_SIZE,
    LINE_SHIFT,
    HASH_SHIFT,
    N_STATE,
) = range(14)
"""Indexes into `Work.state`."""

BATCH = 256
"""Number of pre-tokens looked up together."""

ID_BITS = 20
"""Maximum number of bits of a token's place: three places and their count share one word."""

MOST_IDS = 6
SHORT_PRE_TOKEN, LONG_PRE_TOKEN = 16, 256
_THREE = 3
_ID = (1 << ID_BITS) - 1
_COUNT_AT = 60
_PART = 0x40  # marks the key of a part of a pre-token: a part that is a token may still be merged
_NOT_ASCII = 0x80
_LINE = 8  # words of two slots
_SLOT = 4


class Work(NamedTuple):
    """State of one thread besides the vocabulary.

    Attributes:
        lines: Cache of short pre-tokens: lines of two slots with key and tokens, two words each.
        hashes: Cache of long pre-tokens: hash and position in the pool, 0 for none.
        pool: At each position: length, number of tokens, the tokens, the bytes.
        pool_bytes: The same memory.
        pre_tokens: Starts and ends of the pre-tokens of a batch.
        keys: For each pre-token, a key of two words and where to look for it.
        masks: For each length of a short pre-token, which bits of two words belong to it.
        ids: Receives the ids.
        token_ends: Receives the end of each token.
        pre_token_ends: Receives the end of each pre-token.
        state: The text and position to continue at; the text being encoded; the number of ids and
            pre-tokens; the number of ids before them; the number of bytes before the texts'
            memory, from which ends are counted; the length of the pre-token that does not fit, or
            the position of the byte without a token; the capacity for ids; the free position in
            the pool; its size; the shifts of keys for lines and hashes.
    """

    lines: Int64s
    hashes: Int64s
    pool: Int32s
    pool_bytes: Bytes
    pre_tokens: Int64s
    keys: Int64s
    masks: Int64s
    ids: Int32s
    token_ends: Int64s
    pre_token_ends: Int64s
    state: Int64s


@helper
def _short_key(work: Work, source: Bytes, n_bytes: int, start: int, length: int) -> tuple[int, int]:
    """Return the key of a short pre-token: its bytes and its length."""
    if start + SHORT_PRE_TOKEN <= n_bytes:
        first = load_word(source, start) & word(work.masks[2 * length])
        second = load_word(source, start + 8) & word(work.masks[2 * length + 1])
    else:
        first = word(0)
        second = word(0)
        for k in range(length):
            if k < 8:
                first |= word(source[start + k]) << 8 * k
            else:
                second |= word(source[start + k]) << 8 * (k - 8)
    return first, second | word(length) << 56


@helper
def _line_of(first: int, second: int, shift: int) -> int:
    mixed = (first * GOLDEN) ^ (second * MIXER)
    mixed ^= mixed >> 29
    return _LINE * integer((mixed * MIXER) >> shift)


@helper
def _cached(lines: Int64s, line: int, first: int, second: int) -> int:
    """Return a short pre-token's slot, -1 if it is not in its line; move it to the first slot."""
    if lines[line + 1] == second and lines[line] == first:
        return line
    if lines[line + _SLOT + 1] == second and lines[line + _SLOT] == first:
        for k in range(line, line + _SLOT):
            other = lines[k]
            lines[k] = lines[k + _SLOT]
            lines[k + _SLOT] = other
        return line
    return -1


@helper
def _keep_short(lines: Int64s, line: int, first: int, second: int, room: Scratch, n: int) -> None:
    """Put a short pre-token into the second slot of its line, as most do not soon recur."""
    line += _SLOT
    lines[line] = first
    lines[line + 1] = second
    tokens = word(n) << _COUNT_AT
    for k in range(min(n, _THREE)):
        tokens |= word(room.places[k]) << ID_BITS * k
    lines[line + 2] = integer(tokens)
    tokens = word(0)
    for k in range(_THREE, n):
        tokens |= word(room.places[k]) << ID_BITS * (k - _THREE)
    lines[line + 3] = integer(tokens)


@helper
def _keep_long(
    work: Work, slot: int, key: int, source: Bytes, start: int, length: int, room: Scratch, n: int
) -> None:
    """Put a long pre-token into the pool, which is cleared when it is full."""
    pool = work.pool
    state = work.state
    place = state[POOL_END]
    if place + 2 + n + LONG_PRE_TOKEN > state[POOL_SIZE]:
        for k in range(state[POOL_SIZE] >> 3):
            work.hashes[k] = 0
        place = 1
    pool[place] = length
    pool[place + 1] = n
    for k in range(n):
        pool[place + 2 + k] = room.places[k]
    at = 4 * (place + 2 + n)
    for k in range(length):
        work.pool_bytes[at + k] = source[start + k]
    state[POOL_END] = place + 2 + n + (length + 3) // 4
    work.hashes[2 * slot] = key
    work.hashes[2 * slot + 1] = place


@helper
def _merge(
    tokens: Vocabulary,
    work: Work,
    shift: int,
    source: Bytes,
    n_bytes: int,
    start: int,
    length: int,
    room: Scratch,
    whole: Scratch,
) -> int:
    """Merge a pre-token, in parts unless it is ASCII; return the number of tokens in `whole`."""
    end = start + length
    if source[end - 1] < _NOT_ASCII:
        return merge(tokens, source, n_bytes, start, length, whole)
    n = 0
    first = start
    while first < end:
        last = first + 1
        while last < end and (source[last] < LEAD or not is_cut(tokens, source, start, last, end)):
            last += 1
        size = last - first
        repeats = int(size < SHORT_PRE_TOKEN and size < length)
        slot = -1
        line = 0
        key = word(0)
        second = word(0)
        if repeats:
            key, second = _short_key(work, source, n_bytes, first, size)
            second |= word(_PART) << 56
            line = _line_of(key, second, shift)
            slot = _cached(work.lines, line, integer(key), integer(second))
        if slot >= 0:
            three = work.lines[slot + 2]
            count = (three >> _COUNT_AT) & 7
            at = first - start
            for k in range(count):
                if k == _THREE:
                    three = work.lines[slot + 3]
                place = three & _ID
                three >>= ID_BITS
                whole.places[n] = place
                whole.at[n] = at
                at += tokens.lengths[place]
                n += 1
        else:
            count = merge(tokens, source, n_bytes, first, size, room)
            missing = 0
            for k in range(count):
                whole.places[n] = room.places[k]
                whole.at[n] = first - start + room.at[k]
                missing |= integer(room.places[k]) & NEVER
                n += 1
            if repeats and count <= MOST_IDS and not missing:
                _keep_short(work.lines, line, integer(key), integer(second), room, count)
        first = last
    whole.at[n] = length
    return n


@helper
def _mark(texts: Texts, state: Int64s, start: int, n_ids: int, after: Int64s) -> None:
    """Record the number of ids after every text that ends before a pre-token."""
    text = state[AT_TEXT]
    while text < texts.numbers[N_TEXTS] and texts.ends[text] <= start:
        after[text] = state[N_BEFORE] + n_ids
        text += 1
    state[AT_TEXT] = text


@helper
def _stop(work: Work, tokens: Vocabulary, position: int, n_ids: int, n_pre_tokens: int) -> None:
    """Store the position to continue at, and replace places by ids."""
    state = work.state
    state[TEXT] = state[AT_TEXT]
    state[POSITION] = position
    state[N_IDS] = n_ids
    state[N_PRE_TOKENS] = n_pre_tokens
    if tokens.numbers[SPARSE]:
        for k in range(n_ids):
            work.ids[k] = tokens.ids[work.ids[k]]


@kernel
def encode(
    tokens: Vocabulary,
    work: Work,
    room: Scratch,
    whole: Scratch,
    texts: Texts,
    after: Int64s,
    with_ends: int,
) -> int:
    """Encode texts until all are done or the arrays are full.

    Args:
        tokens: The vocabulary.
        work: The caches and results.
        room: Memory for the longest part of a pre-token.
        whole: Memory for the longest pre-token.
        texts: The texts, ascending, none of them open.
        after: Receives the number of ids up to the end of each text, counted from the first.
        with_ends: Whether to store the ends of tokens and pre-tokens.

    Returns:
        DONE, FULL, LONG or MISSING; the last two set `state[WANTED]`.
    """
    source = texts.data
    n_bytes = texts.numbers[N_BYTES]
    state = work.state
    pre_tokens = work.pre_tokens
    keys = work.keys
    lines = work.lines
    ids = work.ids
    ends = work.token_ends
    most = state[ROOM]
    before = state[BYTES_BEFORE]
    line_shift = state[LINE_SHIFT]
    hash_shift = state[HASH_SHIFT]
    out = 0
    n_pre_tokens = 0
    n_found = BATCH
    while n_found == BATCH:
        n_found = find_pre_tokens(texts, state, pre_tokens, BATCH)
        for i in range(n_found):
            start = pre_tokens[2 * i]
            length = pre_tokens[2 * i + 1] - start
            first = word(0)
            second = word(0)
            at = 0
            if length < SHORT_PRE_TOKEN:
                first, second = _short_key(work, source, n_bytes, start, length)
                at = _line_of(first, second, line_shift)
                prefetch(lines, at)
            elif length < LONG_PRE_TOKEN:
                first = key_of(source, n_bytes, start, length)
                at = slot_of(first, hash_shift)
                prefetch(work.hashes, 2 * at)
            keys[3 * i] = integer(first)
            keys[3 * i + 1] = integer(second)
            keys[3 * i + 2] = at
        for i in range(n_found):
            start = pre_tokens[2 * i]
            end = pre_tokens[2 * i + 1]
            length = end - start
            if start >= texts.ends[state[AT_TEXT]]:
                _mark(texts, state, start, out, after)
            if out + length + MOST_IDS > most:
                _stop(work, tokens, start, out, n_pre_tokens)
                state[WANTED] = length
                return LONG if length + MOST_IDS > most else FULL
            if with_ends:
                work.pre_token_ends[n_pre_tokens] = before + end
                n_pre_tokens += 1
            first_key = keys[3 * i]
            second_key = keys[3 * i + 1]
            place = keys[3 * i + 2]
            if length < SHORT_PRE_TOKEN:
                slot = _cached(lines, place, first_key, second_key)
                if slot >= 0:
                    three = lines[slot + 2]
                    count = (three >> _COUNT_AT) & 7
                    ids[out] = three & _ID
                    ids[out + 1] = (three >> ID_BITS) & _ID
                    ids[out + 2] = (three >> 2 * ID_BITS) & _ID
                    if count > _THREE:
                        three = lines[slot + 3]
                        ids[out + 3] = three & _ID
                        ids[out + 4] = (three >> ID_BITS) & _ID
                        ids[out + 5] = (three >> 2 * ID_BITS) & _ID
                    if with_ends:
                        start += before
                        for k in range(out, out + count - 1):
                            start += tokens.lengths[ids[k]]
                            ends[k] = start
                        ends[out + count - 1] = before + end
                    out += count
                    continue
            elif length < LONG_PRE_TOKEN:
                at = work.hashes[2 * place + 1]
                if at and work.hashes[2 * place] == first_key and work.pool[at] == length:
                    count = integer(work.pool[at + 1])
                    if same(source, start, work.pool_bytes, 4 * (at + 2 + count), length):
                        start += before
                        for k in range(count):
                            ids[out + k] = work.pool[at + 2 + k]
                            start += tokens.lengths[ids[out + k]]
                            ends[out + k] = start
                        out += count
                        continue
            token = NEVER
            if tokens.numbers[WHOLE]:
                token = find(tokens, source, n_bytes, start, length)
            count = 1
            whole.places[0] = token
            whole.at[0] = 0
            whole.at[1] = length
            if token == NEVER:
                count = _merge(
                    tokens, work, line_shift, source, n_bytes, start, length, room, whole
                )
            for k in range(count):
                ids[out + k] = whole.places[k]
                if whole.places[k] == NEVER:
                    _stop(work, tokens, start, out, n_pre_tokens)
                    state[WANTED] = start + whole.at[k]
                    return MISSING
                if with_ends:
                    ends[out + k] = before + start + whole.at[k + 1]
            if length < SHORT_PRE_TOKEN and count <= MOST_IDS:
                _keep_short(lines, place, first_key, second_key, whole, count)
            elif length >= SHORT_PRE_TOKEN and length < LONG_PRE_TOKEN:
                _keep_long(work, place, first_key, source, start, length, whole, count)
            out += count
    _mark(texts, state, n_bytes, out, after)
    _stop(work, tokens, n_bytes, out, n_pre_tokens)
    return DONE
