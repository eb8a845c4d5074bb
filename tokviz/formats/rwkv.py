"""RWKV's vocabulary: reader, and encoder by greedy longest match.

Each line has an id, a Python literal of a text or bytes, and its number of bytes. Source:
BlinkDL/ChatRWKV `tokenizer/rwkv_tokenizer.py`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tokviz.errors import InputFileError
from tokviz.formats.byte_level import from_characters, to_characters
from tokviz.formats.draft import MAX_TOKEN_BYTES, MAX_TOKEN_ID
from tokviz.formats.equivalents import equivalent
from tokviz.storage.files import StrPath, decode_utf8, read_file

Json = dict[str, Any]

_LINE = re.compile(r"""(\d{1,10}) (b?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")) (\d{1,10})""")


def read_rwkv(path: StrPath) -> Json:
    """Return the equivalent content of a `tokenizer.json`.

    Raises:
        InputFileError: If a line is invalid; it names the line.
    """
    vocab: dict[str, int] = {}
    ids: set[int] = set()
    text = decode_utf8(read_file(path, limit=64_000_000), path)
    for number, line in enumerate(text.rstrip("\n").split("\n"), 1):
        match = _LINE.fullmatch(line.removesuffix("\r"))
        token = b"" if match is None else _token(match[2])
        if match is None or not token or int(match[3]) != len(token):
            reason = f"line {number:,}: {line[:40]!r} is not an id, a text or bytes, and its length"
            raise InputFileError(path, reason)
        spelled, token_id = to_characters(token), int(match[1])
        if len(token) > MAX_TOKEN_BYTES or token_id > MAX_TOKEN_ID:
            raise InputFileError(
                path, f"line {number:,}: the token is too long or its id too large"
            )
        if spelled in vocab or token_id in ids:
            raise InputFileError(path, f"line {number:,}: the token or its id is there twice")
        vocab[spelled] = token_id
        ids.add(token_id)
    return equivalent("longest_match", vocab=vocab)


def _token(literal: str) -> bytes:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # about an unknown escape sequence
            value = ast.literal_eval(literal)
        return value.encode() if isinstance(value, str) else value
    except (ValueError, SyntaxError, Warning):
        return b""


class LibraryLikeEncoding(NamedTuple):
    """The tokens of a text, with the attributes of `tokenizers.Encoding` that tokviz uses."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]

    def add(self, token_id: int, start: int, end: int, word: int) -> None:
        """Add a token with the characters it comes from and the number of its pre-token."""
        self.ids.append(token_id)
        self.offsets.append((start, end))
        self.word_ids.append(word)


class RwkvTokenizer:
    """Greedy longest match, with the methods of `tokenizers.Tokenizer` that tokviz uses.

    Attributes:
        encode_special_tokens: Whether special tokens are text; there are none.
    """

    encode_special_tokens = False

    def __init__(self, vocab: Mapping[str, int]) -> None:
        """Create it from a vocabulary in the characters of `byte_level`."""
        self._vocab = dict(vocab)
        self._ids = {from_characters(text): token_id for text, token_id in vocab.items()}
        self._tokens = {token_id: token for token, token_id in self._ids.items()}
        sizes: dict[bytes, set[int]] = {}
        for token in self._ids:
            sizes.setdefault(token[:2], set()).add(len(token))
        # The sizes of tokens that start with two bytes, longest first.
        self._sizes = {start: sorted(known, reverse=True) for start, known in sizes.items()}

    def stretch(self, text: str, first: int, stop: int) -> bytes:
        """Return the bytes of some tokens of a text."""
        return b"".join(self._tokens[one] for one in self.encode(text).ids[first:stop])

    def token_id(self, token: bytes) -> int | None:
        """Return the id of a token."""
        return self._ids.get(token)

    @property
    def longest(self) -> int:
        """The number of bytes of the longest token."""
        return max(map(len, self._ids))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the vocabulary."""
        return self._vocab

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the added tokens: none."""
        return {}

    def encode(self, text: str, add_special_tokens: bool = False) -> LibraryLikeEncoding:
        """Encode text.

        Raises:
            ValueError: If a byte has no token.
        """
        data = text.encode()
        # The character that contains each byte, so that an offset of a part covers the whole.
        char_of = [number for number, char in enumerate(text) for _ in char.encode()]
        found, at = LibraryLikeEncoding([], [], []), 0
        while at < len(data):
            for size in [*self._sizes.get(data[at : at + 2], ()), 1]:
                token = data[at : at + size]
                if (token_id := self._ids.get(token)) is not None:
                    break
            else:
                raise ValueError(f"the byte 0x{data[at]:02x} has no token")
            found.add(token_id, char_of[at], char_of[at + len(token) - 1] + 1, 0)
            at += len(token)
        return found

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = False) -> str:
        """Decode ids."""
        return b"".join(self._tokens.get(one, b"") for one in ids).decode("utf-8", "replace")
