"""A split pattern as a program of a few lines, to be used without tokviz."""

from __future__ import annotations

from tokviz.pretokenize.patterns import SplitPattern


def as_python(pattern: SplitPattern) -> str:
    """Write a function `pieces` that cuts a text as the pattern does, by the `regex` package.

    Where the classes of a named pattern are those of an older Unicode version, `regex` follows
    its own.
    """
    return f"""\
import regex

PATTERN = regex.compile({pattern.regex!a})


def pieces(text):
    \"""Cut a text into pieces; what the pattern does not match is a piece of its own.\"""
    found, end = [], 0
    for match in PATTERN.finditer(text):
        if match.end() > match.start():
            found += [text[end : match.start()], match.group()]
            end = match.end()
    return [piece for piece in [*found, text[end:]] if piece]
"""
