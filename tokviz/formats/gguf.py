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
from typing import Any

from tokviz.errors import InputFileError
from tokviz.formats.byte_level import to_characters
from tokviz.formats.draft import MAX_TOKEN_ID
from tokviz.formats.equivalents import added_token, byte_level, equivalent, sentencepiece
from tokviz.storage.assets import asset_path
from tokviz.storage.files import StrPath, reading
from tokviz.tokenizer.pretokenize.patterns import get_split_pattern

MAGIC = b"GGUF"

Json = dict[str, Any]

_TYPECODES = dict(enumerate(["B", "b", "H", "h", "I", "i", "f", "?"])) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_SIZE = struct.Struct("<Q")
_MOST_KEYS, _MOST_ITEMS = 10_000, 4 * MAX_TOKEN_ID

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
"""Values of `tokenizer.ggml.token_type`; see `llama_token_type` in llama.cpp `include/llama.h`."""

_TEMPLATE = "tokenizer.chat_template"
_USE_ANOTHER = "choose the tokenizer.json of the same model"
_CUT_OFF = "the metadata is cut off: download the file again"


class _Metadata:
    """A position in the metadata. Its methods raise `InputFileError` with the byte offset."""

    def __init__(self, data: mmap.mmap, path: StrPath) -> None:
        self._data, self._path, self._at = data, path, 0

    def error(self, reason: str) -> InputFileError:
        return InputFileError(self._path, f"byte {self._at:,}: {reason}")

    def numbers(self, typecode: str, n: int = 1) -> tuple[Any, ...]:
        size = n * struct.calcsize(f"<{typecode}")
        if self._at + size > len(self._data):
            raise self.error(_CUT_OFF)
        self._at += size
        return struct.unpack_from(f"<{n}{typecode}", self._data, self._at - size)

    def strings(self, n: int = 1) -> list[str]:
        data, at, n_bytes, size_at, found = self._data, self._at, len(self._data), _SIZE, []
        try:
            for _ in range(n):  # without a call for each
                start = at + 8
                end = start + size_at.unpack_from(data, at)[0]
                if end > n_bytes:
                    raise struct.error
                found.append(data[start:end].decode())
                at = end
        except (struct.error, UnicodeDecodeError) as error:
            self._at = at
            raise self.error(_CUT_OFF if isinstance(error, struct.error)
                             else "a text of the metadata is not UTF-8") from None  # fmt: skip
        self._at = at
        return found

    def value(self) -> Any:
        (kind,), n = self.numbers("I"), 1
        if is_list := kind == _ARRAY:
            (kind,), (n,) = self.numbers("I"), self.numbers("Q")
        if n > _MOST_ITEMS or kind not in (*_TYPECODES, _STRING):
            raise self.error(f"{n:,} values of the kind {kind} are not in any model")
        items = self.strings(n) if kind == _STRING else [*self.numbers(_TYPECODES[kind], n)]
        return items if is_list else items[0]

    def entries(self) -> Json:
        self._at = len(MAGIC)
        (version,), (_, n_keys) = self.numbers("I"), self.numbers("Q", 2)
        if version not in (2, 3) or n_keys > _MOST_KEYS:
            raise self.error(f"GGUF version {version:,} with {n_keys:,} keys, or big-endian "
                             "numbers: convert the model again with llama.cpp")  # fmt: skip
        return {self.strings()[0]: self.value() for _ in range(n_keys)}


class _Fields:
    """The fields of a tokenizer in the metadata, as far as every kind needs them."""

    def __init__(self, path: StrPath) -> None:
        with (
            reading(path),
            open(path, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            self.metadata = _Metadata(data, path).entries()
        self.path = path
        self.tokens: list[str] = self._list("tokens", str)
        self.scores: list[float] = self._list("scores", float)
        self.merges: list[str] = self._list("merges", str)
        self.types: list[int] = self._list("token_type", int) or [_NORMAL] * len(self.tokens)
        self.vocab = {text: token_id for token_id, text in enumerate(self.tokens)}

    def get(self, key: str, default: Any = None) -> Any:
        return self.metadata.get(f"tokenizer.ggml.{key}", default)

    def error(self, key: str, reason: str) -> InputFileError:
        return InputFileError(self.path, f"tokenizer.ggml.{key}: {reason}: {_USE_ANOTHER}")

    def _list(self, key: str, of: type) -> list[Any]:
        value = self.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, of) for item in value[:1]):
            raise self.error(key, f"is not a list of {of.__name__}")
        if value and key in ("scores", "token_type") and len(value) != len(self.tokens):
            raise self.error(key, f"has {len(value):,} values for {len(self.tokens):,} tokens")
        return value

    def token(self, name: str) -> str | None:
        number = self.get(f"{name}_token_id")
        known = type(number) is int and 0 <= number < len(self.tokens)
        return self.tokens[number] if known else None


def read_gguf(path: StrPath) -> Json:
    """Return the content of a `tokenizer.json` that is equivalent to the tokenizer of a GGUF file.

    Its key `tokenizer_config` has what a `tokenizer_config.json` has for chat templates.

    Raises:
        InputFileError: If the file is damaged, has no tokenizer, or one of an unknown kind.
    """
    fields = _Fields(path)
    kind, metadata = fields.get("model"), fields.metadata
    if metadata.get("split.no"):
        reason = "is a part of a model: put the first part, -00001-of-…, beside it"
        raise InputFileError(path, reason)
    if kind not in _KINDS or not fields.tokens:
        raise fields.error("model", f"{str(kind)[:40]!r} is not one of {', '.join(_KINDS)}")
    content: Json = _KINDS[kind](fields)
    name = str(metadata.get("general.name", "")).lower()
    strips = "phi-3" in name or "phi3" in name
    content["added_tokens"] = [
        added_token(text, token_id, special=fields.types[token_id] != _USER_DEFINED,
                    rstrip=strips and text not in ("<unk>", "<s>", "<|endoftext|>"))
        for text, token_id in fields.vocab.items()
        if text and fields.types[token_id] in (_UNKNOWN, _CONTROL, _USER_DEFINED)
    ]  # fmt: skip
    names = {"bos": "bos", "eos": "eos", "unknown": "unk", "padding": "pad"}
    config: Json = {f"{short}_token": fields.token(name) for name, short in names.items()}
    config["chat_template"] = [
        {"name": key.removeprefix(_TEMPLATE).lstrip(".") or "default", "template": text}
        for key, text in metadata.items()
        if isinstance(text, str) and (key == _TEMPLATE or key.startswith(f"{_TEMPLATE}."))
    ]
    return content | {"tokenizer_config": config}


def _byte_level(fields: _Fields) -> Json:
    name = fields.get("pre", "default")
    table = json.loads(asset_path("words/gguf_split_patterns.json").read_bytes())
    found = [row["patterns"] for row in table["split_patterns"] if name in row["pre"]]
    if name == "gemma4":
        return _gemma4(fields)
    if not found:
        raise fields.error("pre", f"{str(name)[:40]!r} is not a pre-tokenizer that tokviz knows")
    patterns = [get_split_pattern(pattern, guarded=False) for pattern in found[0]]
    guess = "the file names no pre-tokenizer: llama.cpp's default is a guess"
    ignore = name in table["ignore_merges"]
    content = byte_level(patterns, vocab=fields.vocab, merges=fields.merges, ignore_merges=ignore)
    return content | {"guesses": [guess] if name == "default" else []}


def _gemma4(fields: _Fields) -> Json:
    ends = [merge.find(" ", 1) for merge in fields.merges]
    merges = [[merge[:at], merge[at + 1 :]] for merge, at in zip(fields.merges, ends, strict=True)]
    content = _sentencepiece(fields, merges=merges, prefix=False)
    lines = {"type": "Split", "pattern": {"Regex": r"\n+"}, "behavior": "Isolated", "invert": False}
    return content | {"pre_tokenizer": lines}


def _sentencepiece(fields: _Fields, **options: Any) -> Json:
    is_bpe = fields.get("model") != "t5"
    if not fields.scores and "merges" not in options:
        raise fields.error("scores", "is missing")
    scored = zip(fields.tokens, fields.scores or [0.0] * len(fields.tokens), fields.types,
                 strict=True)  # fmt: skip
    pieces = {text: score for text, score, kind in scored
              if not is_bpe or kind in (_NORMAL, _USER_DEFINED)}  # fmt: skip
    prefix = bool(fields.get("add_space_prefix", is_bpe))
    squeeze = bool(fields.get("remove_extra_whitespaces", False))
    unknown = fields.token("unknown") or "<unk>"
    options = {"prefix": prefix, "squeeze": squeeze and not is_bpe, **options}
    return sentencepiece(pieces, fields.vocab, unknown, is_bpe=is_bpe, charsmap=_charsmap(fields),
                         **options)  # fmt: skip


def _charsmap(fields: _Fields) -> bytes:
    try:
        return bytes(number & 255 for number in fields.get("precompiled_charsmap", []))
    except TypeError:
        raise fields.error("precompiled_charsmap", "is not a list of bytes") from None


def unigram_pieces(path: StrPath) -> tuple[list[tuple[str, float, int]], bytes, bool, bool]:
    """Return the pieces, normalization rules, prefix and squeeze of a GGUF file with Unigram.

    Raises:
        InputFileError: If the file is damaged.
    """
    fields = _Fields(path)
    prefix, squeeze = fields.get("add_space_prefix"), fields.get("remove_extra_whitespaces")
    pieces = [*zip(fields.tokens, fields.scores, fields.types, strict=True)]
    return pieces, _charsmap(fields), bool(prefix), bool(squeeze)


def _wordpiece(fields: _Fields) -> Json:
    def spelled(text: str) -> str:
        if fields.types[fields.vocab[text]] in (_CONTROL, _UNKNOWN):
            return text
        return text[1:] if text.startswith("▁") else f"##{text}"

    content = equivalent("wordpiece", vocab={spelled(t): i for t, i in fields.vocab.items()})
    lowercase = bool(fields.get("normalizer.lowercase", True))
    accents = bool(fields.get("normalizer.strip_accents", lowercase))
    content["normalizer"] |= {"lowercase": lowercase, "strip_accents": accents}
    return content


_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([nrt\\]))")
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


def _rwkv(fields: _Fields) -> Json:
    def spelled(text: str) -> str:
        return to_characters(_ESCAPE.sub(
            lambda match: bytes.fromhex(match[1].decode()) if match[1] else _ESCAPES[match[2]],
            text.encode(),
        ))  # fmt: skip

    ordinary = {spelled(text): number for text, number in fields.vocab.items()
                if fields.types[number] not in (_CONTROL, _UNKNOWN)}  # fmt: skip
    return equivalent("longest_match", vocab=ordinary)


_KINDS = {
    "gpt2": _byte_level, "llama": _sentencepiece, "t5": _sentencepiece, "bert": _wordpiece,
    "rwkv": _rwkv, "gemma4": _gemma4,
}  # fmt: skip
