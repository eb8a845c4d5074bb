"""Split patterns and special tokens of known vocabularies, which rank files do not hold.

A `.tiktoken` file holds only tokens and ranks. OpenAI's are recognized by their checksums (from
`tiktoken_ext/openai_public.py` of tiktoken), Qwen's by its tokens, Llama 3's and Qwen3.5's by their
number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from tokviz.formats.registry import resolve_name
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.encoding.packed import PackedRanks


class KnownVocabulary(NamedTuple):
    """A known vocabulary.

    Attributes:
        title: Its name.
        split_pattern: The name of its split pattern, or its regex.
        special_tokens: Special token text → id.
        nfc: Whether its tokenizer normalizes text to NFC first.
    """

    title: str
    split_pattern: str
    special_tokens: dict[str, int]
    nfc: bool = False


def _llama3() -> dict[str, int]:
    """Source: meta-llama/llama3 `llama/tokenizer.py`."""
    texts = [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        *(f"<|reserved_special_token_{number}|>" for number in range(4)),
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|reserved_special_token_4|>",
        "<|eot_id|>",
        *(f"<|reserved_special_token_{number}|>" for number in range(5, 251)),
    ]
    return {text: 128_000 + number for number, text in enumerate(texts)}


def _qwen() -> dict[str, int]:
    """Source: Qwen/Qwen-7B `tokenization_qwen.py`."""
    texts = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    texts += [f"<|extra_{number}|>" for number in range(205)]
    return {text: 151_643 + number for number, text in enumerate(texts)}


def _qwen35() -> dict[str, int]:
    """Source: the `tokenizer.json` of Qwen3.5, which has Qwen3's added tokens in the same order."""
    in_bars = (
        "endoftext im_start im_end object_ref_start object_ref_end box_start box_end quad_start "
        "quad_end vision_start vision_end vision_pad image_pad video_pad"
    )
    texts = [f"<|{name}|>" for name in in_bars.split()]
    texts += ["<tool_call>", "</tool_call>"]
    in_bars = "fim_prefix fim_middle fim_suffix fim_pad repo_name file_sep"
    texts += [f"<|{name}|>" for name in in_bars.split()]
    texts += ["<tool_response>", "</tool_response>", "<think>", "</think>"]
    return {text: 248_044 + number for number, text in enumerate(texts)}


_QWEN35_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Qwen2's, but marks belong to the word. Source: llama.cpp `src/llama-vocab.cpp` (`QWEN35`)."""


def _like(name: str, title: str) -> KnownVocabulary:
    """Return a vocabulary with the split pattern and special tokens of a built-in tokenizer."""
    builtin = resolve_name(name)
    return KnownVocabulary(title, builtin.split_pattern, builtin.special_tokens)


_BY_CHECKSUM = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": _like(
        "gpt2", "r50k_base (GPT-2, GPT-3)"
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": _like(
        "gpt2", "p50k_base (Codex)"
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": _like(
        "cl100k_base", "cl100k_base (GPT-4)"
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": _like(
        "o200k_base", "o200k_base (GPT-4o)"
    ),
}

_BY_SIZE = {
    128_000: KnownVocabulary("Llama 3", "llama3", _llama3()),
    151_643: KnownVocabulary("Qwen", "qwen2", _qwen(), nfc=True),
    248_044: KnownVocabulary("Qwen3.5", _QWEN35_PATTERN, _qwen35()),
}
WHISPER = KnownVocabulary(
    "Whisper", "gpt2", {"<|endoftext|>": 50257, "<|startoftranscript|>": 50258}
)
"""`multilingual.tiktoken`; the other special tokens depend on the number of its languages. Source:
openai/whisper `whisper/tokenizer.py`."""
WHISPER_EMPTY = 50256
"""The id of its token without bytes, the last one of the file."""


def known_by_checksum(data: bytes) -> KnownVocabulary | None:
    """Identify the vocabulary of a rank file by its checksum."""
    return _BY_CHECKSUM.get(hashlib.sha256(data).hexdigest())


def known_by_content(tokens: Sequence[bytes]) -> KnownVocabulary | None:
    """Identify a vocabulary by its tokens, in the order of their ranks."""
    # Qwen's published files differ in bytes.
    qwen = PackedRanks(asset_path("vocab/qwen.ranks"))
    is_qwen = len(qwen.ids()) == len(tokens) and qwen.tokens() == tokens
    return _BY_SIZE[len(tokens)] if is_qwen else None


def known_by_size(n_tokens: int) -> KnownVocabulary | None:
    """Guess a vocabulary by its number of tokens, for ranks without gaps."""
    return _BY_SIZE.get(n_tokens)
