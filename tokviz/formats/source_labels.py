"""Short names for the places that tokenizers are loaded from."""

from __future__ import annotations

import os
from pathlib import Path

from tokviz.storage.listing import home_label
from tokviz.text.glyphs import safe

HUB = "hf:"
"""What a name on the Hugging Face hub begins with."""

_COMMON_NAMES = ("tokenizer.json", "vocab.json", "tokenizer.model")


def place_words(source: str) -> tuple[str, str]:
    """Give the short name of a place, and where it is; both safe to show.

    A file that is called what all of its kind are called goes by its folder.

    >>> place_words("/data/llama/tokenizer.json")
    ('llama', '/data/llama/tokenizer.json')
    """
    if source.startswith(HUB):
        return safe(source.removeprefix(HUB)), "Hugging Face hub"
    path = Path(source)
    named = path.parent if path.name in _COMMON_NAMES and path.parent.name else path
    return safe(named.name or source), safe(home_label(path))


def short_name(name: str) -> str:
    """Shorten a tokenizer's name if it is a place, and make it safe to show."""
    return place_words(name)[0] if os.sep in name or name.startswith(HUB) else safe(name)
