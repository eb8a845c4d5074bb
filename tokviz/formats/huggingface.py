"""Writer for Hugging Face's `tokenizer.json`, of byte-level BPE.

Written files load in `tokenizers` and give the same ids if its regex engine (Oniguruma) agrees on
the split pattern. For the named patterns it does, except for letters that only one of the two
Unicode versions has.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain, pairwise
from json.encoder import encode_basestring as quoted
from typing import Any

from tokviz.errors import FormatError, SpecialTokenError
from tokviz.formats.byte_level import from_characters, to_characters
from tokviz.formats.rank_order import listed_merges
from tokviz.tokenizer.encoding.encoded import Columns
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.tokenizer import Tokenizer

Json = dict[str, Any]

GUESS = "guess"
"""Key of the mark of a guessed split pattern, in the pre-tokenizer of a `tokenizer.json`."""


def to_tokenizer_json(tokenizer: Tokenizer) -> bytes:
    """Write a tokenizer as the text of a `tokenizer.json`.

    Raises:
        SpecialTokenError: If a special token is spelled like the characters of another token.
        FormatError: If a space is put before a text that another pattern than gpt2 splits.
    """
    ids, columns = tokenizer.tables.ids(), tokenizer.tables.columns()
    parts = _as_json(columns)
    items = [f'"{part}": {token_id}' for part, token_id in zip(parts, ids, strict=True)]
    by_id = sorted(tokenizer.special_tokens.items(), key=lambda item: item[1])
    for text, token_id in reversed(by_id):
        # The library renumbers tokens outside the model's vocabulary on loading.
        if (token := _spelled(text)) is not None and tokenizer.token_id(token) is not None:
            raise SpecialTokenError(
                f"special token {text!r} is spelled like the token {token!r} in tokenizer.json: "
                "choose another text for it"
            )
        items.insert(bisect_left(ids, token_id), f"{quoted(text)}: {token_id}")
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": token_id,
                "content": text,
                **_ADDED_OPTIONS,
                "normalized": text in tokenizer.specials.normalized,
                "special": text not in tokenizer.specials.non_special,
            }
            for text, token_id in by_id
        ],
        "normalizer": {"type": form} if (form := tokenizer.normalizer.form) else None,
        # The library ignores keys that it does not know here, but not elsewhere.
        "pre_tokenizer": pre_tokenizer(
            tokenizer.split_pattern, adds_space=tokenizer.normalizer.adds_space
        )
        | ({GUESS: tokenizer.pattern_doubt} if tokenizer.pattern_doubt else {}),
        "post_processor": json.loads(tokenizer.post_processor.json or "null"),
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": tokenizer.by_ranks or tokenizer.ignore_merges,
        },
    }
    sides = map(parts.__getitem__, _places_of_merges(tokenizer, columns))
    merges = [f'"{left} {right}"' for left, right in zip(sides, sides, strict=True)]
    head = json.dumps(content, ensure_ascii=False, indent=1).removesuffix("\n }\n}")
    # Same as `json.dumps` with an indent, for which it does not use its fast C code.
    vocab_text, merges_text = _one_a_line("{", items, "}"), _one_a_line("[", merges, "]")
    text = f'{head},\n  "vocab": {vocab_text},\n  "merges": {merges_text}\n }}\n}}'
    return text.encode()


def _as_json(columns: Columns) -> list[str]:
    """Return tokens in visible characters, escaped for JSON but without quotes."""
    characters = to_characters(columns.blob)
    texts = [characters[a:b] for a, b in pairwise(columns.starts)]
    # One call escapes all tokens: none of them has a space.
    return quoted(" ".join(texts))[1:-1].split(" ") if texts else []


def _spelled(text: str) -> bytes | None:
    """Return the bytes of visible characters, or None if a character has none."""
    try:
        return from_characters(text)
    except ValueError:
        return None


def _places_of_merges(tokenizer: Tokenizer, columns: Columns) -> Iterable[int]:
    """Return the two sides of each merge, as indexes of tokens."""
    if columns.pairs is not None:
        return columns.pairs
    place_of = {token: place for place, token in enumerate(tokenizer.tables.tokens())}
    return map(place_of.__getitem__, chain.from_iterable(listed_merges(tokenizer)))


def _one_a_line(opening: str, items: list[str], closing: str) -> str:
    text = ",\n   ".join(items)
    return f"{opening}\n   {text}\n  {closing}" if items else opening + closing


_ADDED_OPTIONS = {
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
}
_BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}


def pre_tokenizer(pattern: SplitPattern, *, adds_space: bool = False) -> Json:
    """Return the pre-tokenizer of a `tokenizer.json` for a split pattern."""
    if pattern.name == "none":
        return _BYTE_LEVEL | {"add_prefix_space": adds_space}
    if adds_space and pattern.name == "gpt2":
        return _BYTE_LEVEL | {"add_prefix_space": True, "use_regex": True}
    if adds_space:
        raise FormatError(
            "tokenizer.json adds a space before each pre-token of another split pattern: "
            "use the pattern gpt2 or none"
        )
    return {"type": "Sequence", "pretokenizers": [*pattern.hf_splits(), _BYTE_LEVEL]}
