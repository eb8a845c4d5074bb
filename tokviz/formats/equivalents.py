"""Contents of a `tokenizer.json` that are equivalent to the tokenizers of other files.

With them, all formats share the readers, checks and child processes of `tokenizer.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]

LONGEST_MATCH = "RWKV"
"""The model type of `longest_match`, which Hugging Face's library does not have."""

_BYTE_LEVEL = {
    "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False,
}  # fmt: skip
_SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
_TO_SPACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
_STRIP_FIRST = {"type": "Strip", "content": " ", "start": 1, "stop": 0}


def sequence(kind: str, parts: Sequence[Json]) -> Json | None:
    """Join parts of one kind, such as "normalizers"; None if there are none."""
    return {"type": "Sequence", kind: [*parts]} if parts else None


def added_token(text: str, token_id: int, *, special: bool = True, **options: bool) -> Json:
    """Return an entry of `added_tokens`."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token_id, "content": text, **flags, "special": special, **options}


def byte_level_bpe(
    vocab: Mapping[str, int], merges: Iterable[Any], splits: Sequence[Json], *,
    ignore_merges: bool = False,
) -> Json:  # fmt: skip
    """Return byte-level BPE with pre-tokenizers."""
    return {
        "pre_tokenizer": sequence("pretokenizers", [*splits, _BYTE_LEVEL]),
        "decoder": _BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocab, "merges": [*merges],
                  "ignore_merges": ignore_merges},
    }  # fmt: skip


def sentencepiece_bpe(
    vocab: Mapping[str, int], merges: Iterable[Any], *, prefix: bool, unknown: str | None,
    charsmap: str = "", squeeze: bool = False,
) -> Json:  # fmt: skip
    """Return SentencePiece's BPE, which merges the whole text with `▁` for spaces."""
    before: list[Json] = [{"type": "Prepend", "prepend": "▁"}] if prefix else []
    normalizers = [*_normalizers(charsmap, squeeze), *before, _SPACE]
    decoders = [_TO_SPACE, {"type": "ByteFallback"}, {"type": "Fuse"}]
    has_bytes = "<0x00>" in vocab
    return {
        "normalizer": sequence("normalizers", normalizers),
        "decoder": sequence("decoders", [*decoders, *([_STRIP_FIRST] if prefix else [])]),
        "model": {"type": "BPE", "vocab": vocab, "merges": [*merges], "unk_token": unknown,
                  "fuse_unk": True, "byte_fallback": has_bytes},
    }  # fmt: skip


def merges_by_score(scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the merges of SentencePiece's BPE: every way to build a token, best score first.

    Of merges with equal results, the one with the longer left side is first, because
    SentencePiece applies the leftmost one.
    """
    found: list[tuple[float, int, tuple[str, str]]] = []
    for token, score in scores.items():
        for at in range(len(token) - 1, 0, -1):
            left, right = token[:at], token[at:]
            if left in scores and right in scores:
                found.append((-score, len(found), (left, right)))
    return [merge for _, _, merge in sorted(found)]


def unigram(
    scores: Sequence[tuple[str, float]], unknown: int, *, charsmap: str = "",
    squeeze: bool = False, prefix: bool = True,
) -> Json:  # fmt: skip
    """Return SentencePiece's Unigram; `charsmap` in base64, `squeeze` for runs of spaces."""
    spaces = {"type": "Metaspace", "replacement": "▁", "split": True,
              "prepend_scheme": "always" if prefix else "never"}  # fmt: skip
    return {
        "normalizer": sequence("normalizers", _normalizers(charsmap, squeeze)),
        "pre_tokenizer": spaces,
        "decoder": spaces,
        "model": {"type": "Unigram", "vocab": scores, "unk_id": unknown,
                  "byte_fallback": any(text == "<0x00>" for text, _ in scores)},
    }  # fmt: skip


def _normalizers(charsmap: str, squeeze: bool) -> list[Json]:
    precompiled: list[Json] = (
        [{"type": "Precompiled", "precompiled_charsmap": charsmap}] if charsmap else []
    )
    runs: list[Json] = [{"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]  # fmt: skip
    return precompiled + (runs if squeeze else [])


def wordpiece(vocab: Mapping[str, int], *, lowercase: bool, strip_accents: bool | None) -> Json:
    """Return BERT's WordPiece."""
    return {
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": strip_accents, "lowercase": lowercase},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    }  # fmt: skip


CLIP_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
"""The words of CLIP's tokenizer. Source: openai/CLIP `clip/simple_tokenizer.py`."""


def clip(vocab: Mapping[str, int], merges: Iterable[Any], unknown: str) -> Json:
    """Return CLIP's BPE with `</w>` at the ends of words."""
    normalizers: list[Json] = [
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ]
    words = {"type": "Split", "pattern": {"Regex": CLIP_WORDS}, "behavior": "Removed",
             "invert": True}  # fmt: skip
    return {
        "normalizer": sequence("normalizers", normalizers),
        "pre_tokenizer": sequence("pretokenizers", [words, _BYTE_LEVEL]),
        "decoder": _BYTE_LEVEL,
        "model": {"type": "BPE", "vocab": vocab, "merges": [*merges], "unk_token": unknown,
                  "continuing_subword_prefix": "", "end_of_word_suffix": "</w>"},
    }  # fmt: skip


def longest_match(vocab: Mapping[str, int]) -> Json:
    """Return RWKV's greedy longest match; tokens in the characters of `byte_level`."""
    model = {"type": LONGEST_MATCH, "vocab": vocab}
    return {"pre_tokenizer": None, "decoder": _BYTE_LEVEL, "model": model}
