"""Offsets of tokens in characters, token by token."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from tokviz.text import bytetext
from tokviz.tokenizer.tokenizer import Tokenizer


def char_offsets(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each token in characters, as Hugging Face's library does."""
    data, trims = bytetext.to_bytes(text), tokenizer.post_processor.trims_offsets
    starts_of_chars = [*accumulate((bytetext.n_bytes(char) for char in text), initial=0)]
    if tokenizer.byte_text.changes(text):
        ends = tokenizer.byte_text.tokenize(text).byte_spans[:, 1].tolist()
    else:
        ends = [*accumulate(len(tokenizer.token_bytes(token_id)) for token_id in ids)]
    start = 0
    for end in ends:
        first, last = start, end
        if trims:
            token = data[start:end]
            first = end - len(token.lstrip(b" "))
            last = max(first, start + len(token.rstrip(b" ")))
        yield bisect_right(starts_of_chars, first) - 1, bisect_left(starts_of_chars, last)
        start = end


def transformers_mask(
    offsets: Sequence[tuple[int, int]], generation: Sequence[tuple[int, int]]
) -> list[int]:
    """Return 1 for each token that overlaps a range, as `apply_chat_template` does."""
    mask = [0] * len(offsets)
    number = 0
    for token, (start, end) in enumerate(offsets):
        while number < len(generation) and start >= generation[number][1]:
            number += 1
        if number == len(generation):
            break
        mask[token] = int(end > generation[number][0])
    return mask
