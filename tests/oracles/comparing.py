"""Tokenizers that differ in every part, and where they disagree: byte by byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from hypothesis import strategies as st

import tokviz
from tokviz import Tokenizer
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.specials import SpecialTokens

Token = tuple[int, int, bool, bytes]
"""Start and end in the text, whether it is special, and its bytes."""


@cache
def load(name: str) -> Tokenizer:
    return tokviz.load(name)


@cache
def small(pattern: str, tie_break: str, special: str = "<|x|>") -> Tokenizer:
    """Learn a few merges that other tokenizers have in another order, or not at all."""
    texts = ["the theme there, then they're 1234 ...//\n\n", "  in the end he sang 'll  the\t"]
    run = tokviz.train(
        texts * 3, 300, split_pattern=pattern, tie_break=tie_break, special_tokens=[special]
    )
    return run.tokenizer


def composing() -> Tokenizer:
    gpt4 = load("gpt-4")
    return gpt4.with_parts(gpt4.split_pattern, SpecialTokens({"<|y|>": 200_000}), Normalizer("NFC"))


CAST: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": lambda: load("gpt2"),
    "gpt4": lambda: load("gpt-4"),
    "gpt4o": lambda: load("o200k_base"),
    "qwen2": lambda: load("qwen2"),
    "composing": cache(composing),
    "small": lambda: small("gpt4", "first"),
    "ties": lambda: small("gpt2", "lexicographic"),
    "words": lambda: small("whitespace", "first", "ing"),
    "gaps": lambda: load("gpt2").with_parts(
        tokviz.SplitPattern("custom", r"\w+|\s", "a test"), SpecialTokens()
    ),
}
casts = st.lists(st.sampled_from(sorted(CAST)), min_size=2, max_size=4, unique=True)


def tokens_of(tokenizer: Tokenizer, text: str) -> list[Token]:
    story = tokenizer.byte_text.tokenize(text)
    return [
        (start, end, bool(special), tokenizer.token_bytes(token_id))
        for token_id, (start, end), special in zip(
            story.ids, story.byte_spans.tolist(), story.special, strict=True
        )
    ]


def slow_spans(text: str, tokenizers: Sequence[Tokenizer]) -> list[tuple[int, int]]:
    """Walk through the bytes from one shared border to the next."""
    sides = [tokens_of(tokenizer, text) for tokenizer in tokenizers]
    ends = [{0} | {end for _, end, _, _ in side} for side in sides]
    found = []
    start = 0
    for place in range(1, bytetext.n_bytes(text) + 1):
        if all(place in own for own in ends):
            inside = [[t for t in side if start < t[1] <= place] for side in sides]
            if any(tokens != inside[0] for tokens in inside):
                found.append((start, place))
            start = place
    return found
