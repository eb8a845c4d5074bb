"""A minimal reader and writer for tiktoken's files."""

from __future__ import annotations

from base64 import b64decode, b64encode

from tokviz.errors import VocabularyError


def to_tiktoken(tokens: list[bytes]) -> bytes:
    """Write tokens, listed by rank, in tiktoken's format."""
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
