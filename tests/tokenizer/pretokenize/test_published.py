from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tokviz.formats.hf_pattern import split_pattern_of
from tokviz.formats.huggingface import pre_tokenizer
from tokviz.tokenizer.pretokenize.alternatives import WORDS, alternative_of, top_level
from tokviz.tokenizer.pretokenize.patterns import (
    SPLIT_PATTERNS,
    STARTERS,
    SplitPattern,
    get_split_pattern,
)
from tokviz.tokenizer.pretokenize.snippet import as_python
from tokviz.tokenizer.pretokenize.split import split

ALPHABET = (
    "ab AZ1٣½ \t\n\r.!'\"・゠゛\u3099\u3040アー日龥龦、。\u0301\u200b\x00\ue000\u0378🙂€\u3000_-@"
)
NASTY = st.text(ALPHABET, max_size=14)
TEXT = "It's 12345 naïve DON'T\r\n\n  x = a_b(camelCase)!? 日本語・テスト 🙂\x00 end. "


def pre_tokens(pattern: SplitPattern, text: str) -> list[str]:
    return [text[start:end] for start, end in split(pattern, text).spans()]


def by_library(part: object, text: str) -> list[str]:
    """Cut a text by a pre-tokenizer of a `tokenizer.json`, as Hugging Face's library does."""
    whole = json.loads(Tokenizer(models.BPE()).to_str())
    cutter = Tokenizer.from_str(json.dumps({**whole, "pre_tokenizer": part})).pre_tokenizer
    return [text[start:end] for _, (start, end) in cutter.pre_tokenize_str(text)]


@given(NASTY)
def test_one_regex_cuts_as_the_three_of_deepseek_v3_do(text: str) -> None:
    pattern = SPLIT_PATTERNS["deepseek3"]
    part = pre_tokenizer(pattern)
    assert len(part["pretokenizers"]) == 4
    assert split_pattern_of(part) is pattern
    assert pre_tokens(pattern, text) == by_library(part, text)


def test_each_alternative_of_a_named_pattern_is_said_in_words() -> None:
    for pattern in SPLIT_PATTERNS.values():
        parts = [pattern.regex[start:end] for start, end in top_level(pattern.regex)]
        assert [part for part in parts if part not in WORDS and part[0] != "'"] == []
    pattern, text = SPLIT_PATTERNS["deepseek3"], "12世界・a!b ,\x01\u3040  \n c "
    spans = [match.span() for match in pattern.compile().finditer(text)]
    found = [alternative_of(pattern, text, start, end) for start, end in spans]
    assert len({one.words for one in found if one}) == len(top_level(pattern.regex)) - 1


@pytest.mark.parametrize("name", SPLIT_PATTERNS)
def test_every_named_pattern_has_a_title_and_a_sentence_and_cuts_alike_in_the_library(
    name: str,
) -> None:
    pattern = SPLIT_PATTERNS[name]
    assert 0 < len(pattern.title or name) <= 10 and pattern.about.endswith(".")
    if name != "none":
        assert by_library(pre_tokenizer(pattern), TEXT) == pre_tokens(pattern, TEXT)


def test_the_python_that_is_copied_cuts_as_the_pattern_does() -> None:
    regexes = [named.regex for named in SPLIT_PATTERNS.values()]
    regexes += [*(regex for regex, _ in STARTERS), "[a-z]+", "x*", "é|'\"\\\\"]
    patterns = [get_split_pattern(regex) for regex in regexes]
    program = "".join(
        f"{as_python(pattern)}\nassert pre_tokens({TEXT!r}) == {pre_tokens(pattern, TEXT)!r}, "
        f"PATTERN\n"
        for pattern in patterns
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", range(len(STARTERS)))
def test_a_regex_to_begin_with_leaves_nothing_out_and_cuts_alike_in_the_library(
    number: int,
) -> None:
    regex, about = STARTERS[number]
    found = split(get_split_pattern(regex), TEXT)
    assert found.gaps == () and about.endswith(".")
    part = pre_tokenizer(get_split_pattern(regex))
    assert by_library(part, TEXT) == pre_tokens(get_split_pattern(regex), TEXT)
