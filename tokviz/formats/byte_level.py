"""GPT-2's alphabet of visible characters for bytes, which Hugging Face's files use too."""

from __future__ import annotations

import codecs


def _byte_characters() -> list[str]:
    """List the character of each byte: itself if visible in Latin-1, else the next from U+0100.

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

# Latin-1 characters that are not in the alphabet become one outside Latin-1, to raise an error.
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
    """Decode the result of `to_characters`.

    Raises:
        ValueError: If a character is not in the alphabet.
    """
    try:
        return text.translate(_LATIN1).encode("latin-1")
    except UnicodeEncodeError:
        wrong = next(character for character in text if character not in _CHARACTER_SET)
        raise ValueError(f"{wrong!r} stands for no byte") from None
