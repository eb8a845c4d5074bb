from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tokviz.errors import PatternError
from tokviz.formats.hf_pattern import split_pattern_of
from tokviz.formats.huggingface import pre_tokenizer
from tokviz.tokenizer.pretokenize.alternatives import cut_of, top_level
from tokviz.tokenizer.pretokenize.patterns import (
    SPLIT_PATTERNS,
    STARTERS,
    WORDS,
    SplitPattern,
    get_split_pattern,
)
from tokviz.tokenizer.pretokenize.split import split

ALPHABET = (
    "ab AZ1٣½ \t\n\r.!'\"・゠゛\u3099\u3040アー日龥龦、。\u0301\u200b\x00\ue000\u0378🙂€\u3000_-@"
)
NASTY = st.text(ALPHABET, max_size=14)
KIMI_K2 = (
    r"[\p{Han}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The published regex of Kimi K2 (moonshotai/Kimi-K2-Instruct `tokenization_kimi.py`)."""
TEXT = "It's 12345 naïve DON'T\r\n\n  x = a_b(camelCase)!? 日本語・テスト 🙂\x00 end. "


def pre_tokens(pattern: SplitPattern, text: str) -> list[str]:
    return [text[start:end] for start, end in split(pattern, text).spans()]


def by_library(part: object, text: str) -> list[str]:
    """Split a text with Hugging Face's library, by a pre-tokenizer of a `tokenizer.json`."""
    whole = json.loads(Tokenizer(models.BPE()).to_str())
    cutter = Tokenizer.from_str(json.dumps({**whole, "pre_tokenizer": part})).pre_tokenizer
    return [text[start:end] for _, (start, end) in cutter.pre_tokenize_str(text)]


def by_tiktoken(regex: str, text: str) -> list[str]:
    """Split text with tiktoken, by a vocabulary that contains every substring."""
    substrings = {text[a:b].encode() for a in range(len(text)) for b in range(a + 1, len(text) + 1)}
    tokens = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *sorted(substrings)])
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding("t", pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    return [
        token.decode() for token in encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
    ]


@given(NASTY)
def test_one_regex_cuts_as_the_three_of_deepseek_v3_do(text: str) -> None:
    pattern = SPLIT_PATTERNS["deepseek3"]
    part = pre_tokenizer(pattern)
    assert len(part["pretokenizers"]) == 4
    assert split_pattern_of(part) is pattern
    assert pre_tokens(pattern, text) == by_library(part, text)


def test_alternatives_of_named_patterns_are_described() -> None:
    alternatives = {
        pattern.regex[start:end]
        for pattern in SPLIT_PATTERNS.values()
        for start, end in top_level(pattern.regex)
    }
    assert WORDS.keys() <= alternatives
    gpt4o = SPLIT_PATTERNS["gpt4o"].regex
    assert {gpt4o[start:end] for start, end in top_level(gpt4o)} <= WORDS.keys()
    pattern, text = SPLIT_PATTERNS["deepseek3"], "12世界・a!b ,\x01\u3040  \n c "
    spans = [match.span() for match in pattern.compile().finditer(text)]
    found = [cut_of(pattern, text, start, end).alternative for start, end in spans]
    assert len({one.words for one in found if one}) == len(top_level(pattern.regex)) - 1


@pytest.mark.parametrize("name", SPLIT_PATTERNS)
def test_every_named_pattern_has_a_title_and_a_sentence_and_cuts_alike_in_the_library(
    name: str,
) -> None:
    pattern = SPLIT_PATTERNS[name]
    assert 0 < len(pattern.title or name) <= 10 and pattern.about.endswith(".")
    if name != "none":
        assert by_library(pre_tokenizer(pattern), TEXT) == pre_tokens(pattern, TEXT)


def test_copied_python_splits_like_the_pattern() -> None:
    regexes = [named.regex for named in SPLIT_PATTERNS.values()]
    regexes += [*(regex for regex, _ in STARTERS), KIMI_K2, "[a-z]+", "x*", "é|'\"\\\\"]
    patterns = [get_split_pattern(regex) for regex in regexes]
    program = "".join(
        f"{pattern.as_python()}\nassert pre_tokens({TEXT!r}) == {pre_tokens(pattern, TEXT)!r}, "
        f"PATTERN\n"
        for pattern in patterns
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", range(len(STARTERS)))
def test_starter_regexes_leave_no_gap_and_split_alike_in_the_library(
    number: int,
) -> None:
    regex, about = STARTERS[number]
    found = split(get_split_pattern(regex), TEXT)
    assert found.gaps == () and about.endswith(".")
    part = pre_tokenizer(get_split_pattern(regex))
    assert by_library(part, TEXT) == pre_tokens(get_split_pattern(regex), TEXT)


@given(NASTY)
def test_set_intersection_in_a_regex_works_as_in_tiktoken(text: str) -> None:
    text = text.replace("\u0378", "")  # classes differ between Unicode versions
    pattern = get_split_pattern(KIMI_K2)
    assert pre_tokens(pattern, text) == by_tiktoken(KIMI_K2, text)


def test_the_alternative_of_an_intersection_is_found() -> None:
    pattern = SplitPattern("custom", r"[a-z&&[^aeiou|]|z]+|[aeiou]|\s", "custom")
    assert pre_tokens(pattern, "ab cd") == ["a", "b", " ", "cd"]
    taken = [cut_of(pattern, "ab cd", *span).alternative for span in [(0, 1), (3, 5)]]
    assert [alternative and alternative.number for alternative in taken] == [2, 1]


@pytest.mark.parametrize("regex", ["a&&b", "[&]&&[^&]", r"\[a&&b", r"[a&&]", r"[a&&[^b]"])
def test_ampersands_are_literal_only_outside_a_class(regex: str) -> None:
    """Within a class, two of them without a set on both sides are an error."""
    if regex[0] == "[" and regex[1] == "a":
        with pytest.raises(PatternError):
            get_split_pattern(regex)
    else:
        text = regex.replace("\\", "").replace("[&]", "&").replace("[^&]", "x")
        assert pre_tokens(get_split_pattern(regex), text) == [text]
