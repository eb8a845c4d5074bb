"""Unicode's NFC, which Qwen's tokenizers apply before they encode, and where it comes from."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

# What a character can be composed or put in another order with stands behind it: marks, and the
# vowels and endings of Korean syllables.
_CLUSTER = r"[\s\S](?:[\p{M}\u1160-\u11FF\uD7B0-\uD7FF])*+"


def is_nfc(text: str) -> bool:
    """Tell whether a text stays as it is."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def nfc(text: str) -> str:
    """Compose a text; bytes that are not UTF-8 stay (see `tokviz.bytetext`)."""
    return text if is_nfc(text) else unicodedata.normalize("NFC", text)


def origins(text: str, size: Callable[[str], int]) -> list[int]:
    r"""Say for every place in the composed text where it is in the text itself.

    What is composed comes from its characters together: all its inner places are their end.

    Args:
        text: The text.
        size: How much a stretch of text counts: `len` for characters, or its bytes.

    Returns:
        One number for each unit of the composed text and for its end, ascending.

    >>> origins("ae\u0301o", len)
    [0, 1, 3, 4]
    """
    import regex

    clusters: list[str] = regex.findall(_CLUSTER, text)
    composed = [nfc(cluster) for cluster in clusters]
    if "".join(composed) != nfc(text):
        clusters, composed = [text], [nfc(text)]
    places: list[int] = []
    at = 0
    for cluster, made in zip(clusters, composed, strict=True):
        own = size(cluster)
        places += range(at, at + own) if made == cluster else [at, *[at + own] * (size(made) - 1)]
        at += own
    return [*places, at]
