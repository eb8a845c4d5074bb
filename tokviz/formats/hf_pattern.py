r"""Conversion of Hugging Face's pre-tokenizers to one split pattern, if that is exact.

Their regexes run in Oniguruma, those of tokviz in the `regex` package. Both agree on the few
constructs that published split patterns use; any other regex is left to their library. (Their
character classes are of the same Unicode version as tiktoken's, but `Digits` knows more numbers.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tokviz.errors import PatternError
from tokviz.tokenizer.pretokenize.patterns import (
    CUT_GPT,
    SPLIT_PATTERNS,
    SplitPattern,
    SplitStep,
    stepped,
)
from tokviz.tokenizer.pretokenize.regex_process import check
from tokviz.tokenizer.pretokenize.split_steps import BEHAVIORS, READS_CLASSES
from tokviz.tokenizer.pretokenize.unicode_classes import CLASSES, substitutes

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
        raise NotNativeError(f"its pre-tokenizer is {types}, not plain bytes after splits")
    *splits, byte_level = parts
    if splits and byte_level.get("add_prefix_space", True):
        raise NotNativeError("its pre-tokenizer puts a space before every pre-token of other steps")
    steps = [_step(split) for split in splits]
    if byte_level.get("use_regex", True):
        steps.append(SplitStep(SPLIT_PATTERNS["gpt2"].regex, type="ByteLevel"))
    if not steps:
        return SPLIT_PATTERNS["none"]
    plain = tuple(step._replace(type="Split") for step in steps)
    published = (one for one in SPLIT_PATTERNS.values() if one.steps == plain)
    if (in_one := next(published, None)) is not None:
        return in_one
    if len(steps) == 1 and plain[0] == SplitStep(steps[0].regex) and steps[0].type != "Digits":
        is_known = known is not None and known.regex == steps[0].regex
        return known if known is not None and is_known else pattern_for(steps[0].regex)
    named = {one.regex for one in SPLIT_PATTERNS.values() if one.safe_cut == CUT_GPT}
    are_known = [step.type == "Digits" or step.regex in named for step in steps]
    for step, is_known in zip(steps, are_known, strict=True):
        if not is_known:
            pattern_for(step.regex)
    # Every step only divides further, so one step with safe cuts is enough if they suit all others.
    cuts = CUT_GPT if all(are_known) and any(step.type != "Digits" for step in steps) else None
    return stepped(steps, safe_cut=cuts, guarded=not all(are_known))


def adds_prefix_space(pre_tokenizer: object) -> bool:
    """Return whether a pre-tokenizer puts a space before a text that does not start with one."""
    parts = flat(pre_tokenizer)
    return bool(parts) and bool(parts[-1].get("add_prefix_space", True))


def _step(part: Json) -> SplitStep:
    kind = str(part.get("type"))[:60]
    if kind == "Digits":
        is_single = bool(part.get("individual_digits", False))
        return SplitStep(r"\p{N}" if is_single else r"\p{N}+", type=kind)
    if kind != "Split":
        raise NotNativeError(f"its pre-tokenizer has the step {kind}")
    pattern = part.get("pattern")
    literal = pattern.get("String") if isinstance(pattern, dict) else None
    text = _regex_of(part)
    if text is None:
        if not isinstance(literal, str) or not literal or "\\" in literal:
            raise NotNativeError("its pre-tokenizer splits by plain text")
        text = re.escape(literal).replace("\\\n", "\n").replace("\\\r", "\r")
    # The line breaks mean the same, and known patterns have them in this form.
    text = _flattened(text.replace("\n", r"\n").replace("\r", r"\r"))
    behavior, inverted = str(part.get("behavior"))[:60], bool(part.get("invert"))
    named = next((one for one in SPLIT_PATTERNS.values() if one.regex == text), None)
    # If the regex matches every character, the matches are the pre-tokens with any behavior.
    if named is not None and named.gapless and behavior == "Removed" and inverted:
        return SplitStep(text)
    if behavior not in BEHAVIORS:
        raise NotNativeError(f"its pre-tokenizer treats matches as {behavior}")
    return SplitStep(text) if behavior == "Isolated" else SplitStep(text, behavior, inverted)


_NESTED = re.compile(
    r"(\[\^?(?:[^][\\]|\\.)*)\[((?:[^][\\^:&]|\\.)(?:[^][\\&]|\\.)*)\]((?:[^][\\]|\\.)*\])"
)


def _flattened(text: str) -> str:
    r"""Return a regex without sets inside sets, as BLOOM's has one.

    >>> _flattened(r" ?[^(\s|[.,!?])]+")
    ' ?[^(\\s|.,!?)]+'
    """
    return text if text == (flat := _NESTED.sub(r"\1\2\3", text)) else _flattened(flat)


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
    reads_classes = READS_CLASSES.search(text) is not None
    if reads_classes and any(map(_is_contested, _NAMED.findall(text))):
        raise NotNativeError("its split regex names characters that Unicode versions classify anew")
    without_looks = _LOOK.sub("(?:)", text)
    try:
        # The engines differ in what follows a match without a character.
        if check(text) or check(without_looks) or _OPENS_LOOK.search(without_looks):
            raise NotNativeError("its split regex matches the empty text")
    except PatternError:
        raise NotNativeError("its split regex does not compile here") from None
    return SplitPattern(
        "custom", text, "tokenizer.json", unicode_of_tiktoken=reads_classes, guarded=True
    )


_NAMED = re.compile(r"[^\x00-\x7f]-[^\x00-\x7f]|[^\x00-\x7f]")
_LOOK = re.compile(r"\(\?[=!](?:[^][()\\]|\\.|\[(?:[^][\\]|\\.)*\])*\)")
_OPENS_LOOK = re.compile(r"\(\?[=!]")


def _is_contested(named: str) -> bool:
    """Return whether a character or range has characters that are replaced before matching."""
    first, last = named[0], named[-1]
    return any(first <= char <= last for char in CLASSES.values()) or any(
        ord(first) <= code <= ord(last) for code in substitutes()
    )


_CONTRACTIONS = (
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "(?i:[sdmt]|ll|ve|re)",
)
"""The only texts that published patterns match case-insensitively. (Oniguruma folds ß to ss.)"""

_CLASS = r"\\[pP]\{(?:L|N|M|P|S|Lu|Ll|Lt|Lm|Lo)\}"
_ESCAPE = r"\\[sSrnt.*+?()\[\]{}|\\/^$-]"
_IN_SET = rf"(?:{_CLASS}|\\[sSrnt\]\[\\/^-]|[A-Za-z0-9 '!\"#%(){{}}*+,./:;<=>?@_`|~$])"
_RANGE = r"(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[^\x00-\x7f]-[^\x00-\x7f]|[^\x00-\x7f])"
_ATOM = (
    rf"(?:{_CLASS}|{_ESCAPE}|\[\^?(?:{_RANGE}|{_IN_SET})+\]"
    r"|[A-Za-z0-9 '!\"#%,/:;<=>@_`~-]|[^\x00-\x7f])"
)
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
