"""How the texts of a library's tokens stand for bytes."""

from __future__ import annotations

import re
from typing import Any

from tokviz.formats.byte_level import from_characters
from tokviz.formats.hf_pattern import part_types

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")


class Spelling:
    """What a `tokenizer.json` says of it: a token's text is what the file's decoder makes bytes of.

    Attributes:
        byte_level: Whether every token is bytes in GPT-2's alphabet, and decoding joins them.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        """Take what the file holds, with or without its vocabulary."""
        kinds = part_types(content.get("decoder"))
        model = content.get("model")
        model = model if isinstance(model, dict) else {}
        self.byte_level = kinds == ["ByteLevel"]
        self._word_start = "▁" if {"Metaspace", "Replace"} & set(kinds) else None
        prefix = model.get("continuing_subword_prefix") or "##"
        self._prefix = prefix if "WordPiece" in kinds and isinstance(prefix, str) else ""
        suffix = model.get("end_of_word_suffix")
        self._suffix = suffix if isinstance(suffix, str) else ""

    def bytes_of(self, text: str) -> bytes:
        """Give the bytes of a token."""
        if self.byte_level:
            try:
                return from_characters(text)
            except ValueError:
                return text.encode("utf-8", "replace")
        if match := _BYTE_TOKEN.fullmatch(text):
            return bytes.fromhex(match[1])
        if self._word_start:
            text = text.replace(self._word_start, " ")
        if self._prefix and len(text) > len(self._prefix):
            text = text.removeprefix(self._prefix)
        if self._suffix and text.endswith(self._suffix):
            text = text.removesuffix(self._suffix) + " "
        return text.encode("utf-8", "replace")
