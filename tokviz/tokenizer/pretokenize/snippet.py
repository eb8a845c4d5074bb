"""A split pattern written down for use without tokviz."""

from __future__ import annotations

from typing import Any

from tokviz.tokenizer.pretokenize.patterns import SplitPattern


def as_python(pattern: SplitPattern) -> str:
    """Write a function `pre_tokens` that cuts a text as the pattern does, by the `regex` package.

    Where the classes of a named pattern are those of an older Unicode version, `regex` follows
    its own.
    """
    return f"""\
import regex

PATTERN = regex.compile({pattern.regex!a})


def pre_tokens(text):
    \"""Cut a text into pre-tokens; what the pattern does not match is a pre-token of its own.\"""
    found, end = [], 0
    for match in PATTERN.finditer(text):
        if match.end() > match.start():
            found += [text[end : match.start()], match.group()]
            end = match.end()
    return [pre_token for pre_token in [*found, text[end:]] if pre_token]
"""


def split_steps(pattern: SplitPattern) -> list[dict[str, Any]]:
    """Write a split pattern as pre-tokenizers of a `tokenizer.json` that cut text as it does."""
    return [
        {"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": False}
        for text in pattern.steps or (pattern.regex,)
    ]
