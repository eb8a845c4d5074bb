"""Making the `.ranks` files that `tokviz.formats.packed` reads, of tiktoken's files and back."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from binascii import crc32
from itertools import accumulate

from tokviz.errors import VocabularyError
from tokviz.formats.packed import MAGIC, n_buckets_for


def pack(tokens: list[bytes]) -> bytes:
    """Render tokens, listed by rank, in the stored form."""
    n_buckets = n_buckets_for(len(tokens))
    bucket_of = [crc32(token) % n_buckets for token in tokens]
    by_bucket = sorted(range(len(tokens)), key=bucket_of.__getitem__)
    sizes = [0] * n_buckets
    for bucket in bucket_of:
        sizes[bucket] += 1
    numbers = array("I", accumulate(map(len, tokens), initial=0))
    numbers.extend(accumulate(sizes, initial=0))
    numbers.extend(by_bucket)
    if sys.byteorder != "little":
        numbers.byteswap()
    head = MAGIC + len(tokens).to_bytes(4, "little")
    return head + numbers.tobytes() + b"".join(tokens)


def to_tiktoken(tokens: list[bytes]) -> bytes:
    """Render tokens, listed by rank, in tiktoken's form."""
    return b"".join(b"%s %d\n" % (b64encode(token), rank) for rank, token in enumerate(tokens))


def from_tiktoken(data: bytes) -> list[bytes]:
    """Read tiktoken's form of a vocabulary without gaps: its tokens by rank.

    Raises:
        VocabularyError: If a line is malformed or the ranks are not 0, 1, 2, …
    """
    tokens: list[bytes] = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            encoded, rank = line.split()
            token = b64decode(encoded, validate=True)
            expected = int(rank) == len(tokens)
        except ValueError:
            raise VocabularyError(f"line {number}: is not `base64 rank`") from None
        if not expected:
            raise VocabularyError(f"line {number}: rank {len(tokens)} was to come, not {int(rank)}")
        tokens.append(token)
    return tokens
