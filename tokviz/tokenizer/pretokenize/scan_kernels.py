r"""The compiled scanner, which finds the pre-tokens of the named split patterns in UTF-8 bytes.

Each regex is written as code that makes the decisions of its alternatives in order; tests compare
the pre-tokens with those of the regex. A byte that is not part of valid UTF-8 is one symbol, as in
byte text.

Text arrives in blocks, and the end of a pre-token may depend on the following text. If a decision
needs bytes after the last one of a text that continues, the result is UNDECIDED, and the caller
tries again from the start of that pre-token when it has more. So the division into blocks, which
must be between two characters, never changes a pre-token.
"""

from __future__ import annotations

from typing import NamedTuple

from tokviz.kernels import Bytes, Int64s, helper, integer, trailing_zeros, word
from tokviz.tokenizer.pretokenize.block_kernels import (
    BLOCK,
    BY_BLOCK,
    DEEPSEEK,
    GPT2,
    GPT4,
    GPT4O,
    WORDS,
    block_starts,
)
from tokviz.tokenizer.pretokenize.character_kernels import (
    LETTER,
    character,
    letters,
    lower_letters,
    run,
)
from tokviz.tokenizer.pretokenize.scan_table import (
    CASELESS,
    LOWER,
    MARK,
    NUMBER,
    PLAIN,
    SPACE,
    SYMBOL,
    UPPER,
)

UNDECIDED = -1

_FEW = 3
"""A block with fewer known pre-tokens was not worth scanning as a whole. After two of them, the
next bytes are scanned one by one."""

_VISIBLE = MARK | SYMBOL
_NO_SPACE = LETTER | NUMBER | _VISIBLE
_WORD_START = UPPER | CASELESS | MARK  # o200k's [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
_WORD_END = LOWER | CASELESS | MARK  # o200k's [\p{Ll}\p{Lm}\p{Lo}\p{M}]

_LF, _CR, _BLANK, _APOSTROPHE, _SLASH = b"\n\r '/"
_D, _E, _L, _M, _R, _S, _T, _V = b"delmrstv"
_LONG_S = b"\xc5\xbf"  # ſ, which (?i:s) matches as well
_LONG_S_0, _LONG_S_1 = _LONG_S
_ASCII_CASE = 0x20


N_TEXTS, N_BYTES, IS_OPEN, FAMILY, MAX_DIGITS = range(5)
"""The indexes of `Texts.numbers`."""


class Texts(NamedTuple):
    """Texts, and how they are split into pre-tokens.

    Attributes:
        data: Bytes that contain the texts.
        starts: Start of each text in `data`.
        ends: End of each text.
        flags: The flags of all characters, from `scan_table`.
        numbers: Number of texts; size of `data`; 1 if the last text continues after its end here
            (its rest may then be undecided), else 0; the family of the pattern; the maximum number
            of digits in a pre-token (GPT4 only).
    """

    data: Bytes
    starts: Int64s
    ends: Int64s
    flags: Bytes
    numbers: Int64s


@helper
def find_pre_tokens(texts: Texts, reached: Int64s, pre_tokens: Int64s, most: int) -> int:
    """Find the pre-tokens of texts until all are done or `pre_tokens` is full.

    Args:
        texts: The texts.
        reached: The index of the text and the position in it to continue at; updated. Afterwards
            the index is the number of texts if all are done, and that of the last text, although
            `pre_tokens` is not full, if its rest is undecided.
        pre_tokens: Shape (most, 2), receives the start and end of each pre-token.
        most: Maximum number of pre-tokens.

    Returns:
        The number of pre-tokens found.
    """
    data = texts.data
    n_texts = texts.numbers[N_TEXTS]
    is_open = texts.numbers[IS_OPEN]
    family = texts.numbers[FAMILY]
    max_digits = texts.numbers[MAX_DIGITS]
    n_found = 0
    text = reached[0]
    position = reached[1]
    by_block = family in BY_BLOCK
    worth_it = 0
    was_poor = False
    while text < n_texts:
        end = texts.ends[text]
        at_end = UNDECIDED if is_open and text == n_texts - 1 else end
        while position < end:
            if n_found == most:
                break
            # Bytes beyond ASCII usually come in groups, and the first one would end the block.
            is_long = by_block and position + BLOCK <= end and position >= worth_it
            if is_long and data[position] | data[position + 1] < 0x80:
                n_now = _find_in_block(texts, position, pre_tokens, n_found, most)
                is_poor = n_now - n_found < _FEW
                if is_poor and was_poor:
                    worth_it = position + BLOCK
                was_poor = is_poor
                if n_now > n_found:
                    n_found = n_now
                    position = pre_tokens[2 * n_found - 1]
                    continue
            pre_token_end = end_of_pre_token(
                data, position, end, at_end, family, max_digits, texts.flags
            )
            if pre_token_end == UNDECIDED:
                break
            pre_tokens[2 * n_found] = position
            pre_tokens[2 * n_found + 1] = pre_token_end
            n_found += 1
            position = pre_token_end
        if position < end:
            break
        text += 1
        if text < n_texts:
            position = texts.starts[text]
    reached[0] = text
    reached[1] = position
    return n_found


@helper
def _find_in_block(texts: Texts, at: int, pre_tokens: Int64s, n_found: int, most: int) -> int:
    """Append the complete pre-tokens of a block; return the total number found."""
    numbers = texts.numbers
    starts = block_starts(texts.data, at, numbers[FAMILY], numbers[MAX_DIGITS]) & ~word(1)
    start = at
    while starts and n_found < most:
        pre_tokens[2 * n_found] = start
        start = at + integer(trailing_zeros(starts))
        pre_tokens[2 * n_found + 1] = start
        n_found += 1
        starts &= starts - word(1)
    return n_found


@helper
def end_of_pre_token(
    data: Bytes, i: int, end: int, at_end: int, family: int, max_digits: int, table: Bytes
) -> int:
    """Return the end of the pre-token at `i`.

    Args:
        data: Bytes that contain the text.
        i: Start of the pre-token.
        end: End of the text, as far as known.
        at_end: The result if the pre-token reaches `end`: `end`, or UNDECIDED if text may follow.
        family: The family of the pattern.
        max_digits: Maximum number of digits in a pre-token (GPT4 only).
        table: The flags of all characters, from `scan_table`.
    """
    if family == GPT2:
        return _end_gpt2(data, i, end, at_end, table)
    if family == GPT4:
        return _end_gpt4(data, i, end, at_end, max_digits, table)
    if family == GPT4O:
        return _end_gpt4o(data, i, end, at_end, table)
    if family == WORDS:
        return _end_words(data, i, end, at_end, table)
    if family == DEEPSEEK:
        return _end_deepseek(data, i, end, at_end, table)
    return at_end


@helper
def _contraction(data: Bytes, i: int, end: int, any_case: bool) -> int:
    r"""Match `'s|'t|'re|'ve|'m|'ll|'d` at `i`; return the length, 0 for none.

    The longest has three bytes, so the caller must know that many.
    """
    if i + 1 >= end or data[i] != _APOSTROPHE:
        return 0
    first = data[i + 1]
    if any_case:
        if first == _LONG_S_0 and i + 2 < end and data[i + 2] == _LONG_S_1:
            return 3
        first |= _ASCII_CASE
    if first in (_S, _T, _M, _D):
        return 2
    if i + 2 >= end:
        return 0
    second = data[i + 2]
    if any_case:
        second |= _ASCII_CASE
    if first == _L:
        return 3 if second == _L else 0
    return 3 if second == _E and first in (_R, _V) else 0


@helper
def _end_of_space(data: Bytes, i: int, end: int, at_end: int, breaks: bool, table: Bytes) -> int:
    r"""Match `\s+(?!\S)|\s+` at white space, and before them `\s*[\r\n]+` if `breaks` is true.

    A run of white space leaves its last character to the next pre-token, unless it is the only one.
    """
    last = i
    after_break = i
    j = i
    while j < end:
        flags, width = character(data, j, end, table)
        if not flags & SPACE:
            break
        last = j
        j += width
        if data[last] == _LF or data[last] == _CR:
            after_break = j
    if j >= end and at_end == UNDECIDED:
        return UNDECIDED
    if breaks and after_break > i:
        return after_break
    return j if j >= end or last == i else last


@helper
def _end_gpt2(data: Bytes, i: int, end: int, at_end: int, table: Bytes) -> int:
    """Return the end of the pre-token at `i` for GPT-2's pattern."""
    if data[i] == _APOSTROPHE:
        if i + 3 > end and at_end == UNDECIDED:
            return UNDECIDED
        length = _contraction(data, i, end, False)
        if length:
            return i + length
    j = i
    if data[i] == _BLANK:
        j += 1
        if j == end:
            return at_end
    flags, width = character(data, j, end, table)
    if flags & SPACE:
        return _end_of_space(data, i, end, at_end, False, table)
    if flags & LETTER:
        j = letters(data, j + width, end, table)
    else:
        j = run(data, j + width, end, NUMBER if flags & NUMBER else _VISIBLE, table)
    return at_end if j >= end else j


@helper
def _end_gpt4(data: Bytes, i: int, end: int, at_end: int, max_digits: int, table: Bytes) -> int:
    """Return the end of the pre-token at `i` for GPT-4's pattern and its relatives."""
    first, width = character(data, i, end, table)
    j = i + width
    if first & LETTER:
        j = letters(data, j, end, table)
        return at_end if j >= end else j
    if first & NUMBER:
        return _end_of_number(data, j, end, at_end, max_digits, table)
    if data[i] == _APOSTROPHE:
        if i + 3 > end and at_end == UNDECIDED:
            return UNDECIDED
        length = _contraction(data, i, end, True)
        if length:
            return i + length
    if j >= end:
        return at_end
    if data[i] != _LF and data[i] != _CR:
        second, second_width = character(data, j, end, table)
        if second & LETTER:
            j = letters(data, j + second_width, end, table)
            return at_end if j >= end else j
        if first & SPACE and not (data[i] == _BLANK and second & _VISIBLE):
            return _end_of_space(data, i, end, at_end, True, table)
        return _end_of_symbols(data, j, end, at_end, False, table)
    return _end_of_space(data, i, end, at_end, True, table)


@helper
def _end_of_number(
    data: Bytes, i: int, end: int, at_end: int, max_digits: int, table: Bytes
) -> int:
    """Match the rest of a number after its first digit."""
    for _ in range(max_digits - 1):
        if i >= end:
            return at_end
        flags, width = character(data, i, end, table)
        if not flags & NUMBER:
            break
        i += width
    return i


@helper
def _end_of_symbols(data: Bytes, i: int, end: int, at_end: int, slashes: bool, table: Bytes) -> int:
    r"""Match the rest of ` ?[^\s\p{L}\p{N}]+[\r\n]*`, or `[\r\n/]*` if `slashes` is true."""
    i = run(data, i, end, _VISIBLE, table)
    while i < end and (data[i] == _LF or data[i] == _CR or (slashes and data[i] == _SLASH)):
        i += 1
    return at_end if i >= end else i


@helper
def _end_gpt4o(data: Bytes, i: int, end: int, at_end: int, table: Bytes) -> int:
    """Return the end of the pre-token at `i` for o200k's pattern."""
    first, width = character(data, i, end, table)
    if first & NUMBER:
        return _end_of_number(data, i + width, end, at_end, 3, table)
    is_break = data[i] == _LF or data[i] == _CR
    if not is_break:
        word = _end_of_word(data, i, end, at_end, first, width, table)
        if word != i:
            return word
    j = i + width
    if j >= end:
        return at_end
    if first & SPACE:
        second, _ = character(data, j, end, table)
        if data[i] != _BLANK or not second & _VISIBLE:
            return _end_of_space(data, i, end, at_end, True, table)
    return _end_of_symbols(data, j, end, at_end, True, table)


@helper
def _end_of_word(
    data: Bytes, i: int, end: int, at_end: int, first: int, width: int, table: Bytes
) -> int:
    r"""Match the first two alternatives of o200k's pattern; return `i` if neither matches.

    With S for `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]` and E for `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` they are
    `x?S*E+` and `x?S+E*`, where x is not a letter, number or line break. S* matches as many as
    possible. If an E follows, the first alternative continues over all E; otherwise it gives
    characters back up to the last one that is an E too, and ends after it: "A中BC" is "A中" and
    "BC". Only without such an E does the second alternative match, which is then S+ alone. A mark
    can be the x, unless the first alternative needs it as its only E.
    """
    start = i if first & LETTER else i + width
    last_end = i + width if first & MARK else i
    j = start
    follower = 0
    while j < end:
        follower, follower_width = character(data, j, end, table)
        if not follower & _WORD_START:
            break
        j += follower_width
        if follower & _WORD_END:
            last_end = j
    if j >= end and at_end == UNDECIDED:
        return UNDECIDED
    if j < end and follower & LOWER:
        j = lower_letters(data, j, end, _WORD_END, table)
    elif last_end > i:
        j = last_end
    elif j == start:
        return i
    if j + 3 > end and at_end == UNDECIDED and (j >= end or data[j] == _APOSTROPHE):
        return UNDECIDED
    return j + _contraction(data, j, end, True)


_LETTER_OR_MARK = LETTER | MARK
_FIRST_CHINESE, _LAST_CHINESE, _FIRST_KANA, _LAST_KANA = 0x4E00, 0x9FA5, 0x3040, 0x30FF


@helper
def _is_chinese_or_japanese(data: Bytes, i: int, width: int) -> int:
    """Return whether the character at `i` is in DeepSeek's second step."""
    if width != 3:
        return 0
    code = (data[i] & 0xF) << 12 | (data[i + 1] & 0x3F) << 6 | data[i + 2] & 0x3F
    return int(_FIRST_CHINESE <= code <= _LAST_CHINESE or _FIRST_KANA <= code <= _LAST_KANA)


@helper
def _in_region(data: Bytes, i: int, end: int, region: int, table: Bytes) -> tuple[int, int]:
    """Return the flags and width of a character, 0 if DeepSeek's first two steps cut before it."""
    if i >= end:
        return 0, 0
    flags, width = character(data, i, end, table)
    if (
        flags & NUMBER
        or (data[i] >= 0x80 and _is_chinese_or_japanese(data, i, width) != region)
        or (data[i] < 0x80 and region)
    ):
        return 0, 0
    return flags, width


@helper
def _end_deepseek(data: Bytes, i: int, end: int, at_end: int, table: Bytes) -> int:
    r"""Return the end of the pre-token at `i` for DeepSeek's pattern.

    Its first two steps isolate numbers and Chinese or Japanese text; the third step divides the
    regions between them as `_end_gpt4` does, except that marks belong to words, that an ASCII
    symbol starts a word of ASCII letters only, and that PLAIN characters match no alternative.
    """
    first, width = character(data, i, end, table)
    j = i + width
    if first & NUMBER:
        return _end_of_number(data, j, end, at_end, 3, table)
    region = 0
    if data[i] >= 0x80:
        region = _is_chinese_or_japanese(data, i, width)
    flags, next_width = _in_region(data, j, end, region, table)
    if not flags and j >= end:
        return at_end
    is_break = data[i] == _LF or data[i] == _CR
    is_symbol = first & SYMBOL and not first & PLAIN
    if first & _LETTER_OR_MARK or (flags & _LETTER_OR_MARK and not is_break and not is_symbol):
        while flags & _LETTER_OR_MARK:
            j += next_width
            flags, next_width = _in_region(data, j, end, region, table)
        return at_end if j >= end else j
    if is_symbol and data[i] < 0x80 and flags & LETTER and data[j] < 0x80:
        while j < end and data[j] < 0x80 and table[data[j]] & LETTER:
            j += 1
        return at_end if j >= end else j
    if is_symbol or (data[i] == _BLANK and flags & SYMBOL and not flags & PLAIN):
        while flags & SYMBOL and not flags & PLAIN:
            j += next_width
            flags, next_width = _in_region(data, j, end, region, table)
        while j < end and not region and (data[j] == _LF or data[j] == _CR):
            j += 1
        return at_end if j >= end else j
    if first & SPACE:
        last = i
        after_break = j if is_break else i
        while flags & SPACE:
            last = j
            j += next_width
            if data[last] == _LF or data[last] == _CR:
                after_break = j
            flags, next_width = _in_region(data, j, end, region, table)
        if j >= end and at_end == UNDECIDED:
            return UNDECIDED
        if after_break > i:
            return after_break
        return last if flags and last > i else j
    while flags & PLAIN:
        after, after_width = _in_region(data, j + next_width, end, region, table)
        if not after and j + next_width >= end and at_end == UNDECIDED:
            return UNDECIDED
        if after & _LETTER_OR_MARK:
            break
        j += next_width
        flags, next_width = after, after_width
    return at_end if j >= end else j


@helper
def _end_words(data: Bytes, i: int, end: int, at_end: int, table: Bytes) -> int:
    """Return the end of the pre-token at `i` for the pattern `whitespace`."""
    first, width = character(data, i, end, table)
    wanted = SPACE if first & SPACE else _NO_SPACE
    j = run(data, i + width, end, wanted, table)
    return at_end if j >= end else j
