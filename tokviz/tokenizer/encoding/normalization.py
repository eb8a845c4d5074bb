"""Unicode NFC, which Qwen's tokenizers apply before encoding, with positions in the original."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

# Only some following characters can combine or be reordered with a character: marks, and the
# vowels and final consonants of Korean syllables.
_CLUSTER = r"([\s\S][\p{M}\u1160-\u11FF\uD7B0-\uD7FF]++)"


def is_nfc(text: str) -> bool:
    """Return whether NFC leaves a text unchanged."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def nfc(text: str) -> str:
    """Normalize a text to NFC; bytes that are not UTF-8 are kept (see `tokviz.text.bytetext`)."""
    return text if is_nfc(text) else unicodedata.normalize("NFC", text)


def origins(text: str, size: Callable[[str], int]) -> list[int]:
    r"""Return the position in the original text of every position in the normalized text.

    Positions inside a sequence that normalization changes map to its end.

    Args:
        text: The original text.
        size: The size of a stretch of text: `len` for characters, or its number of bytes.

    Returns:
        One number per unit of the normalized text and one for its end, ascending.

    >>> origins("ae\u0301o", len)
    [0, 1, 3, 4]
    """
    import regex  # texts in NFC do not need it

    clusters: list[str] = []
    for number, part in enumerate(regex.split(_CLUSTER, text)):
        clusters += [part] if number % 2 or is_nfc(part) else part
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
