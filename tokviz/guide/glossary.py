"""What the words on the screens mean: `assets/words/glossary.toml`, read once.

To add a word, add it there.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tokviz.storage.assets import asset_path


class Entry(NamedTuple):
    """A word of the field.

    Attributes:
        name: The word.
        say: What it means, in a sentence or two.
        example: A case of it.
        also: Other forms of the word, and other words for the same.
    """

    name: str
    say: str
    example: str
    also: tuple[str, ...] = ()


@cache
def glossary() -> dict[str, Entry]:
    """Read the words, by name, in the order in which one learns them."""
    given = tomllib.loads(asset_path("words/glossary.toml").read_text("utf-8"))
    return {name: Entry(name, **{"also": (), **entry}) for name, entry in given.items()}


def page() -> str:
    """Return the guide's page of all words."""
    entries = (
        f"## {entry.name}\n\n{entry.say}\n\n{entry.example}" for entry in glossary().values()
    )
    return "\n\n".join(["# Glossary", *entries]) + "\n"


@cache
def _forms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Give the names by their forms in lower case, and what finds a form, the longest first."""
    names = {
        form.casefold(): entry.name
        for entry in glossary().values()
        for form in (entry.name, *entry.also)
    }
    forms = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return names, re.compile(rf"(?<![\w/-])(?:{forms})(?![\w-]|/\w)", re.IGNORECASE)


def words_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Find words of the glossary in a text: where each begins and ends, and its name.

    >>> list(words_in("tie of 2 Pairs, 1.9 bytes/token"))
    [(0, 3, 'tie'), (9, 14, 'pair'), (20, 31, 'bytes per token')]
    """
    names, found = _forms()
    for match in found.finditer(text):
        yield match.start(), match.end(), names[match[0].casefold()]


def word_at(text: str, place: int) -> str:
    """Give the name of the word at a place of a text, empty if it is none of the glossary."""
    return next((name for start, end, name in words_in(text) if start <= place < end), "")
