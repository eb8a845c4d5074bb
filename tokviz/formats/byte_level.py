"""GPT-2's way to write bytes as visible characters, which Hugging Face's files use too."""

from __future__ import annotations

import codecs


def _byte_characters() -> list[str]:
    """Give each byte its character: itself if visible in Latin-1, else the next from U+0100 on.

    Source: openai/gpt-2 `src/encoder.py` (`bytes_to_unicode`).
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    characters = []
    n_hidden = 0
    for byte in range(256):
        characters.append(chr(byte if byte in visible else 0x100 + n_hidden))
        n_hidden += byte not in visible
    return characters


_CHARACTERS = _byte_characters()
_DECODING_TABLE = "".join(_CHARACTERS)
_CHARACTER_SET = frozenset(_CHARACTERS)

# Characters of Latin-1 that stand for no byte become one that is not in it.
_LATIN1 = {code: 0xFFFF for code in range(256)} | {
    ord(character): byte for byte, character in enumerate(_CHARACTERS)
}


def to_characters(token: bytes) -> str:
    """Write bytes as visible characters.

    >>> to_characters(b" the")
    'Ġthe'
    """
    return codecs.charmap_decode(token, "strict", _DECODING_TABLE)[0]


def from_characters(text: str) -> bytes:
    """Read what `to_characters` writes.

    Raises:
        ValueError: If a character stands for no byte.
    """
    try:
        return text.translate(_LATIN1).encode("latin-1")
    except UnicodeEncodeError:
        wrong = next(character for character in text if character not in _CHARACTER_SET)
        raise ValueError(f"{wrong!r} stands for no byte") from None
