"""Mistral's `tekken.json`, and the ranks of tiktoken for JavaScript."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

import tokviz

PATTERN = tokviz.load("tekken").split_pattern.regex
TOKENS = [*(bytes([byte]) for byte in range(256)), b"th", b"the", b"in", b"cut off"]


def entry(rank: int) -> dict:
    token = TOKENS[rank]
    text = token.decode("utf-8", "replace")
    return {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": text}


def tekken(**changes) -> dict:
    config = {
        "pattern": PATTERN,
        "num_vocab_tokens": 260,
        "default_vocab_size": 259 + 100,
        "default_num_special_tokens": 100,
        "version": "v7",
    }
    config |= {key: value for key, value in changes.items() if key in config}
    content = {"config": config, "vocab": [entry(rank) for rank in range(260)]}
    return content | {key: value for key, value in changes.items() if key not in config}


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "tekken.json"
        path.write_text(json.dumps(content))
        return path

    return write


def test_ids_of_tekken_come_after_the_special_tokens(write):
    tok = tokviz.load(write(tekken()))
    assert tok.n_vocab == 359 and tok.split_pattern.name == "tekken"
    assert tok.encode("the in") == [100 + 257, 100 + 32, 100 + 258]
    assert tok.special_tokens["</s>"] == 2 and tok.special_tokens["[INST]"] == 3
    assert tok.special_tokens["<SPECIAL_99>"] == 99 and len(tok.special_tokens) == 100
    # Not among the first default_vocab_size.
    assert len(tok.encode("cut off")) == 7
    assert tok.decode(tok.encode("naïve 你好")) == "naïve 你好"


def test_listed_special_tokens_replace_the_usual_ones(write):
    listed = [{"rank": i, "token_str": text, "is_control": True} for i, text in enumerate("xyz")]
    tok = tokviz.load(write(tekken(version="v13", special_tokens=listed)))
    assert [*tok.special_tokens][:4] == ["x", "y", "z", "<SPECIAL_3>"]


@pytest.mark.parametrize("form", ["huggingface", "tiktoken"])
def test_a_saved_tekken_keeps_its_ids(form, write, tmp_path):
    tok = tokviz.load(write(tekken()))
    tok.save(tmp_path / "saved", format=form)
    text = "[INST]the thin 你好[/INST]"
    assert tokviz.load(tmp_path / "saved").encode(text) == tok.encode(text)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (tekken(version="v13"), "version 'v13' needs the key 'special_tokens'"),
        (tekken(default_vocab_size=999), "config.default_vocab_size: 999 tokens"),
        (tekken(default_vocab_size="9"), "key 'config.default_vocab_size' is not a number"),
        (tekken(default_num_special_tokens=9, default_vocab_size=99), "20 are more than 9"),
        (tekken(vocab=[entry(0), entry(2)] * 200), "(vocab[1]): is not the token of rank 1"),
        (tekken(pattern="("), "its key 'config.pattern': "),
        (tekken(special_tokens=[{"rank": 1}]), "(special_tokens[0]): is not the token of rank 0"),
    ],
)
def test_what_is_wrong_names_the_key(content, words, write):
    with pytest.raises(tokviz.InputFileError) as caught:
        tokviz.load(write(content))
    assert words in str(caught.value)
    with pytest.raises(tokviz.InputFileError, match="has its own split pattern"):
        tokviz.load(write(content), split_pattern="gpt2")


def javascript(**changes) -> dict:
    rows = [b64encode(token).decode() for token in TOKENS]
    ranks = f"! 0 {' '.join(rows[:256])}\n! 300 {' '.join(rows[256:])}"
    content = {"explicit_n_vocab": 400, "pat_str": tokviz.load("gpt2").split_pattern.regex}
    return content | {"special_tokens": {"<EOT>": 0xFFF}, "bpe_ranks": ranks} | changes


def test_ranks_of_tiktoken_for_javascript_have_gaps(write):
    tok = tokviz.load(write(javascript()))
    assert tok.encode("the<EOT>in") == [301, 0xFFF, 302]
    assert tok.split_pattern.name == "gpt2" and not tok.pattern_doubt


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (javascript(bpe_ranks="! 0 AA==\n! x AQ=="), "bpe_ranks, line 2: is not"),
        (javascript(bpe_ranks="! 0 AA== ???"), "bpe_ranks, line 1: is not"),
        (javascript(special_tokens={"a": "b"}), "(special_tokens['a']): is not a token id"),
        (javascript(pat_str="["), "its key 'pat_str': "),
        (javascript(pat_str=3), "its key 'pat_str' is not a text"),
    ],
)
def test_wrong_ranks_of_javascript_name_the_key(content, words, write):
    with pytest.raises(tokviz.InputFileError) as caught:
        tokviz.load(write(content))
    assert words in str(caught.value)
