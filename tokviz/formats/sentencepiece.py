"""SentencePiece's `.model` files: reader, and encoder with the `sentencepiece` package.

The reader makes the equivalent `tokenizer.json`, whose vocabulary and merges explain the tokens.
The package encodes, because Hugging Face's library normalizes some texts differently. Source:
google/sentencepiece `src/sentencepiece_model.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from tokviz.errors import InputFileError, JobError, missing_package
from tokviz.formats import equivalents
from tokviz.formats.rwkv import LibraryLikeEncoding
from tokviz.storage.files import StrPath, read_file
from tokviz.tokenizer.encoding.specials import SpecialTokens, segments

Json = dict[str, Any]

MAX_BYTES = 64_000_000

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
_BPE, _UNIGRAM = 2, 1


def _fields(data: bytes, path: StrPath, start: int = 0) -> Iterator[tuple[int, Any]]:
    """Yield the number and value of every field of a protobuf message.

    Raises:
        InputFileError: If it is damaged; it names the byte offset from `start`.
    """
    at, end = 0, len(data)

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while at < end and shift < 64:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise InputFileError(path, f"byte {start + at:,}: the SentencePiece model is cut off or "
                                   "damaged: download it again")  # fmt: skip

    while at < end:
        key = varint()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7, -1)
        value: Any = varint() if key & 7 in (0, 2) else 0
        size = value if key & 7 == 2 else size
        if size < 0 or at + size > end or not key >> 3:
            raise InputFileError(path, f"byte {start + at:,}: the SentencePiece model is cut off "
                                       "or damaged: download it again")  # fmt: skip
        if key & 7:
            value = data[at : at + size]
            at += size
        yield key >> 3, value


class _Model:
    """The parts of a SentencePiece model that tokviz uses."""

    def __init__(self, path: StrPath) -> None:
        data = read_file(path, limit=MAX_BYTES)
        self.pieces: list[tuple[str, float, int]] = []
        trainer: dict[int, Any] = {}
        normalizer: dict[int, Any] = {}
        for number, value in _fields(data, path):
            if number in (1, 2, 3) and not isinstance(value, bytes):
                raise InputFileError(path, f"is not a SentencePiece model: field {number} of it "
                                           "is a number")  # fmt: skip
            if number == 1:
                self.pieces.append(self._piece(value, path))
            elif number == 2:
                trainer = dict(_fields(value, path))
            elif number == 3:
                normalizer = dict(_fields(value, path))
        self.type = trainer.get(3, _UNIGRAM)
        charsmap = normalizer.get(2)
        self.charsmap = charsmap if isinstance(charsmap, bytes) else b""
        self.prefix, self.squeeze = bool(normalizer.get(3, 1)), bool(normalizer.get(4, 1))
        if not self.pieces or self.type not in (_BPE, _UNIGRAM):
            what = "has no pieces" if not self.pieces else f"is of the unknown type {self.type}"
            raise InputFileError(path, f"the SentencePiece model {what}: choose a tokenizer.json")

    def _piece(self, value: bytes, path: StrPath) -> tuple[str, float, int]:
        fields = dict(_fields(value, path))
        text, score, kind = fields.get(1), fields.get(2, bytes(4)), fields.get(3, _NORMAL)
        try:
            assert isinstance(text, bytes) and isinstance(kind, int)
            return text.decode(), struct.unpack("<f", score)[0], kind
        except (AssertionError, UnicodeDecodeError, struct.error, TypeError):
            reason = f"piece {len(self.pieces):,}: its text, score or type is damaged"
            raise InputFileError(path, f"{reason}: download the file again") from None


def read_sentencepiece(path: StrPath) -> Json:
    """Return the equivalent content of a `tokenizer.json`.

    Raises:
        InputFileError: If the file is damaged, or of an unknown type.
    """
    model = _Model(path)
    texts = [text for text, _, _ in model.pieces]
    vocab = {text: number for number, text in enumerate(texts)}
    if len(vocab) < len(texts):
        raise InputFileError(path, "two pieces of the SentencePiece model have the same text")
    unknown = next((text for text, _, kind in model.pieces if kind == _UNKNOWN), texts[0])
    is_bpe = model.type == _BPE
    scores = {text: score for text, score, kind in model.pieces
              if not is_bpe or kind in (_NORMAL, _USER_DEFINED)}  # fmt: skip
    content = equivalents.sentencepiece(
        scores, vocab, unknown, is_bpe=is_bpe, prefix=model.prefix, squeeze=model.squeeze,
        charsmap=model.charsmap,
    )  # fmt: skip
    content["added_tokens"] = [
        equivalents.added_token(text, number, special=kind != _USER_DEFINED)
        for number, (text, _, kind) in enumerate(model.pieces)
        if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED) and text
    ]
    return content


def unigram_model(
    pieces: Iterable[tuple[str, float, int]], charsmap: bytes, prefix: bool, squeeze: bool
) -> bytes:
    """Return the content of a `.model` file of Unigram with these pieces; see `_Model`."""

    def varint(value: int) -> bytes:
        low = bytes([value & 127 | (value > 127) << 7])
        return low + varint(value >> 7) if value > 127 else low

    def field(number: int, value: bytes | bool | int) -> bytes:
        if isinstance(value, bytes):
            return varint(number << 3 | 2) + varint(len(value)) + value
        return varint(number << 3) + varint(value)

    listed = (
        field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + field(3, kind))
        for text, score, kind in pieces
    )
    normalizer = field(2, charsmap) + field(3, prefix) + field(4, squeeze)
    return b"".join(listed) + field(2, field(3, _UNIGRAM)) + field(3, normalizer)


class SentencePieceTokenizer:
    """The `sentencepiece` package, with the methods of `tokenizers.Tokenizer` that tokviz uses.

    Attributes:
        encode_special_tokens: Whether special tokens are text.
    """

    encode_special_tokens = False

    def __init__(self, model: bytes, equivalent: Any) -> None:
        """Load a model.

        Args:
            model: The content of a `.model` file.
            equivalent: The equivalent `tokenizers.Tokenizer`, for everything except encoding.

        Raises:
            JobError: If the package is missing or rejects the file.
        """
        try:
            import sentencepiece  # an optional package
        except ImportError:
            raise JobError(f"a SentencePiece model {missing_package('sentencepiece')}") from None
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except Exception as error:  # the package raises nothing more precise
            raise JobError(f"SentencePiece rejects it: {str(error)[:200]}") from None
        self._equivalent = equivalent
        added = equivalent.get_added_tokens_decoder()
        self._specials = SpecialTokens({token.content: number for number, token in added.items()})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._equivalent, name)

    def encode(self, text: str, add_special_tokens: bool = False) -> LibraryLikeEncoding:
        """Encode text; each part between special tokens on its own."""
        found = LibraryLikeEncoding([], [], [])
        at = 0
        parts = segments(text, self._specials.search(not self.encode_special_tokens))
        for number, (part, special) in enumerate(parts):
            if special:
                found.add(self._specials.ids[part], at, at + len(part), number)
            else:
                encoded = self._processor.encode_as_offset_mapping(part)
                for token_id, (start, end) in zip(encoded["ids"], encoded["offsets"], strict=True):
                    found.add(token_id, at + start, at + end, number)
            at += len(part)
        return found

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = False) -> str:
        """Decode ids."""
        return str(self._equivalent.decode([*ids], skip_special_tokens=skip_special_tokens))
