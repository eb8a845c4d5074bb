r"""Byte text: a `str` that stands for bytes, exactly.

Text that is valid UTF-8 stands for itself. A byte that is not part of valid UTF-8 is one character,
U+DC80 to U+DCFF (PEP 383, `surrogateescape`). So a file with a broken byte can be shown, edited and
saved again without losing it, and offsets in characters still make sense.

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
"""Matches one character that stands for a raw byte."""


def from_bytes(data: bytes | memoryview) -> str:
    """Turn any bytes into byte text."""
    return str(data, "utf-8", "surrogateescape")


def from_blocks(blocks: Iterable[bytes]) -> Iterator[str]:
    r"""Turn bytes that come in blocks into byte text in parts.

    >>> list(from_blocks([b"caf\xc3", b"\xa9 \xe9"]))
    ['caf', 'é ', '\udce9']
    """
    decoder = getincrementaldecoder("utf-8")("surrogateescape")
    yield from map(decoder.decode, blocks)
    yield decoder.decode(b"", True)


def to_bytes(text: str) -> bytes:
    """Turn byte text back into its bytes, the exact inverse of `from_bytes`.

    Raises:
        UnicodeEncodeError: If the text holds a surrogate that stands for no byte.
    """
    return text.encode("utf-8", "surrogateescape")


def n_bytes(text: str) -> int:
    """Count the bytes that byte text stands for."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def utf8_sizes(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.int8]:
    """Give the number of bytes that each character of byte text stands for.

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
    """Tell whether any character stands for a raw byte."""
    return not text.isascii() and RAW_BYTES.search(text) is not None


def n_raw_bytes(text: str) -> int:
    """Count the characters that stand for a raw byte."""
    if text.isascii():
        return 0
    try:
        text.encode()  # several times as fast as a search
    except UnicodeEncodeError:
        return len(RAW_BYTES.findall(text))
    return 0


def as_byte_text(text: str) -> str:
    """Keep byte text as it is; in any other text, replace the surrogates that stand for no byte."""
    if text.isascii():
        return text
    try:
        to_bytes(text)
    except UnicodeEncodeError:
        return replace_surrogates(text)[0]
    return text


def replace_surrogates(text: str) -> tuple[str, int]:
    r"""Make a `str` encodable as tiktoken does: pairs join, lone surrogates become U+FFFD.

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
    mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return mended, mended.count("\ufffd") - before


_IS_START = bytes(0 if 0x80 <= byte < 0xC0 else 1 for byte in range(256))


def char_starts(text: str) -> bytes:
    r"""Tell for every byte of byte text whether a character starts there (1) or not (0).

    >>> char_starts("aé\udca9")
    b'\x01\x01\x00\x01'
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # to look for them first takes several times as long
        data = RAW_BYTES.sub("?", text).encode()
    return data.translate(_IS_START)
