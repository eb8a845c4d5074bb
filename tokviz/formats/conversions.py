"""Files that tokviz reads as their equivalent `tokenizer.json`.

To add one, write a function that returns the content (`tokviz.formats.equivalents`), and add one
entry to `CONVERSIONS`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokviz.errors import InputFileError
from tokviz.formats.equivalents import LONGEST_MATCH
from tokviz.formats.gguf import MAGIC, read_gguf, unigram_pieces
from tokviz.formats.recognize import find
from tokviz.formats.rwkv import RwkvTokenizer, read_rwkv
from tokviz.formats.sentencepiece import (
    MAX_BYTES,
    SentencePieceTokenizer,
    read_sentencepiece,
    unigram_model,
)
from tokviz.formats.wordlists import read_clip, read_hf_folder, read_wordpiece, with_config
from tokviz.storage.files import StrPath, file_state, read_file
from tokviz.storage.json_file import MAX_JSON_BYTES, read_json

Json = dict[str, Any]

CONVERSIONS: dict[str, Callable[[Path], Json]] = {
    "gguf": read_gguf,
    "sentencepiece": read_sentencepiece,
    "wordpiece": read_wordpiece,
    "rwkv": read_rwkv,
    "clip": read_clip,
    "folder": read_hf_folder,
}
"""Kind of file → function that reads the equivalent content of a `tokenizer.json`."""


def read_content(path: StrPath) -> Json:
    """Read a `tokenizer.json`, or the equivalent content of another file.

    Raises:
        InputFileError: If it cannot be read, or is damaged.
    """
    kind, place = _kind(path), Path(path)
    content = CONVERSIONS[kind](place) if kind else read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise InputFileError(path, "is not a tokenizer.json: its key 'model' is not an object")
    if kind is None:
        for key in _OWN_KEYS:
            content.pop(key, None)
        return content
    content = {"version": "1.0", "truncation": None, "padding": None, **_EMPTY, **content}
    return content if kind == "gguf" else with_config(content, place)


_OWN_KEYS = ("guesses", "tokenizer_config")
"""Keys that no `tokenizer.json` has: sentences about guesses, and a config for chat templates."""

_EMPTY: Json = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))


def _kind(path: StrPath) -> str | None:
    try:
        kind = find(path).kind
    except InputFileError:
        return None  # `read_json` describes the problem
    return kind if kind in CONVERSIONS else None


def own_tokenizer(path: StrPath, content: Json, made: Callable[[Json], Any]) -> Any:
    """Create the object that encodes: of Hugging Face's library, or of another one.

    Args:
        path: The file.
        content: The result of `read_content`.
        made: Creates the object of Hugging Face's library.

    Raises:
        JobError: If it cannot be created.
    """
    for key in _OWN_KEYS:
        content.pop(key, None)
    if content["model"].get("type") == LONGEST_MATCH:
        return RwkvTokenizer(content["model"]["vocab"])
    kind = _kind(path)
    if kind == "sentencepiece":
        return SentencePieceTokenizer(read_file(path, limit=MAX_BYTES), made(content))
    if kind == "gguf" and content["model"].get("type") == "Unigram":
        return SentencePieceTokenizer(unigram_model(*unigram_pieces(path)), made(content))
    return made(content)


def fingerprint(path: StrPath) -> str:
    """Return a text that changes with the file: a checksum, or its state if it has a model's size.

    Raises:
        InputFileError: If it cannot be read.
    """
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                return repr(file_state(path))
    return hashlib.sha256(read_file(path, limit=MAX_JSON_BYTES)).hexdigest()
