"""Counting pre-tokens the obvious way: whole documents, one regex, one dict."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tokviz.text import bytetext
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split import split


def documents_of(texts: Iterable[str], delimiter: str) -> list[str]:
    """Split byte texts at a delimiter."""
    return [part for text in texts for part in (text.split(delimiter) if delimiter else [text])]


def cut_at(text: str, specials: Iterable[str]) -> list[str]:
    """Cut special tokens out: the first wins, and at one place the longest."""
    longest_first = sorted(specials, key=len, reverse=True)
    return re.split("|".join(map(re.escape, longest_first)), text) if longest_first else [text]


def counted(
    documents: Iterable[str], pattern: SplitPattern, specials: Iterable[str]
) -> dict[bytes, int]:
    """Count the pre-tokens of byte texts, in the order of their first occurrence."""
    counts: dict[bytes, int] = {}
    for document in documents:
        for text in cut_at(document, specials):
            for start, end in split(pattern, text).spans():
                pre_token = bytetext.to_bytes(text[start:end])
                counts[pre_token] = counts.get(pre_token, 0) + 1
    return counts
