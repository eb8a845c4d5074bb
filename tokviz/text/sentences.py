"""Sentences about tokens: words and bytes, mixed. Whoever shows one shows the bytes as tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Sentence = tuple[str | bytes, ...]
"""Words and tokens; a screen shows the bytes as it shows tokens."""


def as_python(token: bytes) -> str:
    """Show a token as Python writes it."""
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
    """Say in a sentence what did not happen and why.

    >>> failure_message("Not saved", "notes.txt: no permission to write it")
    'Not saved: notes.txt: no permission to write it.'
    >>> failure_message("Not trained", "Add files first.")
    'Not trained: Add files first.'
    """
    return f"{what}: {_ended(str(reason))}"


def sentence(text: str) -> str:
    """Let words begin with a capital and end with a stop.

    >>> sentence("no pair is left to merge")
    'No pair is left to merge.'
    """
    return _ended(f"{text[:1].upper()}{text[1:]}")


def _ended(text: str) -> str:
    text = text.rstrip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def pluralize(number: int, unit: str) -> str:
    """Write a number with its unit: 1 byte, 2 bytes."""
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"
