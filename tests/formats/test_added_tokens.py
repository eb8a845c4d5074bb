"""Added tokens of a `tokenizer.json`: one meaning of "as text", and the library's order."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.samples import trained
from tests.profiles import examples
from tokviz.chat.conversation import Conversation
from tokviz.chat.dataset import Dataset
from tokviz.chat.dataset_lint import DatasetLinter
from tokviz.chat.lint import lint
from tokviz.chat.render import render
from tokviz.chat.templates import TEMPLATES
from tokviz.formats.draft import build
from tokviz.formats.hf_native import read_native
from tokviz.formats.huggingface import to_tokenizer_json

hf = pytest.importorskip("tokenizers")

CONTENT = json.loads(to_tokenizer_json(trained()))
OVERLAPPING = ["<a>", "a>b", "<a>b", ">b<", "b<a", "<a", "  ", "\n\n", "\n\n  ", "b  "]
"""Texts that overlap in many ways, and are not tokens."""


def added(*tokens: tuple[str, bool, bool]) -> dict[str, Any]:
    """Return the content of a file with added tokens: text, normalized, special."""
    size = len(CONTENT["model"]["vocab"])
    options = {"single_word": False, "lstrip": False, "rstrip": False}
    listed = [
        {"id": size + n, "content": text, **options, "normalized": late, "special": special}
        for n, (text, late, special) in enumerate(tokens)
    ]
    return CONTENT | {"added_tokens": listed}


some_added = st.lists(
    st.tuples(st.sampled_from(OVERLAPPING), st.booleans(), st.booleans()),
    min_size=1,
    unique_by=lambda token: token[0],
)
some_text = st.lists(st.sampled_from([*OVERLAPPING, *" <a>b\n"])).map("".join)


@examples(300)
@given(tokens=some_added, text=some_text)
def test_added_tokens_are_found_in_the_librarys_order(tokens, text):
    content = added(*tokens)
    ours = build(read_native(content, "t"), "t")
    theirs = hf.Tokenizer.from_str(json.dumps(content))
    assert ours.encode(text) == theirs.encode(text).ids
    assert ours.tokenize(text).ids == theirs.encode(text).ids
    theirs.encode_special_tokens = True
    assert ours.encode(text, "huggingface") == theirs.encode(text).ids


@examples(200)
@given(tokens=some_added, text=some_text)
def test_as_text_no_added_token_is_recognised_but_white_space(tokens, text):
    ours = build(read_native(added(*tokens), "t"), "t")
    blank = [token for token in tokens if token[0].isspace() and not token[2]]
    theirs = hf.Tokenizer.from_str(json.dumps(added(*blank)))
    for place, (token, _, _) in enumerate(blank):
        # The library renumbers them if the others are left out.
        assert theirs.token_to_id(token) == len(CONTENT["model"]["vocab"]) + place
    number = {theirs.token_to_id(token): ours.special_tokens[token] for token, _, _ in blank}
    ids = [number.get(token_id, token_id) for token_id in theirs.encode(text).ids]
    assert ours.encode(text, "none") == ours.byte_text.encode(text, False).tolist() == ids


def test_tokens_that_are_normalized_are_looked_for_in_what_the_others_leave():
    ours = build(read_native(added(("ab", True, True), ("bc", False, True)), "t"), "t")
    first = ours.special_tokens
    assert ours.encode("abc") == [ours.token_id(b"a"), first["bc"]]
    assert ours.encode("ab") == [first["ab"]]


THINKING = added(("<|im_end|>", False, True), ("<think>", False, False), ("  ", True, False))


@cache
def qwen3(kind: str) -> tokviz.Tokenizer:
    """Return a tokenizer with `<think>`, encoded by tokviz or by the library."""
    normalizer = {"native": {"type": "NFC"}, "library": {"type": "Lowercase"}}[kind]
    path = Path(mkdtemp()) / "tokenizer.json"
    path.write_text(json.dumps(THINKING | {"normalizer": normalizer}))
    return tokviz.load(path)


@pytest.mark.parametrize("kind", ["native", "library"])
def test_specials_as_text_mean_the_same_whoever_encodes(kind):
    tok = qwen3(kind)
    assert tok.remote == (kind == "library")
    think, end = tok.special_tokens["<think>"], tok.special_tokens["<|im_end|>"]
    text = "<think>a<|im_end|>"
    assert {think, end} <= set(tok.encode(text))
    assert not {think, end} & set(tok.encode(text, "none"))
    assert tok.decode(tok.encode(text, "none")) == text
    assert think in (ids := tok.encode(text, "huggingface"))
    assert end not in ids
    assert len(tok.encode("a  a", "none")) == 3
    assert tok.load_report is not None
    assert "taken for special: <think>" in str(tok.load_report.findings)
    with pytest.raises(tokviz.SpecialTokenError, match="'huggingface'"):
        tok.encode(text, "splendid")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["native", "library"])
def test_added_tokens_that_are_not_special_belong_in_contents(kind):
    tok = qwen3(kind)
    told = Conversation.from_json(
        [{"role": "user", "content": "a  <think>"}, {"role": "assistant", "content": "b  b"}]
    )
    rendering = render(tok, told, "chatml")
    assert "special-in-content" not in {finding.code for finding in lint(told, rendering)}
    assert tok.special_tokens["<think>"] in rendering.ids
    rendering = render(tok, told, "chatml", specials="content_as_text")
    assert tok.special_tokens["<think>"] not in rendering.ids


def test_a_saved_file_says_what_the_read_one_said(tmp_path):
    tok = qwen3("native")
    tok.save(tmp_path / "tokenizer.json")
    saved = json.loads((tmp_path / "tokenizer.json").read_text())["added_tokens"]
    assert saved == THINKING["added_tokens"]


def test_texts_with_added_white_space_are_counted_with_it():
    rows = [{"messages": [{"role": "user", "content": "a" + " " * 9 + "b"}]}] * 2
    dataset = Dataset.from_bytes("x", json.dumps(rows).encode())
    linter = DatasetLinter(qwen3("native"), TEMPLATES["chatml"], 2048, with_lengths=True)
    rendering = render(qwen3("native"), Conversation.from_json(rows[0]), "chatml")
    assert [report.n_tokens for report in linter.reports(dataset)] == [len(rendering)] * 2


@pytest.mark.parametrize("model", ["unigram", "wordlevel"])
def test_models_that_look_words_up_do_not_find_special_tokens_in_text(model, tmp_path):
    vocab = ["<unk>", "</s>", "a", "<", "/", "s", ">"]
    part = {
        "unigram": {"type": "Unigram", "unk_id": 0, "vocab": [[text, -1.0] for text in vocab]},
        "wordlevel": {
            "type": "WordLevel",
            "unk_token": "<unk>",
            "vocab": {text: token_id for token_id, text in enumerate(vocab)},
        },
    }[model]
    content = added(("<unk>", False, True), ("</s>", False, True))
    for token_id, token in enumerate(content["added_tokens"]):
        token["id"] = token_id
    pre_tokenizer = None if model == "unigram" else {"type": "WhitespaceSplit"}
    content |= {"model": part, "pre_tokenizer": pre_tokenizer, "decoder": {"type": "Fuse"}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    tok = tokviz.load(path)
    assert tok.encode("a</s>") == [2, 1]
    expected = [3, 4, 5, 6] if model == "unigram" else [0]
    assert tok.encode("</s>", "none") == expected
    assert tok.encode("a", "none") == [2]
    tok.close()
