"""Sentences with tokens in them, as words and bytes, and helpers for messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Sentence = tuple[str | bytes, ...]
"""Words, and tokens as bytes; a screen draws the bytes as tokens."""


def as_python(token: bytes) -> str:
    """Return a token as a Python literal."""
    return repr(token)[1:]


def format_sentences(
    sentences: Iterable[Sentence], show: Callable[[bytes], str] = as_python
) -> str:
    r"""Join sentences into one text.

    >>> format_sentences([("the token ", b"\n", "."), ("It is a byte.",)])
    "the token '\\n'. It is a byte."
    """
    return " ".join(
        "".join(part if isinstance(part, str) else show(part) for part in sentence)
        for sentence in sentences
    )


def failure_message(what: str, reason: object) -> str:
    """Return a sentence about a failed action and its reason.

    >>> failure_message("Not saved", "notes.txt: no permission to write it")
    'Not saved: notes.txt: no permission to write it.'
    >>> failure_message("Not trained", "Add files first.")
    'Not trained: Add files first.'
    """
    return f"{what}: {_ended(str(reason))}"


def sentence(text: str) -> str:
    """Return text with a capital at the start and a full stop at the end.

    >>> sentence("no pair is left to merge")
    'No pair is left to merge.'
    """
    return _ended(f"{text[:1].upper()}{text[1:]}")


def _ended(text: str) -> str:
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def pluralize(number: int, unit: str) -> str:
    """Return a number with its unit: 1 byte, 2 bytes."""
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"
