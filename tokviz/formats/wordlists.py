"""Readers for vocabularies in text files: BERT's `vocab.txt` and CLIP's `bpe_simple_vocab`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokviz.errors import InputFileError
from tokviz.formats import equivalents
from tokviz.formats.byte_level import to_characters
from tokviz.storage.files import StrPath, decode_utf8, read_file, read_unpacked
from tokviz.storage.json_file import read_json

Json = dict[str, Any]

MAX_BYTES = 64_000_000
_BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def config_beside(path: StrPath) -> Json:
    """Return the content of the `tokenizer_config.json` beside a file; empty if there is none.

    Raises:
        InputFileError: If it is damaged.
    """
    place = Path(path).parent / "tokenizer_config.json"
    content = read_json(place) if place.is_file() else {}
    if not isinstance(content, dict):
        raise InputFileError(place, "does not hold a JSON object")
    return content


def read_wordpiece(path: StrPath) -> Json:
    """Return the equivalent content of BERT's `vocab.txt`, or of its vocabulary as JSON.

    Raises:
        InputFileError: If it is damaged.
    """
    data = read_file(path, limit=MAX_BYTES)
    vocab: dict[str, int] = {}
    if data.lstrip().startswith(b"{"):
        vocab = read_json(path)
        if not all(type(number) is int and number >= 0 for number in vocab.values()):
            raise InputFileError(path, "holds other values than token ids")
    else:
        lines = decode_utf8(data, path).removesuffix("\n").split("\n")
        for number, line in enumerate(lines):
            token = line.removesuffix("\r")
            if token in vocab:
                reason = f"the token {token[:40]!r} is in line {vocab[token] + 1:,} too: remove one"
                raise InputFileError(path, f"line {number + 1:,}: {reason}")
            vocab[token] = number
    if "[UNK]" not in vocab:
        raise InputFileError(path, "has no token [UNK], which WordPiece needs")
    config = config_beside(path)
    lowercase = config.get("do_lower_case")
    guesses = []
    if not isinstance(lowercase, bool):
        lowercase = not any(text != text.lower() and text[0] != "[" for text in vocab if text)
        what = "lowercase" if lowercase else "keep the case"
        seen = "no" if lowercase else "a"
        guesses = [f"that texts {what} is a guess: {seen} token has a capital letter, and there "
                   "is no tokenizer_config.json beside the file"]  # fmt: skip
    accents = config.get("strip_accents")
    content = equivalents.equivalent("wordpiece", vocab=vocab)
    content["normalizer"] |= {
        "lowercase": lowercase,
        "strip_accents": accents if isinstance(accents, bool) else None,
    }
    added = [equivalents.added_token(text, vocab[text]) for text in _BERT_TOKENS if text in vocab]
    return content | {"added_tokens": added, "guesses": guesses}


_CLIP_SPECIALS = ("<|startoftext|>", "<|endoftext|>")
_CLIP_TOKENS = 49_408


def read_clip(path: StrPath) -> Json:
    """Return the equivalent content of CLIP's `bpe_simple_vocab_16e6.txt` or `.txt.gz`.

    Like CLIP itself, it uses only the merges for 49,408 tokens. Source: openai/CLIP
    `clip/simple_tokenizer.py`.

    Raises:
        InputFileError: If it is damaged.
    """
    data = read_unpacked(path, limit=MAX_BYTES)
    letters = sorted(to_characters(bytes(range(256))))  # visible bytes first, as in CLIP
    singles = [*letters, *(f"{letter}</w>" for letter in letters)]
    lines = decode_utf8(data, path).split("\n")[1 : 1 + _CLIP_TOKENS - len(singles) - 2]
    while lines and not lines[-1].strip():
        del lines[-1]
    merges = []
    for number, line in enumerate(lines, 2):
        pair = line.removesuffix("\r").split(" ")
        if len(pair) != 2 or not all(pair):
            raise InputFileError(path, f"line {number:,}: {line[:40]!r} is not a merge: write two "
                                       "tokens with a space between them")  # fmt: skip
        merges.append((pair[0], pair[1]))
    tokens = [*singles, *("".join(pair) for pair in merges), *_CLIP_SPECIALS]
    content = clip_content({text: number for number, text in enumerate(tokens)}, merges)
    if len(content["model"]["vocab"]) < len(tokens):
        raise InputFileError(path, "two of its merges make the same token")
    return content


def clip_content(vocab: dict[str, int], merges: list[tuple[str, str]]) -> Json:
    """Return the equivalent content for CLIP's vocabulary and merges."""
    added = [equivalents.added_token(text, vocab[text]) for text in _CLIP_SPECIALS if text in vocab]
    content = equivalents.equivalent("clip", vocab=vocab, merges=merges)
    return content | {"added_tokens": added}
