"""Small GGUF files."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tokviz.formats.byte_level import to_characters


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case str():
            return struct.pack("<I", 8) + text(value)
        case [str(), *_]:
            items = b"".join(map(text, value))
            return struct.pack("<IIQ", 9, 8, len(value)) + items
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    raise ValueError(value)


def gguf(metadata: dict[str, Any]) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(metadata))
    return head + b"".join(text(key) + _value(value) for key, value in metadata.items())


def byte_level(**more: Any) -> bytes:
    """GPT-2's kind: bytes, the token "he", a control token and a user-defined one."""
    tokens = [*(to_characters(bytes([byte])) for byte in range(256)), "he", "<|end|>", "<tool>"]
    return gguf(
        {
            "general.architecture": "llama",
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "llama-bpe",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [1] * 257 + [3, 4],
            "tokenizer.ggml.merges": ["h e"],
            "tokenizer.ggml.eos_token_id": 257,
            **more,
        }
    )


def sentencepiece(**more: Any) -> bytes:
    """Llama's kind: unknown, control, bytes, and a few pieces with scores."""
    pieces = ["▁", "a", "b", "ab", "▁a", "▁ab", "aa"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    scores = [0.0] * 259 + [-10.0, -11.0, -12.0, -1.0, -2.0, -3.0, -4.0]
    return gguf(
        {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.scores": scores,
            "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * len(pieces),
            **more,
        }
    )


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path
