"""Arguments of wrong types and unknown names are errors that name the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import tokviz

GPT2 = tokviz.load("gpt2")

TEXTS = {
    'use "" for an empty text': None,
    "decode it, or call encode_bytes": b"x",
    "call encode_batch": ["a"],
    "str\\(\\)": 5,
}
METHODS = (
    GPT2.encode,
    GPT2.count,
    GPT2.tokenize,
    GPT2.encode_to_numpy,
    lambda value: GPT2.encode_batch(["a", value]),
    lambda value: [*GPT2.encode_iterable(["a", value])],
    lambda value: tokviz.compare(value, ["gpt2"]),
)


@pytest.mark.parametrize("remedy", TEXTS)
@pytest.mark.parametrize("method", METHODS)
def test_what_is_not_text_is_a_type_error(method, remedy):
    with pytest.raises(tokviz.TokvizError, match=remedy) as raised:
        method(TEXTS[remedy])
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: GPT2.encode_batch("abc"), "call encode$"),
        (lambda: [*GPT2.encode_iterable("abc")], "call encode$"),
        (lambda: GPT2.decode_batch("abc"), "call decode$"),
        (lambda: GPT2.encode_bytes("abc"), "call encode$"),
        (lambda: GPT2.encode("a", None), "'none'"),
        (lambda: GPT2.decode("text"), "the result of encode"),
        (lambda: GPT2.decode(b"text"), "the result of encode"),
        (lambda: GPT2.decode([1.5]), "integers"),
        (lambda: GPT2.decode(["a"]), "integers"),
        (lambda: GPT2.decode([[1], [2]]), "decode_batch"),
        (lambda: GPT2.decode(np.array([[1], [2]])), "decode_batch"),
        (lambda: GPT2.decode_batch([1, 2]), r"use \[1\]"),
        (lambda: GPT2.decode(5), r"use \[5\]"),
        (lambda: GPT2.decode(None), "integers"),
        (lambda: tokviz.compare("a", "gpt2"), "put it in brackets"),
        (lambda: tokviz.compression_report(GPT2), "put it in brackets"),
    ],
)
def test_a_wrong_argument_is_a_type_error_with_a_remedy(call, remedy):
    with pytest.raises(tokviz.ArgumentTypeError, match=remedy):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GPT2.encode("a", {"<|endofext|>"}), "did you mean '<|endoftext|>'"),
        (lambda: GPT2.count("a", ["[PAD]"]), "see its special_tokens"),
        (lambda: GPT2.encode("a", "nonsense"), "'all', 'none'"),
        (lambda: GPT2.decode([50257]), "ids end at 50256"),
        (lambda: GPT2.decode([5, -1]), r"position 1 of the ids"),
        (lambda: tokviz.load("cl100k_base").decode([100261]), "the id is a gap"),
        (lambda: tokviz.load("gtp2"), "did you mean gpt2"),
        (lambda: tokviz.compare("a", ["gpt2", "gtp2"]), "did you mean gpt2"),
        (lambda: tokviz.compare("a", ["gpt2"], {"<|x|>"}), "no tokenizer has"),
    ],
)
def test_an_unknown_name_or_id_is_a_value_error(call, message):
    with pytest.raises(tokviz.TokvizError, match=message.replace("|", r"\|")) as raised:
        call()
    assert isinstance(raised.value, ValueError)


def test_a_special_token_that_one_of_several_tokenizers_has_is_known():
    found = tokviz.compare("a<|endofprompt|>", ["gpt2", "cl100k_base"], {"<|endofprompt|>"})
    assert found.counts == (9, 2)


def test_ids_of_any_integer_type_are_decoded():
    ids = GPT2.encode("hello world<|endoftext|>")
    for given in (tuple(ids), iter(ids), np.array(ids, np.uint32), GPT2.encode_to_numpy("hello")):
        assert "hello world<|endoftext|>".startswith(GPT2.decode(given))
    assert GPT2.decode_batch([ids, np.array(ids)], skip_special_tokens=True) == ["hello world"] * 2


def test_names_and_paths_are_accepted_in_place_of_tokenizers(tmp_path):
    own = tokviz.train(["low lower"], 260).tokenizer
    own.save(tmp_path / "own.json")
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    for name, tokenizer in (("gpt-2", GPT2), (tmp_path / "own.json", own)):
        assert tokviz.compare("low", [name]) == tokviz.compare("low", [tokenizer])
        assert tokviz.diff(name, tokenizer).same_ids
        assert tokviz.what_is_lost(name, "tiktoken") == tokviz.what_is_lost(tokenizer, "tiktoken")
        expected = tokviz.render(tokenizer, {"messages": messages})
        assert tokviz.render(name, messages) == expected
        made = tokviz.render_conversation(name, messages)
        assert made == tokviz.render_conversation(tokenizer, {"messages": messages})
        assert tokviz.render_for_completion(name, messages) == made[0][:-2]
        shown = tokviz.visualize_tokenization(name, *made)
        assert shown == tokviz.visualize_tokenization(tokenizer, *made)
    rows = tokviz.compression_report(["gpt2", tmp_path / "own.json"], ["low"])
    assert [row.n_tokens for row in rows] == [GPT2.count("low"), own.count("low")]


def test_a_tokenization_has_tokens_and_spans_of_characters():
    text = "naïve 🙂\ud83d\ude42\ud800<|endoftext|>"
    found = GPT2.tokenize(text)
    assert found.text == "naïve 🙂🙂\ufffd<|endoftext|>"
    assert b"".join(found.tokens).decode() == found.text
    assert found.tokens == [GPT2.token_bytes(token_id) for token_id in found.ids]
    data = found.text.encode()
    for (start, end), token, (first, last) in zip(
        found.byte_spans.tolist(), found.tokens, found.char_spans.tolist(), strict=True
    ):
        assert data[start:end] == token
        assert token in found.text[first:last].encode()
        assert last - first <= len(token.decode("utf-8", "replace"))
    assert found.special.tolist() == [token == b"<|endoftext|>" for token in found.tokens]
