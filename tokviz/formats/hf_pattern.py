r"""Conversion of Hugging Face's pre-tokenizers to one split pattern, if that is exact.

Their regexes run in Oniguruma, those of tokviz in the `regex` package. Both agree on the few
constructs that published split patterns use; any other regex is left to their library. (Their
character classes are of the same Unicode version as tiktoken's.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern
from tokviz.tokenizer.pretokenize.regex_process import check

Json = Mapping[str, Any]


class NotNativeError(Exception):
    """A feature that only Hugging Face's library handles exactly; the message names it."""


def split_pattern_of(pre_tokenizer: object, known: SplitPattern | None = None) -> SplitPattern:
    """Convert a byte-level pre-tokenizer to a split pattern.

    Args:
        pre_tokenizer: The value of the key `pre_tokenizer` in a `tokenizer.json`.
        known: The split pattern that the file was written from, if known.

    Raises:
        NotNativeError: If no split pattern is exactly equivalent.
    """
    parts = flat(pre_tokenizer)
    if not parts or parts[-1].get("type") != "ByteLevel":
        types = " + ".join(part_types(pre_tokenizer)) or "none"
        raise NotNativeError(f"its pre-tokenizer is {types}, not plain bytes after one split")
    *splits, byte_level = parts
    if byte_level.get("add_prefix_space", True):
        raise NotNativeError("its pre-tokenizer puts a space before the text")
    uses_regex = byte_level.get("use_regex", True)
    if not splits:
        return SPLIT_PATTERNS["gpt2" if uses_regex else "none"]
    (first, *others) = splits
    if first.get("type") == "Digits" and uses_regex and not others:
        return _digits_then_gpt2(individual=bool(first.get("individual_digits", False)))
    if all(step.get("type") == "Split" for step in splits) and not uses_regex:
        if not others:
            return _split(first, known)
        in_one = next((one for one in SPLIT_PATTERNS.values() if splits == one.hf_splits()), None)
        if in_one is not None:
            return in_one
    types = " + ".join(part_types(pre_tokenizer))
    raise NotNativeError(f"its pre-tokenizer splits in several steps ({types})")


def part_types(part: object) -> list[str]:
    """List the types of the steps of a normalizer, pre-tokenizer, decoder …, in order."""
    return [str(step.get("type"))[:60] for step in flat(part)]


def regexes_in(content: Json) -> list[str]:
    """List the regexes that a `tokenizer.json` normalizes, splits and decodes with, in order."""
    parts = ("normalizer", "pre_tokenizer", "decoder")
    steps = (step for key in parts for step in flat(content.get(key)))
    return [text for step in steps if (text := _regex_of(step)) is not None]


def _regex_of(step: Json) -> str | None:
    """Return the regex of a step, or None if the step has none."""
    pattern = step.get("pattern")
    text = pattern.get("Regex") if isinstance(pattern, dict) else None
    return text if isinstance(text, str) else None


_LISTS = ("normalizers", "pretokenizers", "processors", "decoders")


def flat(part: object, depth: int = 0) -> list[Json]:
    """List the steps of a component of a `tokenizer.json`, flattening nested sequences."""
    if not isinstance(part, dict) or depth > 8:
        return []
    if part.get("type") != "Sequence":
        return [part]
    below: list[object] = next((part[key] for key in _LISTS if isinstance(part.get(key), list)), [])
    return [one for step in below for one in flat(step, depth + 1)]


def _split(step: Json, known: SplitPattern | None) -> SplitPattern:
    text = _regex_of(step)
    if text is None:
        raise NotNativeError("its pre-tokenizer splits by plain text")
    found = known if known is not None and known.regex == text else pattern_for(text)
    behavior, inverted = step.get("behavior"), bool(step.get("invert"))
    # If the regex matches every character, the matches are the pre-tokens with any behavior.
    whole = found.gapless and (behavior == "Isolated" or (behavior == "Removed" and inverted))
    if not whole and (behavior != "Isolated" or inverted):
        raise NotNativeError(f"its pre-tokenizer treats matches as {behavior}")
    return found


def pattern_for(text: str) -> SplitPattern:
    """Convert a regex of Hugging Face's to a split pattern.

    Raises:
        NotNativeError: If the two regex engines may disagree.
    """
    for named in SPLIT_PATTERNS.values():
        if named.regex == text:
            return named
    if not means_the_same(text):
        raise NotNativeError("its split regex may mean something else in another regex engine")
    try:
        if check(text):
            raise NotNativeError("its split regex matches the empty text")
    except PatternError:
        raise NotNativeError("its split regex does not compile here") from None
    return SplitPattern("custom", text, "tokenizer.json", unicode_of_tiktoken=True, guarded=True)


_CONTRACTIONS = (
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "(?i:[sdmt]|ll|ve|re)",
)
"""The only texts that published patterns match case-insensitively. (Oniguruma folds ß to ss.)"""

_CLASS = r"\\[pP]\{(?:L|N|M|Lu|Ll|Lt|Lm|Lo)\}"
_ESCAPE = r"\\[sSrnt.*+?()\[\]{}|\\/^$-]"
_IN_SET = rf"(?:{_CLASS}|\\[sSrnt\]\[\\/^-]|[A-Za-z0-9 '!\"#%(){{}}*+,./:;<=>?@_`|~$])"
_RANGE = r"(?:a-z|A-Z|0-9)"
_ATOM = rf"(?:{_CLASS}|{_ESCAPE}|\[\^?(?:{_RANGE}|{_IN_SET})+\]|[A-Za-z0-9 '!\"#%,/:;<=>@_`~-])"
# Oniguruma reads `{1,3}+` as a repeated repetition, and `^` and `$` match at line breaks.
_COUNT = r"(?:[?*+]\+?|\{\d{1,3}(?:,\d{0,3})?\}(?![+?]))?"
_TOKEN = re.compile(rf"{_ATOM}{_COUNT}|\((?:\?:|\?=|\?!)?|\)(?:\?\+?)?(?![*+{{])|\|")


def means_the_same(text: str) -> bool:
    r"""Return whether Oniguruma and `regex` agree on every construct of a regex.

    They disagree on repeated groups that can match in several ways: they give up on texts of
    different lengths.

    >>> means_the_same(r" ?\p{L}+|\s+(?!\S)"), means_the_same(r"\p{N}{1,3}+"), means_the_same("^a")
    (True, False, False)
    >>> means_the_same("(?:a+)+b"), means_the_same("(?:a|a)*b"), means_the_same("(?:ab|c)?d")
    (False, False, True)
    """
    for contraction in _CONTRACTIONS:
        text = text.replace(contraction, "(?:a)")
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return False
        position = match.end()
    return True


def _digits_then_gpt2(*, individual: bool) -> SplitPattern:
    r"""Return one regex that isolates digits, then splits the text between them as GPT-2 does.

    White space before a digit is at the end of such a text, so `\s+(?!\S)` matches all of it.
    """
    digits = r"\p{N}" if individual else r"\p{N}+"
    rest = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
    return SplitPattern(
        "custom",
        f"{digits}|{rest}",
        "Digits and ByteLevel in tokenizer.json",
        gapless=True,
        unicode_of_tiktoken=True,
    )
