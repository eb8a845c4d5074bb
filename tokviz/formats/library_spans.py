"""From the characters that a library's tokens come from to the bytes between them."""

from __future__ import annotations

from array import array
from itertools import accumulate

from tokviz.formats.library import NO_WORD, LibraryEncoding
from tokviz.text import bytetext


def byte_offsets(text: str) -> list[int]:
    """Give the byte offset of every character of byte text, and of its end."""
    if text.isascii():
        return list(range(len(text) + 1))
    return list(accumulate((bytetext.n_bytes(char) for char in text), initial=0))


def borders_of_offsets(
    data: bytes, byte_at: list[int], encoding: LibraryEncoding, tokens: list[bytes]
) -> array[int]:
    """Turn the characters that tokens come from into byte offsets between them.

    Tokens whose characters overlap form a group. It is divided by the tokens' own lengths if these
    add up to it; else each token ends where its characters do, as far as that goes. A space that
    the library put before a text has no place in it.
    """
    n_tokens = len(tokens)
    n_chars = len(byte_at) - 1
    borders = array("I", [0])
    number = 0
    while number < n_tokens:
        last, end = number + 1, encoding.ends[number]
        while last < n_tokens and encoding.starts[last] < end:
            end = max(end, encoding.ends[last])
            last += 1
        start_byte = byte_at[min(encoding.starts[number], n_chars)]
        end_byte = byte_at[min(end, n_chars)]
        if (
            last - number > 1
            and tokens[number] == b" "
            and data[start_byte : start_byte + 1] != b" "
        ):
            borders.append(max(borders[-1], start_byte))
            number += 1
        own = [len(token) for token in tokens[number:last]]
        if len(own) > 1 and sum(own) == end_byte - start_byte:
            ends = list(accumulate(own, initial=start_byte))[1:]
        else:
            ends = [byte_at[min(encoding.ends[k], n_chars)] for k in range(number, last)]
        for at in ends:
            borders.append(max(borders[-1], at))
        number = last
    if n_tokens:
        borders[-1] = byte_at[-1]
    return borders


def word_of(encoding: LibraryEncoding, number: int) -> tuple[int, int]:
    """Name the word of a token; one that has none is a word of its own."""
    word = encoding.words[number]
    return (word, number) if word == NO_WORD else (word, -1)
