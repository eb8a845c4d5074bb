"""Glossary of the terms on the screens, from `assets/words/glossary.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tokviz.storage.assets import asset_path


class Entry(NamedTuple):
    """A term of the glossary.

    Attributes:
        name: The term.
        say: Its meaning in one or two sentences.
        example: An example.
        also: Other forms of the term, and synonyms.
    """

    name: str
    say: str
    example: str
    also: tuple[str, ...] = ()


@cache
def glossary() -> dict[str, Entry]:
    """Read the terms by name, in the order of a first reading."""
    entries = tomllib.loads(asset_path("words/glossary.toml").read_text("utf-8"))
    return {name: Entry(name, **{"also": (), **entry}) for name, entry in entries.items()}


def page() -> str:
    """Return the guide's page of all words."""
    entries = (
        f"## {entry.name}\n\n{entry.say}\n\n{entry.example}" for entry in glossary().values()
    )
    return "\n\n".join(["# Glossary", *entries]) + "\n"


@cache
def _forms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return a table from each form in lower case to its term, and a regex that finds the forms."""
    names = {
        form.casefold(): entry.name
        for entry in glossary().values()
        for form in (entry.name, *entry.also)
    }
    forms = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return names, re.compile(rf"(?<![\w/-])(?:{forms})(?![\w-]|/\w)", re.IGNORECASE)


def words_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Find glossary terms in a text: the start and end of each, and its name.

    >>> list(words_in("tie of 2 Pairs, 1.9 bytes/token"))
    [(0, 3, 'tie'), (9, 14, 'pair'), (20, 31, 'bytes per token')]
    """
    names, pattern = _forms()
    for match in pattern.finditer(text):
        yield match.start(), match.end(), names[match[0].casefold()]


def word_at(text: str, offset: int) -> str:
    """Return the glossary term at an offset of a text; empty if there is none."""
    return next((name for start, end, name in words_in(text) if start <= offset < end), "")
