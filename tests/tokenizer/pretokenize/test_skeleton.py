from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.nasty import FRAGMENTS, byte_texts
from tests.tokenizer.pretokenize import tables
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS, SplitPattern
from tokviz.tokenizer.pretokenize.skeleton import LONGEST, pre_tokens, skeleton, skeleton_regex
from tokviz.tokenizer.pretokenize.split import split
from tokviz.tokenizer.pretokenize.split_steps import split_in_steps
from tokviz.tokenizer.pretokenize.unicode_classes import AGREED, CLASSES, as_tiktoken_sees

CERTAIN = "".join(
    char
    for first, last in AGREED
    for char in map(chr, range(first, last + 1))
    if skeleton(char) is not None
)
NAMES = [
    name
    for name, pattern in SPLIT_PATTERNS.items()
    if pattern.unicode_of_tiktoken and pre_tokens(pattern.regex, "a") is not None
]
"""Patterns that work on a skeleton, which does not distinguish punctuation from symbols."""
TELLING = "aAsStTreLD0² \t\n\r\v\x01\x04\x1c\x85\u3000.'#/éÉǅ々中\u0301🙂\udcff"
PLACES = ("{}", "a{}", "A{}a", "1{}1", " {}x", ".{}.", "'{} ", "\n{}\n", "{}'s", "\t{} 1")


def lengths_by_regex(name: str, text: str) -> list[int]:
    return list(map(len, SPLIT_PATTERNS[name].compile().findall(as_tiktoken_sees(text))))


def lengths_by_skeleton(name: str, text: str) -> list[int] | None:
    found = pre_tokens(SPLIT_PATTERNS[name].regex, text)
    return None if found is None else list(map(len, found))


def test_common_patterns_work_on_a_skeleton() -> None:
    assert {"gpt2", "gpt4", "gpt4o", "llama3", "qwen2", "nanochat", "whitespace"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=30), more=byte_texts)
def test_pre_tokens_are_those_of_regex(name: str, parts: list[str], more: str) -> None:
    """Only long texts and texts with uncertain characters are left to the regex."""
    text = "".join(parts) + more
    is_ours = len(text) <= LONGEST and all(skeleton(char) is not None for char in text)
    assert lengths_by_skeleton(name, text) == (lengths_by_regex(name, text) if is_ours else None)


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(st.sampled_from(TELLING)))
def test_pre_tokens_of_any_neighbours_are_those_of_regex(name: str, text: str) -> None:
    assert lengths_by_skeleton(name, text) == lengths_by_regex(name, text)


@pytest.mark.parametrize("name", NAMES)
def test_every_certain_character_is_cut_as_by_regex(name: str) -> None:
    for first in range(0, len(CERTAIN), 300):
        for place in PLACES:
            text = "".join(map(place.format, CERTAIN[first : first + 300]))
            assert lengths_by_skeleton(name, text) == lengths_by_regex(name, text)


def test_every_certain_character_has_its_tiktoken_class() -> None:
    bones = skeleton(CERTAIN)
    assert bones is not None and len(bones) == len(CERTAIN)
    certain = set(CERTAIN)
    for name in set(CLASSES) - {"P", "S"}:
        spelled = r"\s" if name == "White_Space" else skeleton_regex(rf"\p{{{name}}}")
        ours = {CERTAIN[match.start()] for match in re.finditer(spelled, bones, re.ASCII)}
        assert ours == certain.intersection(map(chr, tables.code_points_of(name)))


@pytest.mark.parametrize("text", ["ſ", "\u212a", "\u0558", "\U000323b0", "ab\ue000"])
def test_an_uncertain_character_is_left_to_regex(text: str) -> None:
    assert skeleton(text) is None
    assert pre_tokens(SPLIT_PATTERNS["gpt4"].regex, text) is None


@pytest.mark.parametrize(
    "regex_text",
    [
        r"\p{P}+|[^\p{P}]+",
        r"\p{Han}+|[\s\S]",
        r"\P{L}+|\p{L}+",
        r"\w+|\W+",
        r"\d+|\D+",
        r"[a-z]+|[\s\S]",
        r"q+|[\s\S]",
        r"[Q#]+|[\s\S]",
        r"0+|[\s\S]",
        r"々+|[\s\S]",
        r"(?i:\p{Lu})+|[\s\S]",
        r"(?i)a+|[\s\S]",
        r"[[:alpha:]]+|[\s\S]",
        r"(?:aa){s}|[\s\S]",
    ],
)
def test_a_regex_that_asks_for_more_than_a_skeleton_keeps_is_left_to_regex(regex_text: str) -> None:
    assert pre_tokens(regex_text, "a") is None
    pattern = SplitPattern("mine", regex_text, "here", gapless=True, unicode_of_tiktoken=True)
    text = "q'é Éa々 #0٣ ¿wört.世界 १२、sS"
    ends = [end for part in split_in_steps(pattern, text) for end in part.ends]
    assert list(split(pattern, text).ends) == ends


def test_a_new_pattern_of_classes_that_a_skeleton_keeps_is_cut_without_the_regex_package() -> None:
    regex_text = r"[^\s\p{L}]+|\p{L}\p{M}*|\s+(?=1)|\s"
    assert pre_tokens(regex_text, "é\u0301 1.世  1") == ["q\x04", " ", "1.", "\x03", "  ", "1"]


def test_a_long_text_is_left_to_regex() -> None:
    assert pre_tokens(SPLIT_PATTERNS["gpt4"].regex, "a" * LONGEST) == ["a" * LONGEST]
    assert pre_tokens(SPLIT_PATTERNS["gpt4"].regex, "a" * (LONGEST + 1)) is None


def test_a_short_text_is_split_without_the_regex_package() -> None:
    code = (
        "import sys; from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS; "
        "from tokviz.tokenizer.pretokenize.split import split; "
        f"[split(SPLIT_PATTERNS[name], 'Ünïcode 世界 1²') for name in {NAMES}]; "
        "assert 'regex' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
