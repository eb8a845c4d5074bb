"""Differences of tokenizers: each part, each verdict, and the texts that a search finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.profiles import examples
from tokviz import Tokenizer, TokenizerDiff, diff
from tokviz.compare import difference
from tokviz.text import bytetext
from tokviz.tokenizer.encoding.normalization import Normalizer
from tokviz.tokenizer.encoding.specials import PostProcessor, SpecialTokens

BASE = {byte: bytes([byte]) for byte in range(256)}
WORDS = ["the", "then", "in", "thin", "hen", "12", "123", "é", "don't", "  x"]


def tokenizer(
    *merges: tuple[bytes, bytes],
    specials: dict[str, int] | SpecialTokens | None = None,
    pattern: str = "gpt2",
    ids: dict[bytes, int] | None = None,
    **options: Any,
) -> Tokenizer:
    vocab = BASE | {256 + number: left + right for number, (left, right) in enumerate(merges)}
    swapped = {token: token_id for token_id, token in vocab.items()} | (ids or {})
    return Tokenizer(
        {token_id: token for token, token_id in swapped.items()},
        merges,
        specials,
        split_pattern=pattern,
        **options,
    )


TH, HE, THE = (b"t", b"h"), (b"h", b"e"), (b"th", b"e")


def check(found: TokenizerDiff) -> None:
    """Check what holds for every difference."""
    for example in found.examples:
        ids = (
            found.a.byte_text.encode(example.text).tolist(),
            found.b.byte_text.encode(example.text).tolist(),
        )
        assert example.ids[0] != example.ids[1]
        assert example.ids == ids or "add_special_tokens" in str(example.why)
        assert example.why
    assert (found.verdict in ("different", "other special tokens")) == bool(found.examples)
    if found.verdict == "same ids":
        for text in [*WORDS, "".join(WORDS), "a<s>b"]:
            assert found.a.encode(text) == found.b.encode(text)


def test_equal_tokenizers_have_the_same_ids_by_proof() -> None:
    found = diff(
        tokenizer(TH, THE, specials={"<s>": 300}), tokenizer(TH, THE, specials={"<s>": 300})
    )
    check(found)
    assert found.verdict == "same ids" and found.same_ids and not found.examples
    assert all(part.same for part in found.parts[:5])
    assert found.summary == "Same ids: all parts that encode text are equal."


def test_the_order_of_special_tokens_and_the_names_do_not_matter() -> None:
    one = tokenizer(TH, specials={"<s>": 300, "<e>": 301}, name="one")
    other = tokenizer(TH, specials={"<e>": 301, "<s>": 300}, name="other")
    assert diff(one, other).verdict == "same ids"


CASES: dict[str, tuple[Callable[[], Tokenizer], Callable[[], Tokenizer], str, str, set[str]]] = {
    "a token more": (
        lambda: tokenizer(TH, THE), lambda: tokenizer(TH), "vocabulary", "different", {"merges"},
    ),
    "other ids": (
        lambda: tokenizer(TH, HE),
        lambda: tokenizer(TH, HE, ids={b"th": 257, b"he": 256}),
        "vocabulary", "different", {"ids"},
    ),
    "merges in another order": (
        lambda: tokenizer(TH, HE), lambda: tokenizer(HE, TH, ids={b"th": 256, b"he": 257}),
        "merges", "different", {"merges"},
    ),
    "ignore_merges": (
        lambda: tokenizer(TH, HE, (b"th", b"e"), (b"t", b"he")),
        lambda: tokenizer(TH, HE, (b"th", b"e"), (b"t", b"he"), ignore_merges=True),
        "merges", "no difference found", set(),
    ),
    "a special token more": (
        lambda: tokenizer(TH), lambda: tokenizer(TH, specials={"<s>": 300}),
        "special tokens", "other special tokens", {"specials"},
    ),
    "a special token with another id": (
        lambda: tokenizer(TH, specials={"<s>": 301}), lambda: tokenizer(TH, specials={"<s>": 300}),
        "special tokens", "other special tokens", {"specials"},
    ),
    "another split pattern": (
        lambda: tokenizer(TH, (b"1", b"2")), lambda: tokenizer(TH, (b"1", b"2"), pattern="qwen2"),
        "split pattern", "different", {"split"},
    ),
    "NFC": (
        lambda: tokenizer(TH),
        lambda: tokenizer(TH).with_parts(
            tokenizer(TH).split_pattern, SpecialTokens(), normalizer=Normalizer("NFC")
        ),
        "normalizer", "different", {"normalization"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_part_that_differs_is_named_and_texts_show_it(case: str) -> None:
    make_a, make_b, part, verdict, causes = CASES[case]
    for a, b in ((make_a(), make_b()), (make_b(), make_a())):
        found = diff(a, b)
        check(found)
        by_name = {one.name: one.same for one in found.parts[:5]}
        if case != "a token more":  # which needs a merge, too
            assert by_name == {name: name != part for name in by_name}
        assert by_name[part] is False
        assert found.verdict == verdict, [example.text for example in found.examples]
        assert {example.cause for example in found.examples} == causes
        assert found.complete


def test_flags_of_special_tokens_are_compared() -> None:
    one = tokenizer(TH, specials=SpecialTokens({"<s>": 300}))
    other = tokenizer(TH, specials=SpecialTokens({"<s>": 300}, non_special=["<s>"]))
    found = diff(one, other)
    assert found.verdict == "no difference found" and found.special_tokens.same is False
    assert found.special_tokens.note == "1 with other ids or flags: <s>"
    assert found.n_same > 1_000 and f"{found.n_same:,} texts" in found.summary


def test_special_tokens_that_are_added_around_a_text_are_compared() -> None:
    one, other = (tokenizer(TH, specials={"<s>": 300}) for _ in range(2))
    other.post_processor = PostProcessor(before=(300,))
    found = diff(one, other)
    check(found)
    assert found.verdict == "other special tokens" and found.same_ids is False
    assert found.examples[0].ids == ([97], [300, 97])
    assert found.special_tokens.note == "added around a text:  …  in A, <s> …  in B"


def test_a_regex_with_the_same_effect_is_no_proof_and_the_verdict_says_so() -> None:
    one = tokenizer(TH, pattern="none")
    other = tokenizer(TH, pattern=r"(?s:.+)")
    found = diff(one, other)
    check(found)
    assert found.verdict == "no difference found" and found.split_pattern.same is False
    assert "no proof" in found.summary


def test_a_token_that_is_special_in_the_other_is_a_difference_of_special_tokens() -> None:
    listed = BASE | {256: b"th", 257: b"<s>"}
    one = Tokenizer(listed, [TH], {"<s>": 257}, split_pattern="gpt2")
    other = Tokenizer(listed, [TH], split_pattern="gpt2")
    found = diff(one, other)
    check(found)
    assert found.vocabulary.same and found.verdict == "other special tokens"


def test_the_files_of_a_model_are_compared(tmp_path: Path) -> None:
    for name, rows in (("a", 300), ("b", 320)):
        folder = tmp_path / name
        folder.mkdir()
        tokenizer(TH).save(folder / "tokenizer.json")
        config = {"text_config": {"vocab_size": rows}} if name == "b" else {"vocab_size": rows}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"chat_template": f"{{{{ {name} }}}}"})
        )
    found = diff(tmp_path / "a", tmp_path / "b")
    check(found)
    assert found.verdict == "same ids"
    assert found.padded_size[1:3] == (False, ("300 rows for 257 ids", "320 rows for 257 ids"))
    assert found.chat_template[1:3] == (False, ("7 characters", "7 characters"))
    assert diff(tmp_path / "a", tmp_path / "a").chat_template.same is True
    assert diff(tmp_path / "a", tokenizer(TH)).padded_size.same is None


def test_ranks_and_merges_of_one_vocabulary_are_compared_by_texts(tmp_path: Path) -> None:
    ranks = tokviz.load("gpt2")
    ranks.save(tmp_path / "tokenizer.json")
    found = diff("gpt2", tmp_path / "tokenizer.json")
    check(found)
    assert found.vocabulary.same and found.merges.same is None
    assert found.verdict == "no difference found" and found.n_same > 10_000


def test_tokenizers_of_a_library_are_compared(tmp_path: Path) -> None:
    hf = pytest.importorskip("tokenizers")

    def saved(name: str, words: list[str]) -> Path:
        vocab = {word: number for number, word in enumerate(["[UNK]", *words])}
        made = hf.Tokenizer(hf.models.WordPiece(vocab, unk_token="[UNK]"))
        made.pre_tokenizer = hf.pre_tokenizers.Whitespace()
        made.save(str(tmp_path / name))
        return tmp_path / name

    one, same, other = (
        saved(name, words)
        for name, words in (("a", ["a", "b"]), ("b", ["a", "b"]), ("c", ["a", "ab"]))
    )
    found = diff(one, same)
    check(found)
    assert found.verdict == "same ids", "their files are equal"
    found = diff(one, other)
    check(found)
    assert found.verdict == "different" and found.merges.same is None
    found = diff(one, tokenizer(TH))
    check(found)
    assert found.verdict == "different" and found.split_pattern.same is None


def test_the_search_is_the_same_every_time_and_stops_at_its_limit() -> None:
    one, other = tokviz.load("gpt2"), tokviz.load("gpt-4")
    first, second = diff(one, other), diff(one, other)
    assert first.examples == second.examples and first.n_same == second.n_same
    assert {example.cause for example in first.examples} >= {"split", "specials", "ids"}
    stopped = diff(tokenizer(TH), tokenizer(TH, pattern="none"), seconds=0)
    assert not stopped.complete and stopped.verdict == "no difference found"
    assert "until the time limit" in stopped.summary


def test_an_error_of_the_progress_ends_the_search() -> None:
    class Enough(Exception):
        pass

    shares: list[float] = []

    def progress(share: float, found: TokenizerDiff) -> None:
        shares.append(share)
        if len(shares) == 4:
            raise Enough

    with pytest.raises(Enough):
        diff(tokenizer(TH), tokenizer(TH, HE), on_progress=progress)
    assert shares == sorted(shares) and shares[0] == 0


trainings = st.tuples(
    st.lists(st.sampled_from([*WORDS, " ", "\n"]), min_size=3, max_size=12).map("".join),
    st.integers(257, 275),
    st.sampled_from(["gpt2", "gpt4", "whitespace"]),
    st.sampled_from([(), ("<s>",), ("<s>", "th")]),
)
texts = st.lists(
    st.lists(st.sampled_from([*WORDS, " ", "\n", "<s>", "e\u0301"]), max_size=6).map("".join),
    min_size=20,
    max_size=20,
)


@examples(25)
@given(a=trainings, b=trainings, tried=texts)
def test_the_verdict_is_never_contradicted(a: Any, b: Any, tried: list[str]) -> None:
    one, other = (
        tokviz.train([text], size, split_pattern=pattern, special_tokens=specials).tokenizer
        for text, size, pattern, specials in (a, b)
    )
    found = diff(one, other)
    check(found)
    different = [text for text in tried if one.encode(text) != other.encode(text)]
    assert not different or found.examples, (different, found.summary)
    if found.verdict == "other special tokens":
        names = {*one.special_tokens, *other.special_tokens}
        for text in different:
            assert any(name in text for name in names)


def test_texts_with_equal_ids_are_not_a_disagreement() -> None:
    one, other = (tokenizer(TH, specials={"<s>": 300}) for _ in range(2))
    for text in ("the cafe\u0301 <s>", "a\udcffb", ""):
        byte_text = bytetext.from_bytes(text.encode("utf-8", "surrogateescape"))
        comparison = tokviz.compare.boundaries.Comparison(byte_text, [one, other])
        assert (
            one.byte_text.encode(byte_text).tolist() == other.byte_text.encode(byte_text).tolist()
        )
        assert comparison.disagreements == ()


def test_a_slow_pattern_leaves_texts_out_instead_of_failing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = tokenizer(TH), tokenizer(TH, specials={"<s>": 300})
    encode, calls = other.byte_text.encode_all, []

    def slow(texts: list[str], *arguments: Any) -> Any:
        calls.append(texts)
        if len(calls) < 3:
            raise tokviz.PatternError("x+", "takes too long")
        return encode(texts, *arguments)

    monkeypatch.setattr(other.byte_text, "encode_all", slow)
    found = difference.diff(one, other)
    assert found.verdict == "other special tokens"
