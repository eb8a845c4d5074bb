"""Disagreements against a slow oracle, and their causes by experiment."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers as hf
from hypothesis import given

import tokviz
from tests.oracles import nasty
from tests.oracles.comparing import CAST, casts, load, slow_spans
from tests.profiles import examples
from tokviz import Tokenizer
from tokviz.compare.boundaries import Comparison, compare
from tokviz.compare.causes import combined
from tokviz.compare.figures import figures_by_script
from tokviz.explain.vocabulary.scripts import SCRIPTS, scripts_of
from tokviz.text import bytetext


def test_the_public_name_compares_also_where_it_means_the_package() -> None:
    package: Any = sys.modules["tokviz.compare"]
    tokenizers = [load("gpt2"), load("cl100k_base")]
    assert package("Unbelievable", tokenizers).counts == compare("Unbelievable", tokenizers).counts


@given(text=nasty.byte_texts, names=casts)
def test_disagreements_are_the_smallest_stretches_that_differ(text: str, names: list[str]) -> None:
    tokenizers = [CAST[name]() for name in names]
    comparison = Comparison(text, tokenizers)
    assert [d.byte_span for d in comparison.disagreements] == slow_spans(text, tokenizers)
    for number, tokenizer in enumerate(tokenizers):
        ids = tokenizer.byte_text.encode(text).tolist()
        assert comparison.counts[number] == len(ids)
        story = tokenizer.byte_text.tokenize(text)
        for found in comparison.disagreements:
            start, end = found.byte_span
            own = [
                token_id
                for token_id, (_, last) in zip(ids, story.byte_spans.tolist(), strict=True)
                if start < last <= end
            ]
            assert list(found.ids[number]) == own


@examples(200)
@given(text=nasty.byte_texts, names=casts.filter(lambda names: len(names) == 2))
def test_what_is_named_the_cause_makes_the_disagreement_go_away_and_less_does_not(
    text: str, names: list[str]
) -> None:
    one, other = (CAST[name]() for name in names)
    comparison = Comparison(text, [one, other])
    for found in comparison.disagreements:
        causes, first_takes = found.reasons[1]
        taker, giver = (one, other) if first_takes else (other, one)

        def agree(
            taken: tuple[str, ...],
            taker: Tokenizer = taker,
            giver: Tokenizer = giver,
            span: tuple[int, int] = found.byte_span,
        ) -> bool:
            hybrid = combined(taker, giver, taken)  # type: ignore[arg-type]
            return all(
                end <= span[0] or start >= span[1]
                for start, end in slow_spans(text, [hybrid, giver])
            )

        assert agree(causes)
        if len(causes) > 1:
            assert not any(agree((cause,)) for cause in causes)
        assert found.explanation.endswith(".")


@pytest.mark.parametrize(
    ("text", "names", "cause", "said"),
    [
        ("x.append", ["gpt2", "gpt4"], "split", "the pre-token '.append' (letters, with one"),
        (" 12345", ["gpt2", "gpt4"], "split", "has the pre-token ' 12345' (digits"),
        ("Unbelievable", ["gpt2", "gpt4o"], "merges", "gpt2 has no such merge"),
        ("<|im_start|>", ["gpt4", "qwen2"], "specials", "is a special token of qwen2"),
        ("e\u0301", ["gpt4", "composing"], "normalization", "normalizes the text to"),
    ],
)
def test_each_cause_is_said_in_a_sentence(
    text: str, names: list[str], cause: str, said: str
) -> None:
    [found] = compare(text, [CAST[name]() for name in names]).disagreements
    assert found.cause == cause
    assert said in found.explanation


def test_the_first_merge_that_one_has_and_the_other_lacks_is_named() -> None:
    a = Tokenizer(dict(enumerate([*map(bytes, zip(range(256))), b"ab"])), [(b"a", b"b")], name="a")
    b = Tokenizer(dict(enumerate([*map(bytes, zip(range(256))), b"bc"])), [(b"b", b"c")], name="b")
    [found] = compare("abc", [a, b]).disagreements
    assert found.cause == "merges"
    assert found.explanation == (
        "In the pre-token 'abc', b merges 'b' + 'c' (merge 1); a has no such merge."
    )


def test_where_a_merge_comes_first_the_order_is_named() -> None:
    vocab = dict(enumerate([*map(bytes, zip(range(256))), b"ab", b"bc"]))
    a = Tokenizer(vocab, [(b"a", b"b"), (b"b", b"c")], name="a")
    b = Tokenizer(vocab, [(b"b", b"c"), (b"a", b"b")], name="b")
    [found] = compare("abc", [a, b]).disagreements
    assert found.explanation == (
        "In the pre-token 'abc', b merges 'b' + 'c' (merge 1); in a, that is merge 2, so "
        "'a' + 'b' (merge 1) is applied first."
    )


def test_of_another_librarys_tokens_no_merges_are_told(tmp_path: Path) -> None:
    paths = []
    for name, words in (("short", ["play", "##ing"]), ("long", ["playi", "##ng"])):
        vocab = {word: number for number, word in enumerate(["[UNK]", *words])}
        made = hf.Tokenizer(hf.models.WordPiece(vocab, unk_token="[UNK]"))
        made.pre_tokenizer, made.decoder = hf.pre_tokenizers.Whitespace(), hf.decoders.WordPiece()
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(made.to_str())
    lanes = list(map(tokviz.load, paths))
    try:
        [found] = compare("playing", lanes).disagreements
        assert found.explanation == (
            "For the pre-token 'playing', short.json makes 'play' + 'ing', "
            "long.json makes 'playi' + 'ng'."
        )
        [found] = compare("playing", [CAST["gpt2"](), lanes[0]]).disagreements
        assert found.explanation == (
            "For the pre-token 'playing', gpt2 makes 'playing', short.json makes 'play' + 'ing'."
        )
    finally:
        for lane in lanes:
            lane.close()


def test_equal_tokens_are_no_disagreement_and_no_text_has_none() -> None:
    gpt4 = load("gpt-4")
    same = combined(gpt4, load("gpt2"), ())
    assert compare("Hello world", [gpt4, same]).disagreements == ()
    assert compare("", [gpt4, load("gpt2")]).counts == (0, 0)
    assert compare("", [gpt4, load("gpt2")]).disagreements == ()
    assert compare("x", []).counts == ()


def test_lone_surrogates_are_replaced_and_counted() -> None:
    comparison = compare("a\ud800b", [load("gpt2"), load("gpt-4")])
    assert comparison.n_replaced == 1
    assert comparison.data == "a\ufffdb".encode()


def test_special_tokens_can_be_plain_text() -> None:
    names = load("gpt-4"), load("gpt2")
    assert compare("<|endoftext|>", names).disagreements == ()
    assert compare("<|endoftext|>", names, "none").counts == (7, 7)


@given(text=nasty.byte_texts)
def test_figures_by_script_are_those_of_a_slow_count(text: str) -> None:
    comparison = Comparison(text, [CAST["gpt2"](), CAST["gpt4o"]()])
    script_at, script = [], ""
    for character in reversed(text):  # characters before the first letter belong to its script
        script = _script(character) or script
    first = script or "Common"
    script = first
    for character in text:
        script = _script(character) or script
        script_at += [script] * bytetext.n_bytes(character)
    found = figures_by_script(text, comparison.sides)
    assert {one.script: one.n_bytes for one in found} == Counter(script_at)
    n_chars = [one.n_chars for one in found]
    assert sum(n_chars) == len(text)
    assert n_chars == sorted(n_chars, reverse=True), "in the order of what is shown"
    for number, side in enumerate(comparison.sides):
        ends = Counter(script_at[max(end, 1) - 1] for end in side.ends.tolist())
        assert {one.script: n for one in found if (n := one.n_tokens[number])} == ends


def _script(character: str) -> str:
    name = SCRIPTS[int(scripts_of(np.array([ord(character)], np.uint32))[0])]
    return "" if name == "Common" else name


def test_ignore_merges_is_a_cause_of_its_own() -> None:
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"bc", 257: b"ab", 258: b"abc"}
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")]
    merging, ignoring = (
        Tokenizer(vocab, merges, split_pattern="none", ignore_merges=ignores)
        for ignores in (False, True)
    )
    for pair in ([merging, ignoring], [ignoring, merging]):
        (found,) = compare("abc", pair).disagreements
        assert found.reasons[1].causes == ("ignore_merges",)
        assert "has ignore_merges, so the pre-token 'abc' is one token" in found.explanation
        assert "makes 'a' + 'bc'" in found.explanation
