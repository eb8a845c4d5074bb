from __future__ import annotations

import unicodedata

import pytest

import tokviz
from tokviz.compare.report import PARALLEL_BASE, SAMPLES, best_of, parallel_texts, sample_texts
from tokviz.errors import VocabularyError

NAMES = ("gpt2", "gpt-4", "gpt-4o", "qwen2")


def test_a_row_for_each_text_and_tokenizer_counts_as_encoding_does():
    tokenizers = [tokviz.load(name) for name in NAMES]
    rows = tokviz.compression_report(tokenizers)
    texts = dict(sample_texts())
    pairs = [(name, tok) for name in texts for tok in tokenizers]
    assert [(row.text, row.tokenizer) for row in rows] == [(name, tok.name) for name, tok in pairs]
    for row, (name, tok) in zip(rows, pairs, strict=True):
        n_tokens = len(tok.encode(texts[name], allowed_special="none"))
        n_bytes = len(texts[name].encode())
        assert (row.n_bytes, row.n_tokens, row.lossless) == (n_bytes, n_tokens, True)
        assert row.bytes_per_token == n_bytes / n_tokens


def test_texts_may_have_names_or_none_and_hold_anything():
    tok = tokviz.load("gpt2")
    named = tokviz.compression_report([tok], {"a": "hello", "b": ""})
    assert [(row.text, row.n_tokens, row.bytes_per_token) for row in named] == [
        ("a", 1, 5.0),
        ("b", 0, None),
    ]
    assert tokviz.compression_report([tok], [("a", "hello"), ("b", "")]) == named
    [row] = tokviz.compression_report([tok], ["half \ud83d <|endoftext|>"])
    assert row.text == "half \ud83d <|endoftext|>"
    assert row.n_bytes == len("half \ufffd <|endoftext|>".encode())
    assert row.n_tokens > 4, "a special token in a measured text is plain text"
    assert tokviz.compression_report([], ["x"]) == ()
    assert tokviz.compression_report([tok], "hello") == tokviz.compression_report([tok], ["hello"])


def test_a_tokenizer_that_changes_text_is_said_and_cannot_be_the_best():
    decomposed = "e\u0301" * 20
    rows = tokviz.compression_report([tokviz.load("qwen2"), tokviz.load("gpt2")], [decomposed])
    assert [row.lossless for row in rows] == [False, True]
    assert rows[0].n_tokens < rows[1].n_tokens
    assert best_of(rows) == []


def test_a_round_trip_that_fails_without_reason_is_an_error(monkeypatch):
    tok = tokviz.load("gpt2")
    monkeypatch.setattr(tok, "decode_bytes", lambda ids: b"other")
    with pytest.raises(
        VocabularyError, match="gpt2 encodes the text 'greeting' as ids that decode to another"
    ):
        tokviz.compression_report([tok], {"greeting": "hello"})


def test_the_best_takes_the_fewest_tokens():
    rows = tokviz.compression_report([tokviz.load("gpt2"), tokviz.load("gpt-4")], ["    x = 1"])
    assert [row.tokenizer for row in best_of(rows)] == ["cl100k_base"]
    same = tokviz.compression_report([tokviz.load("gpt2"), tokviz.load("gpt-4")], ["hello"])
    assert best_of(same) == []


def test_the_texts_that_ship_are_of_many_kinds_and_composed():
    assert list(dict(sample_texts())) == list(SAMPLES)
    parallel = parallel_texts()
    assert next(iter(parallel)) == PARALLEL_BASE
    assert len(parallel) >= 20
    for text in [*parallel.values(), *dict(sample_texts()).values()]:
        assert 500 < len(text.encode()) < 6_000
        assert unicodedata.is_normalized("NFC", text)
        assert "\ufffd" not in text and "\r" not in text
    assert {text.count("\n") for text in parallel.values()} <= {6, 7}


def test_an_id_that_does_not_exist_is_named_with_its_place():
    with pytest.raises(tokviz.TokenIdError, match=r"id 999999 \(position 2 of the ids\)"):
        tokviz.load("gpt2").decode_bytes([1, 2, 999_999, 888_888])
