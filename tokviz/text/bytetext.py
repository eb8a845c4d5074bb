r"""Byte text: a `str` that represents bytes exactly.

A byte that is not part of valid UTF-8 is one character, U+DC80 to U+DCFF (PEP 383,
`surrogateescape`); other text is unchanged. So a file with invalid bytes can be shown, edited and
saved without losing them, and offsets in characters remain meaningful.

>>> from_bytes(b"caf\xe9")
'caf\udce9'
>>> to_bytes('caf\udce9')
b'caf\xe9'
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RAW_BYTES = re.compile("[\udc80-\udcff]")
"""Matches one character that represents a raw byte."""


def from_bytes(data: bytes | memoryview) -> str:
    """Convert any bytes to byte text."""
    return str(data, "utf-8", "surrogateescape")


def from_blocks(blocks: Iterable[bytes]) -> Iterator[str]:
    r"""Convert bytes that arrive in blocks to byte text in parts.

    >>> list(from_blocks([b"caf\xc3", b"\xa9 \xe9"]))
    ['caf', 'é ', '\udce9']
    """
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    yield from map(decoder.decode, blocks)
    yield decoder.decode(b"", True)


def to_bytes(text: str) -> bytes:
    """Convert byte text to its bytes, the exact inverse of `from_bytes`.

    Raises:
        UnicodeEncodeError: If the text contains a surrogate that represents no byte.
    """
    return text.encode("utf-8", "surrogateescape")


def n_bytes(text: str) -> int:
    """Return the number of bytes of byte text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def utf8_sizes(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.int8]:
    """Return the number of bytes of each character of byte text.

    Args:
        codes: Code points, shape (n,).

    Returns:
        Shape (n,).
    """
    sizes: npt.NDArray[np.int8] = 1 + (codes >= 0x80).astype("i1") + (codes >= 0x800)
    sizes += codes >= 0x10000
    sizes[(codes >= 0xDC80) & (codes <= 0xDCFF)] = 1
    return sizes


def has_raw_bytes(text: str) -> bool:
    """Return whether any character represents a raw byte."""
    return not text.isascii() and RAW_BYTES.search(text) is not None


def n_raw_bytes(text: str) -> int:
    """Count the characters that represent a raw byte."""
    if text.isascii():
        return 0
    try:
        text.encode()  # several times as fast as a search
    except UnicodeEncodeError:
        return len(RAW_BYTES.findall(text))
    return 0


def as_byte_text(text: str) -> str:
    """Return byte text unchanged; in other text, replace surrogates that represent no byte."""
    if text.isascii():
        return text
    try:
        to_bytes(text)
    except UnicodeEncodeError:
        return replace_surrogates(text)[0]
    return text


def replace_surrogates(text: str) -> tuple[str, int]:
    r"""Make a `str` encodable like tiktoken: join pairs and replace lone surrogates by U+FFFD.

    Source: `Encoding.encode` in tiktoken/core.py.

    Returns:
        The text and the number of characters that became U+FFFD.

    >>> replace_surrogates('\ud83d\udc4d \ud83d')
    ('👍 \ufffd', 1)
    """
    if text.isascii():
        return text, 0
    try:
        text.encode()  # several times as fast as a search
        return text, 0
    except UnicodeEncodeError:
        pass
    before = text.count("\ufffd")
    fixed = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return fixed, fixed.count("\ufffd") - before


_IS_START = bytes(0 if 0x80 <= byte < 0xC0 else 1 for byte in range(256))


def char_starts(text: str) -> bytes:
    r"""Return, for every byte of byte text, 1 if a character starts there, else 0.

    >>> char_starts("aé\udca9")
    b'\x01\x01\x00\x01'
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # searching for surrogates first is several times slower
        data = RAW_BYTES.sub("?", text).encode()
    return data.translate(_IS_START)
