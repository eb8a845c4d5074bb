from __future__ import annotations

import random
import re
from itertools import accumulate
from typing import NamedTuple

import pytest

from tests.oracles.edits import BUILTIN, SMALL, random_text, tokenizer
from tokviz.live.cuts import CutRule, cut_rule

SPACES = CutRule(r"(?=\s)", re.compile("a b|b c d|<<>>"), longest_special=5)


@pytest.mark.parametrize("name", [*BUILTIN, *SMALL])
def test_parts_have_the_pre_tokens_and_ids_of_the_whole(name: str) -> None:
    tok = tokenizer(name)
    rng = random.Random(name)
    for _ in range(60):
        text = random_text(rng, 30)
        for parse_specials in (True, False):
            parts = cut_rule(tok, parse_specials).split(text, target=1)
            assert "".join(parts) == text
            ids = [i for part in parts for i in tok.byte_text.encode(part, parse_specials)]
            assert ids == tok.byte_text.encode(text, parse_specials).tolist()
            ends = {end for _, end in tok.byte_text.split(text, parse_specials)}
            lengths = [len(part) for part in parts if part]
            assert {sum(lengths[: n + 1]) for n in range(len(lengths))} <= ends


@pytest.mark.parametrize("name", [*BUILTIN, *SMALL])
def test_a_search_in_steps_finds_the_cuts_of_one_search(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(name)
    rule = cut_rule(tokenizer(name), True)
    for _ in range(60):
        text, target = random_text(rng, 30), rng.choice([1, 5, 40])
        whole = rule.split(text, target, rng.choice([None, 3]))
        monkeypatch.setattr("tokviz.live.cuts.SEARCHED_AT_ONCE", rng.choice([1, 2, 7]))
        in_steps = [rule.split(text, target, first) for first in (None, 3)]
        monkeypatch.undo()
        assert whole in in_steps


@pytest.mark.parametrize("name", ["gpt2", "small whitespace"])
def test_every_safe_cut_is_found(name: str) -> None:
    rng = random.Random(name)
    safe_cut = tokenizer(name).split_pattern.safe_cut
    for _ in range(60):
        text = random_text(rng, 30)
        parts = CutRule(safe_cut, None, 0).split(text, 1, 1, len(text))
        found = list(accumulate(map(len, parts)))[:-1]
        cuts = [match.start() for match in re.finditer(safe_cut, text)]
        assert found == [cut for cut in cuts if 0 < cut < len(text)]


@pytest.mark.parametrize("char", ["a", "7", ".", "\n", "世", "👩\u200d "], ids=ascii)
def test_the_end_of_a_run_is_found_without_trying_every_character(
    char: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    class Noted(NamedTuple):
        pattern: re.Pattern[str]

        def match(self, text: str, *bounds: int) -> re.Match[str] | None:
            tried.append(bounds)
            return self.pattern.match(text, *bounds)

    monkeypatch.setattr(
        "tokviz.tokenizer.pretokenize.patterns.compiled_cut", lambda regex: Noted(re.compile(regex))
    )
    text = char * (300_000 // len(char))
    rule = cut_rule(tokenizer("cl100k_base"), False)
    assert rule.split(text, 1024) == [text]
    assert 0 < len(tried) < 100


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
def test_ordinary_text_is_cut_into_parts_of_about_the_target(name: str) -> None:
    text = "The quick brown fox (42 of them) jumps over 你好，世界。\n" * 500
    parts = cut_rule(tokenizer(name), True).split(text, target=100)
    assert all(100 <= len(part) <= 160 for part in parts[:-1])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x y", ["x", " y"]),
        ("xa b", ["xa b"]),
        # "b c d" overlaps "a b" and is not recognised here, but could be after an edit.
        ("a b c d e", ["a b c d", " e"]),
        ("b c e", ["b", " c", " e"]),
    ],
)
def test_no_cut_goes_through_a_special_token(text: str, parts: list[str]) -> None:
    assert SPACES.split(text, target=1) == parts


def test_no_part_but_the_last_is_shorter_than_the_target() -> None:
    assert SPACES.split("x x x x x x x", target=3) == ["x x", " x x", " x x", " x"]


def test_without_a_rule_the_text_is_one_part() -> None:
    assert CutRule(None, None, 0).split("a b " * 100, target=1) == ["a b " * 100]


def test_an_empty_text_is_one_empty_part() -> None:
    assert SPACES.split("", target=1) == [""]


def test_cuts_are_sought_in_the_given_range_only() -> None:
    assert SPACES.split("x x x x x x", 1, 2, 7) == ["x x", " x", " x x x"]


def test_the_last_cut_is_the_last_in_its_range() -> None:
    assert SPACES.last_cut("x x x x x x", 2, 8) == 7
    assert SPACES.last_cut("x x x x x x", 8, 9) is None
