"""Compiled encoding: pieces from the scanner, a cache from piece to tokens, merging for the rest.

Natural text repeats its pieces: nineteen of twenty are found in a cache of some megabytes. A piece
of up to 15 bytes and 6 tokens lies there whole in 32 bytes, two of them in one line of the
processor's cache: a new one takes the second place, which it leaves for the first when it is found
again. A longer one lies in a pool, and is known by a hash.

What is merged is merged between the places where no token can reach across, each part by itself:
Chinese and Japanese pieces are long, and their parts repeat.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.compiled import Bytes, Int32s, Int64s, helper, integer, kernel, prefetch, word
from tokviz.encoding.merge_kernels import Scratch, merge
from tokviz.encoding.vocabulary_kernels import (
    LEAD,
    NEVER,
    SPARSE,
    WHOLE,
    Vocabulary,
    find,
    is_cut,
)
from tokviz.pretokenize.character_kernels import load_word
from tokviz.pretokenize.piece_keys import GOLDEN, MIXER, key_of, same, slot_of
from tokviz.pretokenize.scan_kernels import N_BYTES, N_TEXTS, Texts, find_pieces

DONE, FULL, LONG, MISSING = range(4)
"""Why the kernel came back: all is done; the arrays are full; a piece is longer than they are; a
byte is no token."""

(
    TEXT,
    POSITION,
    AT_TEXT,
    N_IDS,
    N_PIECES,
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
"""The places of `Work.state`."""

BATCH = 256
"""How many pieces are looked up at once."""

ID_BITS = 20
"""A token's place must have no more: three of them and their number share one word."""

MOST_IDS = 6
SHORT_PIECE, LONG_PIECE = 16, 256
_THREE = 3
_ID = (1 << ID_BITS) - 1
_COUNT_AT = 60
_PART = 0x40  # marks the key of a part of a piece: a part that is a token may still be merged
_NOT_ASCII = 0x80
_LINE = 8  # words of two slots
_SLOT = 4


class Work(NamedTuple):
    """What one thread needs beside the vocabulary.

    Attributes:
        lines: The cache of short pieces: lines of two slots of key (two words), tokens (two words).
        hashes: That of long ones: hash and place in the pool, 0 for none.
        pool: At a place: length, number of tokens, the tokens, the bytes.
        pool_bytes: The same memory.
        pieces: Where the pieces of a batch start and end.
        keys: For each a key of two words, and where to look for it.
        masks: For each length of a short piece what of two words belongs to it.
        ids: Receives the ids.
        token_ends: Receives where each token ends.
        piece_ends: Receives where each piece ends.
        state: The text and the position to go on with; the text that is being encoded; how many ids
            and pieces there are; how many ids there were before them; how many bytes there are
            before the texts' memory, from which ends are counted; the length of the piece for which
            there is no room, or the place of a byte that is no token; how many ids there is room
            for; where the pool is free; its size; how far to shift keys for lines and hashes.
    """

    lines: Int64s
    hashes: Int64s
    pool: Int32s
    pool_bytes: Bytes
    pieces: Int64s
    keys: Int64s
    masks: Int64s
    ids: Int32s
    token_ends: Int64s
    piece_ends: Int64s
    state: Int64s


@helper
def _short_key(work: Work, source: Bytes, n_bytes: int, start: int, length: int) -> tuple[int, int]:
    """Make the key of a short piece: its bytes and its length."""
    if start + SHORT_PIECE <= n_bytes:
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
    """Find a short piece's slot, -1 if it is not in its line; found again, it becomes the first."""
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
    """Put a short piece into its line, behind the other one: most are not seen again soon."""
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
    """Put a long piece into the pool, which is cleared when it is full."""
    pool = work.pool
    state = work.state
    place = state[POOL_END]
    if place + 2 + n + LONG_PIECE > state[POOL_SIZE]:
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
    """Merge a piece, part by part if it is not ASCII; give the number of tokens left in `whole`."""
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
        repeats = int(size < SHORT_PIECE and size < length)
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
    """Note the number of ids behind every text that ends before a piece."""
    text = state[AT_TEXT]
    while text < texts.numbers[N_TEXTS] and texts.ends[text] <= start:
        after[text] = state[N_BEFORE] + n_ids
        text += 1
    state[AT_TEXT] = text


@helper
def _stop(work: Work, tokens: Vocabulary, position: int, n_ids: int, n_pieces: int) -> None:
    """Leave the place to go on with, and ids for places."""
    state = work.state
    state[TEXT] = state[AT_TEXT]
    state[POSITION] = position
    state[N_IDS] = n_ids
    state[N_PIECES] = n_pieces
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
    """Encode texts until all is done or the arrays are full.

    Args:
        tokens: The vocabulary.
        work: The cache, and what is found.
        room: Room for the longest part of a piece.
        whole: Room for the longest piece.
        texts: The texts, ascending, none of them open.
        after: Receives how many ids there are behind each text, counted from the first.
        with_ends: Whether the ends of tokens and pieces are wanted.

    Returns:
        DONE, FULL, LONG or MISSING; all but the second with `state[WANTED]`.
    """
    source = texts.data
    n_bytes = texts.numbers[N_BYTES]
    state = work.state
    pieces = work.pieces
    keys = work.keys
    lines = work.lines
    ids = work.ids
    ends = work.token_ends
    most = state[ROOM]
    before = state[BYTES_BEFORE]
    line_shift = state[LINE_SHIFT]
    hash_shift = state[HASH_SHIFT]
    out = 0
    n_pieces = 0
    n_found = BATCH
    while n_found == BATCH:
        n_found = find_pieces(texts, state, pieces, BATCH)
        for i in range(n_found):
            start = pieces[2 * i]
            length = pieces[2 * i + 1] - start
            first = word(0)
            second = word(0)
            at = 0
            if length < SHORT_PIECE:
                first, second = _short_key(work, source, n_bytes, start, length)
                at = _line_of(first, second, line_shift)
                prefetch(lines, at)
            elif length < LONG_PIECE:
                first = key_of(source, n_bytes, start, length)
                at = slot_of(first, hash_shift)
                prefetch(work.hashes, 2 * at)
            keys[3 * i] = integer(first)
            keys[3 * i + 1] = integer(second)
            keys[3 * i + 2] = at
        for i in range(n_found):
            start = pieces[2 * i]
            end = pieces[2 * i + 1]
            length = end - start
            if start >= texts.ends[state[AT_TEXT]]:
                _mark(texts, state, start, out, after)
            if out + length + MOST_IDS > most:
                _stop(work, tokens, start, out, n_pieces)
                state[WANTED] = length
                return LONG if length + MOST_IDS > most else FULL
            if with_ends:
                work.piece_ends[n_pieces] = before + end
                n_pieces += 1
            first_key = keys[3 * i]
            second_key = keys[3 * i + 1]
            place = keys[3 * i + 2]
            if length < SHORT_PIECE:
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
            elif length < LONG_PIECE:
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
                    _stop(work, tokens, start, out, n_pieces)
                    state[WANTED] = start + whole.at[k]
                    return MISSING
                if with_ends:
                    ends[out + k] = before + start + whole.at[k + 1]
            if length < SHORT_PIECE and count <= MOST_IDS:
                _keep_short(lines, place, first_key, second_key, whole, count)
            elif length >= SHORT_PIECE and length < LONG_PIECE:
                _keep_long(work, place, first_key, source, start, length, whole, count)
            out += count
    _mark(texts, state, n_bytes, out, after)
    _stop(work, tokens, n_bytes, out, n_pieces)
    return DONE
