"""tokenizer.json: saved files load in Hugging Face's library and give the same ids."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.oracles.nasty import FRAGMENTS
from tokviz.formats.byte_level import from_characters, to_characters
from tokviz.formats.hf_native import read_tokenizer_json
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.tokenizer.pretokenize.patterns import SPLIT_PATTERNS
from tokviz.training.settings import SpecialIds

TEXT = "The cats' 12345 naïve cats\n\n  sat, they'll say: 你好 👩‍👩‍👧 <|endoftext|>The end. " * 9
NEWER_LETTERS = {"\u0558", "\U000323b0"}


def trained(pattern: str, special_ids: str = "last") -> tokviz.Tokenizer:
    specials = ["<|endoftext|>", "<|endoftext|>2", "<é>"]
    return tokviz.train(
        [TEXT], 400, split_pattern=pattern, special_tokens=specials, special_ids=special_ids
    ).tokenizer


def hugging_face(tokenizer):
    tokenizers = pytest.importorskip("tokenizers")
    return tokenizers.Tokenizer.from_str(to_tokenizer_json(tokenizer).decode())


@pytest.mark.parametrize("pattern", [*SPLIT_PATTERNS, r"\w+|\s+"])
@pytest.mark.parametrize("special_ids", get_args(SpecialIds))
def test_hugging_face_gives_the_same_ids(pattern, special_ids):
    ours = trained(pattern, special_ids)
    theirs = hugging_face(ours)
    for text in (TEXT, "<|endoftext|>2<é>é", "  cats\r\n\tcats   ", "", "a\u00a0b\u3000c"):
        assert theirs.encode(text).ids == ours.encode(text)
        if "<é>" not in text:  # its decoder takes the é for the byte 0xe9
            assert theirs.decode(ours.encode(text), skip_special_tokens=False) == text
    assert theirs.get_vocab_size() == ours.n_vocab


OURS = trained("gpt4")
THEIRS = hugging_face(OURS)


@given(st.lists(st.sampled_from([*{*FRAGMENTS} - NEWER_LETTERS]), max_size=60).map("".join))
def test_hugging_face_gives_the_same_ids_for_nasty_text(text):
    assert THEIRS.encode(text).ids == OURS.encode(text)
    assert THEIRS.decode(OURS.encode(text), skip_special_tokens=False) == text


@pytest.mark.parametrize("pattern", [*SPLIT_PATTERNS, r"\p{L}+|[^\p{L}]"])
def test_what_is_written_is_read_again(pattern, tmp_path):
    path = tmp_path / "tokenizer.json"
    ours = trained(pattern, "first")
    path.write_bytes(to_tokenizer_json(ours))
    again = tokviz.load(path)
    assert again.vocab == ours.vocab
    assert again.merges == ours.merges
    assert again.special_tokens == ours.special_tokens
    assert again.split_pattern.regex == ours.split_pattern.regex
    assert again.load_report is not None
    assert again.load_report.worst is None
    assert len(again.load_report.checks) == 3
    assert tokviz.load(str(path)).encode(TEXT) == ours.encode(TEXT)


def test_a_special_token_spelled_like_another_token_is_refused():
    tok = tokviz.Tokenizer({i: bytes([i]) for i in range(256)}, [], {"Ġ": 256})
    with pytest.raises(tokviz.SpecialTokenError, match="'Ġ' is spelled like the token b' '"):
        to_tokenizer_json(tok)


def test_bytes_have_gpt2s_characters():
    assert to_characters(b" the\n\x00\xff") == "ĠtheĊĀÿ"
    every_byte = bytes(range(256))
    assert from_characters(to_characters(every_byte)) == every_byte
    with pytest.raises(ValueError, match="'漢'"):
        from_characters("漢")


def changed(**model):
    content = json.loads(to_tokenizer_json(OURS))
    for key, value in model.items():
        target = content if key in content else content["model"]
        target[key] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ("[]", "its key 'model' is not an object"),
        ("{}", "its key 'model' is not an object"),
        (changed(vocab=[1]), "its key 'vocab' is not an object"),
        (changed(merges=None), "its key 'merges' is missing"),
        (changed(vocab={"a": -1}, added_tokens=[]), "model.vocab['a']: -1 is not a token id"),
        (changed(merges=["Ġ Ġ Ġ"]), "model.merges[0]: 'Ġ Ġ Ġ' is not a merge"),
        (changed(merges=["q q"]), "model.merges[0]: the product b'qq' is not a token"),
        (
            changed(added_tokens=[{"content": "x", "id": "y"}]),
            "added_tokens[0]: 'y' is not a token",
        ),
        (changed(added_tokens=[3]), "added_tokens[0]: its `content` is not a text"),
        (changed(type="Magic"), "model.type: 'Magic' is not a model"),
    ],
    ids=range(12),
)
def test_what_cannot_be_loaded_says_why(text, words, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(tokviz.InputFileError) as caught:
        read_tokenizer_json(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)
