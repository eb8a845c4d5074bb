r"""Hugging Face's pre-tokenizers as one split pattern, where that is exact.

Their regexes run in Oniguruma, ours in the `regex` package. Both mean the same by the few things
that published split patterns are made of; anything else is left to their library. (Their character
classes are of the same Unicode version as tiktoken's.)
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
    """Something that only Hugging Face's library does exactly; the message says what."""


def split_pattern_of(pre_tokenizer: object, known: SplitPattern | None = None) -> SplitPattern:
    """Find the split pattern that does what a byte-level pre-tokenizer does.

    Args:
        pre_tokenizer: The value of the key `pre_tokenizer` in a `tokenizer.json`.
        known: The split pattern that the file was written from, where that is known.

    Raises:
        NotNativeError: If none does exactly that.
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
    """List the types that a normalizer, pre-tokenizer, decoder … is made of, in order."""
    return [str(step.get("type"))[:60] for step in flat(part)]


def regexes_in(content: Json) -> list[str]:
    """List the regexes by which a `tokenizer.json` normalizes, splits and decodes, in order."""
    parts = ("normalizer", "pre_tokenizer", "decoder")
    steps = (step for key in parts for step in flat(content.get(key)))
    return [text for step in steps if (text := _regex_of(step)) is not None]


def _regex_of(step: Json) -> str | None:
    """Return the regex by which a step matches, None if it matches by another way."""
    pattern = step.get("pattern")
    text = pattern.get("Regex") if isinstance(pattern, dict) else None
    return text if isinstance(text, str) else None


_LISTS = ("normalizers", "pretokenizers", "processors", "decoders")


def flat(part: object, depth: int = 0) -> list[Json]:
    """List the steps of a part of a `tokenizer.json`, which may be a sequence of sequences."""
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
    # Where every character is matched, the matches are the pre-tokens, however they are asked for.
    whole = found.gapless and (behavior == "Isolated" or (behavior == "Removed" and inverted))
    if not whole and (behavior != "Isolated" or inverted):
        raise NotNativeError(f"its pre-tokenizer treats matches as {behavior}")
    return found


def pattern_for(text: str) -> SplitPattern:
    """Find the split pattern for a regex of Hugging Face's.

    Raises:
        NotNativeError: If the two regex engines might not agree about it.
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
"""The only texts that published patterns match in either case. (Oniguruma also folds ß to ss.)"""

_CLASS = r"\\[pP]\{(?:L|N|M|Lu|Ll|Lt|Lm|Lo)\}"
_ESCAPE = r"\\[sSrnt.*+?()\[\]{}|\\/^$-]"
_IN_SET = rf"(?:{_CLASS}|\\[sSrnt\]\[\\/^-]|[A-Za-z0-9 '!\"#%(){{}}*+,./:;<=>?@_`|~$])"
_RANGE = r"(?:a-z|A-Z|0-9)"
_ATOM = rf"(?:{_CLASS}|{_ESCAPE}|\[\^?(?:{_RANGE}|{_IN_SET})+\]|[A-Za-z0-9 '!\"#%,/:;<=>@_`~-])"
# Oniguruma takes `{1,3}+` for a repeated repetition, and `^` and `$` for the ends of lines.
_COUNT = r"(?:[?*+]\+?|\{\d{1,3}(?:,\d{0,3})?\}(?![+?]))?"
_TOKEN = re.compile(rf"{_ATOM}{_COUNT}|\((?:\?:|\?=|\?!)?|\)(?:\?\+?)?(?![*+{{])|\|")


def means_the_same(text: str) -> bool:
    r"""Tell whether a regex is made only of what Oniguruma and `regex` agree on.

    What repeats a group is not: where the group itself can match in several ways, the engines give
    up at different lengths of text.

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
    r"""Cut out digits, then split what is between them by GPT-2's pattern, in one regex.

    White space before a digit stands at the end of its part: `\s+(?!\S)` takes all of it.
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
