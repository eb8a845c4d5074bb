"""Byte-level BPE in Hugging Face's `tokenizer.json`.

Written files load in `tokenizers` and give the same ids, as far as its regex engine (Oniguruma)
agrees with the split pattern: the named patterns mean the same there but for letters that are newer
than one of the two Unicode versions.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring as quoted
from os import PathLike
from typing import Any

from tokviz.encoding.model import Merge
from tokviz.errors import InputFileError, SpecialTokenError, VocabularyError
from tokviz.files import read_file
from tokviz.formats.byte_level import from_characters, to_characters
from tokviz.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern, get_split_pattern
from tokviz.tokenizer import Tokenizer

Json = dict[str, Any]


def to_tokenizer_json(tokenizer: Tokenizer) -> bytes:
    """Write a tokenizer as the text of a `tokenizer.json`.

    Raises:
        SpecialTokenError: If a special token is spelled like the characters of another token.
    """
    specials = set(tokenizer.special_tokens.values())
    tokens = {
        token_id: token for token_id, token in tokenizer.vocab.items() if token_id not in specials
    }
    vocab = dict(zip(map(to_characters, tokens.values()), tokens, strict=True))
    characters = dict(zip(tokens.values(), vocab, strict=True))
    for text, token_id in tokenizer.special_tokens.items():
        # Tokens outside the model's vocabulary would be numbered anew when the file is loaded.
        if vocab.setdefault(text, token_id) != token_id:
            raise SpecialTokenError(
                f"special token {text!r} is spelled like the token {from_characters(text)!r} in "
                "tokenizer.json: choose another text for it"
            )
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added_token(text, token_id)
            for text, token_id in sorted(tokenizer.special_tokens.items(), key=lambda item: item[1])
        ],
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer(tokenizer.split_pattern),
        "post_processor": None,
        "decoder": _byte_level(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
        },
    }
    ids = [f"{quoted(text)}: {vocab[text]}" for text in sorted(vocab, key=vocab.__getitem__)]
    merges = [quoted(f"{characters[left]} {characters[right]}") for left, right in tokenizer.merges]
    head = json.dumps(content, ensure_ascii=False, indent=1).removesuffix("\n }\n}")
    # As `json.dumps` does it with an indent, which its code in C does not know.
    vocab_text, merges_text = _one_a_line("{", ids, "}"), _one_a_line("[", merges, "]")
    text = f'{head},\n  "vocab": {vocab_text},\n  "merges": {merges_text}\n }}\n}}'
    return text.encode()


def _one_a_line(opening: str, items: list[str], closing: str) -> str:
    text = ",\n   ".join(items)
    return f"{opening}\n   {text}\n  {closing}" if items else opening + closing


def _added_token(text: str, token_id: int) -> Json:
    return {
        "id": token_id,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


def _byte_level() -> Json:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }


def _pre_tokenizer(pattern: SplitPattern) -> Json:
    if pattern.name == "none":
        return _byte_level()
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern.regex},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [split, _byte_level()]}


def load_tokenizer_json(path: str | PathLike[str], *, name: str | None = None) -> Tokenizer:
    """Load a byte-level BPE tokenizer from a `tokenizer.json`.

    Args:
        path: The file.
        name: A name to show; the file's path if None.

    Raises:
        InputFileError: If the file cannot be read, or holds what cannot be done without loss:
            another model than byte-level BPE, a normalizer, a prefix space.
    """
    data = read_file(path)
    try:
        content = json.loads(data)
        return _from_json(content, name or str(path))
    except (ValueError, RecursionError) as error:
        raise InputFileError(path, f"is no valid tokenizer.json: {error}") from None
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise InputFileError(path, f"is no complete tokenizer.json: {error!r}") from None
    except (VocabularyError, SpecialTokenError) as error:
        raise InputFileError(path, str(error)) from None


def _from_json(content: Json, name: str) -> Tokenizer:
    model = content["model"]
    if model["type"] != "BPE":
        raise VocabularyError(f"its model is {model['type']}, only byte-level BPE can be loaded")
    if content.get("normalizer") is not None:
        raise VocabularyError("it normalizes text before tokenizing, which cannot be shown yet")
    for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if model.get(option):
            raise VocabularyError(f"its model sets {option!r}, which is not supported")
    special_tokens = {str(token["content"]): _id(token["id"]) for token in content["added_tokens"]}
    vocab = {
        _id(token_id): from_characters(text)
        for text, token_id in model["vocab"].items()
        if text not in special_tokens
    }
    return Tokenizer(
        vocab,
        [_merge(merge) for merge in model["merges"]],
        special_tokens,
        split_pattern=_split_pattern(content["pre_tokenizer"]),
        name=name,
    )


def _id(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise VocabularyError(f"{value!r} is no token id")
    return value


def _merge(merge: str | list[str]) -> Merge:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return from_characters(left), from_characters(right)


def _split_pattern(pre_tokenizer: Json) -> SplitPattern:
    parts = (
        pre_tokenizer["pretokenizers"] if pre_tokenizer["type"] == "Sequence" else [pre_tokenizer]
    )
    *splits, byte_level = parts
    if byte_level["type"] != "ByteLevel" or byte_level["add_prefix_space"] or len(splits) > 1:
        raise VocabularyError("its pre-tokenizer is not one split and then plain bytes")
    if not splits:
        return SPLIT_PATTERNS["gpt2" if byte_level.get("use_regex", True) else "none"]
    (split,) = splits
    if split["type"] != "Split" or split["behavior"] != "Isolated" or split.get("invert"):
        raise VocabularyError("its pre-tokenizer splits in a way that is not supported")
    regex = split["pattern"]["Regex"]
    named = [pattern for pattern in SPLIT_PATTERNS.values() if pattern.regex == regex]
    return named[0] if named else get_split_pattern(regex)
