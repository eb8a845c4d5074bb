r"""Lossless splitting by any split pattern, named or custom."""

from __future__ import annotations

from array import array
from itertools import accumulate

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import SplitPattern
from tokviz.tokenizer.pretokenize.split_steps import Split, join_steps, split_in_steps
from tokviz.tokenizer.pretokenize.unicode_classes import as_tiktoken_sees


def split(pattern: SplitPattern, text: str) -> Split:
    r"""Split text into pre-tokens.

    Args:
        pattern: The split pattern.
        text: Any text, also byte text.

    Raises:
        PatternError: If the regex is invalid, or is guarded and takes too long.

    >>> from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
    >>> list(split(get_split_pattern("gpt2"), "I can't").spans())
    [(0, 1), (1, 5), (5, 7)]
    >>> split(get_split_pattern("[a-z]+"), "ab1cd").gaps
    (1,)
    """
    if pattern.guarded:
        # Only a guarded pattern needs child processes.
        from tokviz.tokenizer.pretokenize.guard import guarded_split

        return guarded_split(pattern, text)
    if pattern.gapless:
        seen = as_tiktoken_sees(text) if pattern.unicode_of_tiktoken else text
        return Split(array("q", accumulate(map(len, pattern.compile().findall(seen)))))
    return join_steps(split_in_steps(pattern, text))


_COMMON_TEXT = (
    "It's 2024!\r\n\n\tnaïve e\u0301 世界 🙂 \x00"
    + "".join(map(chr, range(32, 127)))
    + "".join(f" {chr(code)} " for code in range(33, 127))
)


def gap_warning(pattern: SplitPattern) -> str:
    r"""Return a warning if a regex leaves gaps in common text or takes too long, else "".

    >>> from tokviz.tokenizer.pretokenize.patterns import get_split_pattern
    >>> gap_warning(get_split_pattern(r"\w+|[^\w-]"))
    "the split pattern leaves gaps, for example '-': each gap becomes a pre-token"
    """
    if pattern.gapless:
        return ""
    try:
        pre_tokens = split(pattern, _COMMON_TEXT)
    except PatternError as error:
        return str(error)
    if not pre_tokens.gaps:
        return ""
    first = pre_tokens.gaps[0]
    gap = _COMMON_TEXT[pre_tokens.ends[first - 1] if first else 0]
    return f"the split pattern leaves gaps, for example {gap!r}: each gap becomes a pre-token"
