"""Split patterns and special tokens of known vocabularies, which rank files do not hold.

A `.tiktoken` file holds only tokens and ranks. Those of `assets/vocab/tokenizers.json` are
recognized by their tokens.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterable
from typing import NamedTuple

from tokviz.formats.registry import TABLE, special_tokens
from tokviz.tokenizer.encoding.specials import SpecialTokens


class KnownVocabulary(NamedTuple):
    """A known vocabulary.

    Attributes:
        title: Its name.
        split_pattern: The name of its split pattern.
        specials: Its special tokens.
        nfc: Whether its tokenizer normalizes text to NFC first.
        note: A reservation about the special tokens, or "".
    """

    title: str
    split_pattern: str
    specials: SpecialTokens
    nfc: bool = False
    note: str = ""


def digest(tokens: Iterable[tuple[int, bytes]]) -> str:
    """Return the SHA-256 of the rank file of tokens, as tiktoken writes it."""
    lines = (b"%s %d\n" % (b64encode(token), rank) for rank, token in tokens)
    return hashlib.sha256(b"".join(lines)).hexdigest()


def known_by_content(tokens: list[tuple[int, bytes]]) -> KnownVocabulary | None:
    """Identify a vocabulary by its tokens, sorted by rank; its file may be formatted otherwise."""
    alike = [known for known in TABLE["rank_files"] if known["n_tokens"] == len(tokens)]
    found = digest(tokens) if alike else ""
    for known in alike:
        if known["sha256"] == found:
            specials = special_tokens(known["special_tokens"])
            nfc, note = known.get("nfc", False), known.get("note", "")
            return KnownVocabulary(known["title"], known["split_pattern"], specials, nfc, note)
    return None
