"""Tokenizers and edits that have broken incremental tokenization before."""

from __future__ import annotations

import random
from functools import cache

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.encoding.packed import PackedRanks
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, get_split_pattern
from tokviz.tokenizer.tokenizer import Tokenizer

BUILTIN = ("gpt2", "cl100k_base", "o200k_base", "qwen2")

SMALL = tuple(f"small {pattern}" for pattern in (*SPLIT_PATTERNS, r"[a-z]+|\d", r"\b"))
"""Small tokenizers: one for each named split pattern, and two whose patterns leave gaps."""

ALPHABET = [
    *FRAGMENTS,
    *(chr(0xDC00 + byte) for byte in (0x80, 0xBF, 0xC3, 0xA9, 0xFF)),
    *("the ", "hello", "don't", "x;y", "1a", "a1", "a\n", "!\n", "/\n", "\n/", "\r"),
    *(" " * 12, "\t\t", "\n" * 5, "a" * 20, "|", "<|"),
    *("a b", "b c", "ab c", "<|endoftext|><|endof", "\U000e0041", "…", "’s"),
]
"""The parts of texts, including halves of special tokens and parts of characters."""

RUNS = {
    "letters": "a",
    "digits": "7",
    "spaces": " ",
    "newlines": "\n",
    "marks": "\u0301",
    "joiners": "\u200d",
    "CJK": "世",
    "raw bytes": "\udc80",
}
"""Characters of a long text, by its description."""

_MERGES = [
    *[(b"a", b"b"), (b" ", b"a"), (b"\n", b"\n"), (b" ", b" "), (b"  ", b"  "), (b"t", b"h")],
    *[(b"th", b"e"), (b" ", b"the"), (b"\xe4", b"\xbd"), (b"l", b"l"), (b"1", b"2")],
    *[(b".", b"."), (b"ab", b"ab"), (b"/", b"/"), (b"\r", b"\n"), (b"!", b"\n"), (b"/", b"\n")],
    *[(b"\n", b"/"), (b"a", b"a"), (b"aa", b"aa"), (b"\x80", b"\x8d"), (b"\xa9", b" ")],
]
_SPECIALS = ["<|endoftext|>", "<|endof", "text|>", "a b", "ab c", "b c", "é", "!\n\n", "\n\n\n"]


@cache
def tokenizer(name: str) -> Tokenizer:
    """Return a built-in tokenizer, or a small one with overlapping specials, for a pattern."""
    if name == "qwen2":
        # Its pattern and tokens alone: `tests/tokenizer/encoding/test_nfc.py` is about what it
        # composes.
        specials = tokviz.load(name).special_tokens
        ranks = PackedRanks(asset_path("vocab/qwen.ranks"))
        return Tokenizer.of(ranks, specials, split_pattern=name, name=name)
    if name in BUILTIN:
        return tokviz.load(name)
    pattern = name.removeprefix("small ")
    vocab = {byte: bytes([byte]) for byte in range(256)}
    for number, (left, right) in enumerate(_MERGES):
        vocab[256 + number] = left + right
    # Thousands of texts are split with it in this process.
    split_pattern = get_split_pattern(pattern, guarded=False)
    return Tokenizer(vocab, _MERGES, _SPECIALS, split_pattern=split_pattern, name=name)


def random_text(rng: random.Random, n_parts: int) -> str:
    """Make a text of that many parts of the alphabet."""
    return "".join(rng.choices(ALPHABET, k=n_parts))


def random_edit(rng: random.Random, n_chars: int) -> tuple[int, int, str]:
    """Make an edit of a text: offset, characters to remove, text to insert."""
    offset = rng.randint(0, n_chars)
    n_removed = min(n_chars - offset, rng.choice([0, 0, 0, 1, 1, 2, 5, 40]))
    return offset, n_removed, random_text(rng, rng.choice([0, 1, 1, 1, 2, 8, 40]))


def random_runs(rng: random.Random) -> str:
    """Make a text of a few runs, each of one character, or with another one in it."""
    runs = []
    for char in rng.choices(list(RUNS.values()), k=rng.randint(1, 3)):
        runs.append(char * rng.randint(0, 100) + rng.choice(["", "x", " "]) + char * 20)
    return "".join(runs)
