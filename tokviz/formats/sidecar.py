"""Sidecar files for the properties that a saved file cannot hold: `name.tiktoken.tokviz`.

A sidecar file is JSON: `{"sha256": of the saved file, "split_pattern": {"name", "regex"},
"special_tokens": {text: id}, "guess": a warning that the split pattern is a guess, or ""}`. It is
ignored if the saved file has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from os import fspath
from typing import NamedTuple

from tokviz.errors import FormatError, TokvizError
from tokviz.formats.draft import notes_of_guess
from tokviz.storage.files import StrPath, read_file
from tokviz.storage.json_file import MAX_JSON_BYTES, read_json
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern
from tokviz.tokenizer.report import FileFinding
from tokviz.tokenizer.tokenizer import Tokenizer

SUFFIX = ".tokviz"


class Sidecar(NamedTuple):
    """Properties of a tokenizer that its saved file cannot hold."""

    split_pattern: SplitPattern
    special_tokens: dict[str, int]
    notes: list[FileFinding]
    """A note that the split pattern is a guess, if it is one."""


def to_sidecar(tokenizer: Tokenizer, data: bytes) -> bytes:
    """Return the sidecar for a saved file with this content.

    Raises:
        FormatError: If the split pattern has steps.
    """
    pattern = tokenizer.split_pattern
    if pattern.in_steps:
        reason = "its split pattern has several steps, which only tokenizer.json can store"
        raise FormatError(f"{tokenizer.name}: {reason}: use the format huggingface")
    content = {
        "sha256": hashlib.sha256(data).hexdigest(),
        "split_pattern": {"name": pattern.name, "regex": pattern.regex},
        "special_tokens": tokenizer.special_tokens,
        "guess": tokenizer.pattern_doubt,
    }
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def read_sidecar(path: StrPath) -> Sidecar | None:
    """Read the sidecar of a file; return None if there is none, or the file has changed."""
    beside = fspath(path) + SUFFIX
    if not os.path.isfile(beside):
        return None
    try:
        content = read_json(beside)
        data = read_file(path, limit=MAX_JSON_BYTES)
        if content["sha256"] != hashlib.sha256(data).hexdigest():
            return None
        name, regex = content["split_pattern"]["name"], content["split_pattern"]["regex"]
        specials = content["special_tokens"]
        if not all(isinstance(token_id, int) for token_id in specials.values()):
            return None
        known = SPLIT_PATTERNS.get(name)
        same = known is not None and known.regex == regex
        pattern = known if known and same else get_split_pattern(regex)
        return Sidecar(pattern, dict(specials), notes_of_guess(content.get("guess")))
    except (TokvizError, KeyError, TypeError, AttributeError):
        return None
