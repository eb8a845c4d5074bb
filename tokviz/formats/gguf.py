"""Reader for the tokenizer in the metadata of a GGUF file, llama.cpp's format of models.

Only the metadata at the start of the file is read, so the size of the model does not matter. Of a
model in several files, the first one has the metadata. Source: ggml-org/ggml `docs/gguf.md` and
llama.cpp `src/llama-vocab.cpp`.

`assets/words/gguf_split_patterns.json` has the regexes of llama.cpp for each of its pre-tokenizers,
where a name such as "gpt2" is a split pattern of tokviz.
"""

from __future__ import annotations

import json
import mmap
import re
import struct
from array import array
from base64 import b64encode
from functools import cache
from typing import Any

from tokviz.errors import InputFileError
from tokviz.formats import equivalents
from tokviz.formats.byte_level import to_characters
from tokviz.formats.draft import MAX_TOKEN_ID
from tokviz.formats.huggingface import pre_tokenizer
from tokviz.formats.sentencepiece import unigram_model
from tokviz.storage.assets import asset_path
from tokviz.storage.files import StrPath, reading
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern

MAGIC = b"GGUF"

Json = dict[str, Any]

_TYPECODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
              12: "d"}  # fmt: skip
_STRING, _ARRAY = 8, 9
_SIZE = struct.Struct("<Q")
_MOST_KEYS = 10_000
_MOST_ITEMS = 4 * MAX_TOKEN_ID

_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4
"""Values of `tokenizer.ggml.token_type`; see `llama_token_type` in llama.cpp `include/llama.h`."""

_USE_ANOTHER = "choose the tokenizer.json of the same model"


class _Metadata:
    """The position in the metadata of a file.

    Every method raises `InputFileError` with the byte offset if the file is damaged.
    """

    def __init__(self, data: mmap.mmap | bytes, path: StrPath) -> None:
        self._data, self._path, self._at = data, path, 0

    def error(self, reason: str, at: int | None = None) -> InputFileError:
        return InputFileError(self._path, f"byte {self._at if at is None else at:,}: {reason}")

    def number(self, typecode: str) -> Any:
        size = struct.calcsize("<" + typecode)
        return struct.unpack("<" + typecode, self.bytes(size))[0]

    def bytes(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise self.error("the metadata is cut off: download the file again")
        part = self._data[self._at : end]
        self._at = end
        return part

    def string(self) -> str:
        start, data = self.bytes(self.number("Q")), self._at
        try:
            return start.decode()
        except UnicodeDecodeError:
            raise self.error("a text of the metadata is not UTF-8", data - len(start)) from None

    def strings(self, n_items: int) -> list[str]:
        """Read many texts, without a call for each."""
        data, at, n_bytes, size_at = self._data, self._at, len(self._data), _SIZE.unpack_from
        found = []
        try:
            for _ in range(n_items):
                start = at + 8
                end = start + size_at(data, at)[0]
                if end > n_bytes:
                    break
                found.append(data[start:end].decode())
                at = end
        except UnicodeDecodeError:
            raise self.error("a text of the metadata is not UTF-8", at) from None
        except struct.error:
            pass  # too few bytes for a size
        if len(found) < n_items:
            raise self.error("the metadata is cut off: download the file again", at)
        self._at = at
        return found

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            of, n_items = self.number("I"), self.number("Q")
            if n_items > _MOST_ITEMS:
                raise self.error(f"a list of {n_items:,} values is longer than any vocabulary")
            if of == _STRING:
                return self.strings(n_items)
            if of in _TYPECODES:
                size = struct.calcsize("<" + _TYPECODES[of])
                numbers = self.bytes(size * n_items)
                return array(_TYPECODES[of].replace("?", "B"), numbers).tolist()
            raise self.error(f"a list of values of the unknown kind {of}")
        if kind in _TYPECODES:
            return self.number(_TYPECODES[kind])
        raise self.error(f"a value of the unknown kind {kind}")

    def entries(self) -> Json:
        if self.bytes(4) != MAGIC:
            raise self.error("is not a GGUF file")
        version, _, n_keys = self.number("I"), self.number("Q"), self.number("Q")
        if version not in (2, 3):
            raise self.error(f"GGUF version {version:,}, or big-endian numbers: convert the model "
                             "again with llama.cpp", 4)  # fmt: skip
        if n_keys > _MOST_KEYS:
            raise self.error(f"{n_keys:,} keys of metadata are more than any model has", 16)
        found: Json = {}
        for _ in range(n_keys):
            key = self.string()
            found[key] = self.value(self.number("I"))
        return found


def read_metadata(path: StrPath) -> Json:
    """Read the metadata of a GGUF file, or of the first file of a split model.

    Raises:
        InputFileError: If it cannot be read or is damaged; it names the byte offset.
    """
    with reading(path), open(path, "rb") as file:
        if not file.read(1):
            raise InputFileError(path, "is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Metadata(data, path).entries()


def read_gguf(path: StrPath) -> Json:
    """Return the content of a `tokenizer.json` that is equivalent to the tokenizer of a GGUF file.

    Raises:
        InputFileError: If the file is damaged, has no tokenizer, or one of an unknown kind.
    """
    metadata = read_metadata(path)
    if metadata.get("split.no"):
        reason = "is a part of a model: put the first part, -00001-of-…, beside it"
        raise InputFileError(path, reason)
    kind, tokens = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.tokens")
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(_KINDS)
        what = "no tokenizer" if kind is None else f"a tokenizer of the kind {str(kind)[:40]!r}"
        raise InputFileError(path, f"tokenizer.ggml.model: {what}, not {known}: {_USE_ANOTHER}")
    for key, of in (("tokens", str), ("merges", str), ("scores", float), ("token_type", int)):
        value = metadata.get(f"tokenizer.ggml.{key}", [] if key != "tokens" else None)
        if not isinstance(value, list) or not all(isinstance(item, of) for item in value[:1]):
            raise InputFileError(path, f"tokenizer.ggml.{key}: is not a list of {of.__name__}")
        if key in ("scores", "token_type") and value and len(value) != len(tokens or ()):
            raise InputFileError(path, f"tokenizer.ggml.{key}: has {len(value):,} values for "
                                       f"{len(tokens or ()):,} tokens")  # fmt: skip
    content: Json = _KINDS[kind](metadata, path)
    _add_special_tokens(content, metadata)
    return content | {"tokenizer_config": _config(metadata)}


_TEMPLATE = "tokenizer.chat_template"


def _config(metadata: Json) -> Json:
    """Return what a `tokenizer_config.json` holds for chat templates."""
    tokens = metadata["tokenizer.ggml.tokens"]
    config: Json = {}
    names = {"bos": "bos", "eos": "eos", "unknown": "unk", "padding": "pad"}
    for name, short in names.items():
        number = metadata.get(f"tokenizer.ggml.{name}_token_id")
        if isinstance(number, int) and 0 <= number < len(tokens):
            config[f"{short}_token"] = tokens[number]
    config["chat_template"] = [
        {"name": key.removeprefix(_TEMPLATE).lstrip(".") or "default", "template": text}
        for key, text in metadata.items()
        if isinstance(text, str) and (key == _TEMPLATE or key.startswith(f"{_TEMPLATE}."))
    ]
    return config


def _add_special_tokens(content: Json, metadata: Json) -> None:
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    id_of = {text: token_id for token_id, text in enumerate(tokens)}
    types = metadata.get("tokenizer.ggml.token_type", [])
    name = str(metadata.get("general.name", "")).lower()
    content["added_tokens"] = [
        equivalents.added_token(
            text,
            token_id,
            special=types[token_id] != _USER_DEFINED,
            rstrip=("phi-3" in name or "phi3" in name)
            and text not in ("<unk>", "<s>", "<|endoftext|>"),
        )
        for text, token_id in id_of.items()
        if text and types[token_id : token_id + 1]
        and (types[token_id] in (_CONTROL, _USER_DEFINED, _UNKNOWN))
    ]  # fmt: skip


@cache
def _split_patterns() -> tuple[dict[str, list[str]], frozenset[str]]:
    table = json.loads(asset_path("words/gguf_split_patterns.json").read_bytes())
    patterns = {name: row["patterns"] for row in table["split_patterns"] for name in row["pre"]}
    return patterns, frozenset(table["ignore_merges"])


def _vocab(metadata: Json) -> dict[str, int]:
    return {text: number for number, text in enumerate(metadata["tokenizer.ggml.tokens"])}


def _byte_level(metadata: Json, path: StrPath) -> Json:
    name = metadata.get("tokenizer.ggml.pre", "default")
    patterns, ignoring = _split_patterns()
    if name == "gemma4":
        return _gemma4(metadata, path)
    if name not in patterns:
        reason = f"tokenizer.ggml.pre: {str(name)[:40]!r} is not a pre-tokenizer that tokviz knows"
        raise InputFileError(path, f"{reason}: {_USE_ANOTHER}")
    splits = []
    for pattern in patterns[name]:
        splits += pre_tokenizer(get_split_pattern(pattern, guarded=False))["pretokenizers"][:-1]
    merges = metadata.get("tokenizer.ggml.merges", [])
    content = equivalents.byte_level_bpe(
        _vocab(metadata), merges, splits, ignore_merges=name in ignoring
    )
    if name == "default":
        content["guesses"] = ["the file names no pre-tokenizer: llama.cpp's default is a guess"]
    return content


def _gemma4(metadata: Json, path: StrPath) -> Json:
    merges = [[merge[: (at := merge.find(" ", 1))], merge[at + 1 :]]
              for merge in metadata.get("tokenizer.ggml.merges", [])]  # fmt: skip
    content = equivalents.sentencepiece_bpe(
        _vocab(metadata), merges, prefix=False, unknown=_unknown(metadata)
    )
    lines = {"type": "Split", "pattern": {"Regex": r"\n+"}, "behavior": "Isolated", "invert": False}
    return content | {"pre_tokenizer": lines}


def _unknown(metadata: Json) -> str | None:
    tokens = metadata["tokenizer.ggml.tokens"]
    number = metadata.get("tokenizer.ggml.unknown_token_id")
    if isinstance(number, int) and 0 <= number < len(tokens):
        return str(tokens[number])
    return "<unk>" if "<unk>" in tokens else None


def _scores(metadata: Json, path: StrPath) -> list[float]:
    scores = metadata.get("tokenizer.ggml.scores", [])
    if not scores:
        raise InputFileError(path, f"tokenizer.ggml.scores: is missing: {_USE_ANOTHER}")
    return list(scores)


def _sentencepiece_bpe(metadata: Json, path: StrPath) -> Json:
    vocab, scores = _vocab(metadata), _scores(metadata, path)
    types = metadata.get("tokenizer.ggml.token_type") or [1] * len(scores)
    merged = {text: scores[at] for text, at in vocab.items() if types[at] in (1, _USER_DEFINED)}
    return equivalents.sentencepiece_bpe(
        vocab,
        equivalents.merges_by_score(merged),
        prefix=bool(metadata.get("tokenizer.ggml.add_space_prefix", True)),
        unknown=_unknown(metadata),
    )


class _Unigram:
    """The parts of Unigram in the metadata."""

    def __init__(self, metadata: Json, path: StrPath) -> None:
        tokens, scores = metadata["tokenizer.ggml.tokens"], _scores(metadata, path)
        types = metadata.get("tokenizer.ggml.token_type") or [1] * len(tokens)
        self.pieces: list[tuple[str, float, int]] = [*zip(tokens, scores, types, strict=True)]
        charsmap = metadata.get("tokenizer.ggml.precompiled_charsmap", [])
        try:
            self.charsmap = b"".join(one.to_bytes(1, signed=one < 0) for one in charsmap)
        except (AttributeError, TypeError, OverflowError):
            key = "tokenizer.ggml.precompiled_charsmap"
            raise InputFileError(path, f"{key}: is not a list of bytes") from None
        self.squeeze = bool(metadata.get("tokenizer.ggml.remove_extra_whitespaces", False))
        self.prefix = bool(metadata.get("tokenizer.ggml.add_space_prefix", False))
        unknown = metadata.get("tokenizer.ggml.unknown_token_id")
        self.unknown = unknown if isinstance(unknown, int) else 2


def _unigram(metadata: Json, path: StrPath) -> Json:
    parts = _Unigram(metadata, path)
    return equivalents.unigram(
        [(text, score) for text, score, _ in parts.pieces],
        parts.unknown,
        charsmap=b64encode(parts.charsmap).decode(),
        squeeze=parts.squeeze,
        prefix=parts.prefix,
    )


def unigram_of(path: StrPath) -> bytes:
    """Return the Unigram of a GGUF file as the content of a SentencePiece model.

    Raises:
        InputFileError: If the file is damaged.
    """
    parts = _Unigram(read_metadata(path), path)
    return unigram_model(parts.pieces, parts.charsmap, prefix=parts.prefix, squeeze=parts.squeeze)


def _wordpiece(metadata: Json, path: StrPath) -> Json:
    lowercase = bool(metadata.get("tokenizer.ggml.normalizer.lowercase", True))
    types = metadata.get("tokenizer.ggml.token_type", [])
    vocab = {}
    for text, number in _vocab(metadata).items():
        special = types[number : number + 1] in ([_CONTROL], [_UNKNOWN])
        spelled = text[1:] if text.startswith("▁") else f"##{text}"
        vocab[text if special else spelled] = number
    accents = metadata.get("tokenizer.ggml.normalizer.strip_accents", lowercase)
    return equivalents.wordpiece(vocab, lowercase=lowercase, strip_accents=bool(accents))


_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([nrt\\]))")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


def _rwkv(metadata: Json, path: StrPath) -> Json:
    def bytes_of(text: str) -> bytes:
        return _ESCAPE.sub(
            lambda match: bytes.fromhex(match[1].decode()) if match[1] else _ESCAPES[match[2]],
            text.encode(),
        )

    types = metadata.get("tokenizer.ggml.token_type", [])
    return equivalents.longest_match(
        {
            to_characters(bytes_of(text)): number
            for text, number in _vocab(metadata).items()
            if types[number : number + 1] not in ([_CONTROL], [_UNKNOWN])
        }
    )


_KINDS = {
    "gpt2": _byte_level,
    "llama": _sentencepiece_bpe,
    "bert": _wordpiece,
    "t5": _unigram,
    "rwkv": _rwkv,
    "gemma4": _gemma4,
}
