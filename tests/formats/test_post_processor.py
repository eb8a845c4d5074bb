"""Special tokens of a post-processor around a text, truncation and padding."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokviz
from tests.formats.samples import trained
from tests.oracles.nasty import texts
from tests.profiles import examples
from tokviz.formats import subprocess_loader
from tokviz.formats.draft import build
from tokviz.formats.hf_native import read_native
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.save import FORMATS, what_is_lost

hf = pytest.importorskip("tokenizers")

SPECIALS = ("<s>", "</s>", "[MASK]")
TOKENIZER = trained("gpt4", SPECIALS)
CONTENT = json.loads(to_tokenizer_json(TOKENIZER))
BOS, EOS, MASK = (TOKENIZER.special_tokens[text] for text in SPECIALS)
BYTE_LEVEL = {
    "type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True,
}  # fmt: skip
A: dict[str, Any] = {"Sequence": {"id": "A", "type_id": 0}}
B: dict[str, Any] = {"Sequence": {"id": "B", "type_id": 1}}


def special(name: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": 0}}


def template(*single: dict[str, Any]) -> dict[str, Any]:
    ids = {"<s>": [BOS], "</s>": [EOS], "both": [MASK, EOS], "raw": [97]}
    tokens = {
        name: {"id": name, "ids": some, "tokens": [str(one) for one in some]}
        for name, some in ids.items()
    }
    pair = [A, B]
    return {
        "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens,
    }  # fmt: skip


def processors(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "processors": list(steps)}


BERT = {"type": "BertProcessing", "sep": ["</s>", EOS], "cls": ["<s>", BOS]}
ROBERTA = BERT | {"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
DONE = {
    "none": (None, [], []),
    "byte level": (BYTE_LEVEL, [], []),
    "an empty sequence": (processors(), [], []),
    "template": (template(special("<s>"), A, special("</s>")), [BOS], [EOS]),
    "template with nothing": (template(A), [], []),
    "several ids": (
        template(special("both"), special("<s>"), A, special("raw")), [MASK, EOS, BOS], [97],
    ),
    "llama 3": (processors(BYTE_LEVEL, template(special("<s>"), A)), [BOS], []),
    "bert": (BERT, [BOS], [EOS]),
    "roberta": (ROBERTA, [BOS], [EOS]),
}  # fmt: skip
REFUSED = {
    "two templates": processors(template(special("<s>"), A), template(A, special("</s>"))),
    "the text twice": template(A, special("<s>"), A),
    "no text": template(special("<s>")),
    "a pair": template(A, special("<s>"), B),
    "an unknown token": template(special("<x>"), A),
    "an unknown kind": {"type": "Chat"},
    "no ids": {"type": "BertProcessing", "sep": [], "cls": "x"},
    "negative": BERT | {"cls": ["<s>", -1]},
    "huge": template(A, *[special("<s>")] * 9_000),
}


def native(post_processor: object) -> tokviz.Tokenizer:
    return build(read_native(CONTENT | {"post_processor": post_processor}, "t"), "t")


def written(folder: Path, changes: dict[str, object]) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(CONTENT | changes))
    return path


@pytest.mark.parametrize(("post_processor", "before", "after"), DONE.values(), ids=DONE)
def test_special_tokens_are_added_as_the_library_adds_them(post_processor, before, after):
    ours = native(post_processor)
    theirs = hf.Tokenizer.from_str(json.dumps(CONTENT | {"post_processor": post_processor}))
    for text in ("low lower", "", "<s>a</s>"):
        ids = ours.encode(text)
        assert ids == theirs.encode(text, add_special_tokens=False).ids
        expected = theirs.encode(text, add_special_tokens=True).ids
        assert ours.encode(text, add_special_tokens=True) == expected == [*before, *ids, *after]


names = st.lists(st.sampled_from(["<s>", "</s>", "both"]), max_size=3)


@examples(60)
@given(text=texts, before=names, after=names)
def test_any_template_gives_the_librarys_ids(text, before, after):
    made = template(*map(special, before), A, *map(special, after))
    content = CONTENT | {"post_processor": made}
    theirs = hf.Tokenizer.from_str(json.dumps(content)).encode(text).ids
    assert native(made).encode(text, add_special_tokens=True) == theirs


@pytest.mark.parametrize("post_processor", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_added_is_refused(post_processor):
    tok = native(post_processor)
    assert tok.encode("low") == TOKENIZER.encode("low")
    with pytest.raises(tokviz.SpecialTokenError, match="cannot add what its post-processor"):
        tok.encode("low", add_special_tokens=True)
    assert tok.load_report is not None
    assert "tokviz cannot add what" in str(tok.load_report.findings)
    assert any("post-processor" in lost for lost in what_is_lost(tok))


@pytest.mark.parametrize("load", [tokviz.load, subprocess_loader.load], ids=["here", "in a child"])
@pytest.mark.parametrize("normalizer", [None, {"type": "Lowercase"}], ids=["native", "library"])
def test_a_loaded_file_adds_its_special_tokens(
    load: Callable[[Path], tokviz.Tokenizer], normalizer, tmp_path
):
    post_processor = template(special("<s>"), A, special("</s>"))
    path = written(tmp_path, {"post_processor": post_processor, "normalizer": normalizer})
    tok = load(path)
    assert tok.remote == (normalizer is not None)
    theirs = hf.Tokenizer.from_file(str(path))
    ids = tok.encode("low <s>Lower", add_special_tokens=True)
    assert ids == theirs.encode("low <s>Lower").ids
    assert tok.encode("low") == theirs.encode("low", add_special_tokens=False).ids
    for skip in (True, False):
        expected = theirs.decode(ids, skip_special_tokens=skip)
        assert tok.decode(ids, skip_special_tokens=skip) == expected
    assert tok.load_report is not None
    assert "adds 1 tokens before a text, 1 after it" in str(tok.load_report.findings)
    tok.close()


def test_tokens_that_are_not_called_special_are_not_skipped():
    content = json.loads(json.dumps(CONTENT))
    content["added_tokens"][2]["special"] = False
    ours, theirs = build(read_native(content, "t"), "t"), hf.Tokenizer.from_str(json.dumps(content))
    ids = ours.encode("a<s>b[MASK]c</s>")
    expected = theirs.decode(ids, skip_special_tokens=True)
    assert ours.decode(ids, skip_special_tokens=True) == expected == "ab[MASK]c"
    assert ours.decode(ids) == "a<s>b[MASK]c</s>"


def test_tokens_that_are_no_bytes_are_decoded_without_special_ones(tmp_path):
    tok = hf.Tokenizer(hf.models.WordPiece({"[CLS]": 0, "a": 1, "##b": 2}, unk_token="[CLS]"))
    tok.decoder = hf.decoders.WordPiece()
    tok.add_special_tokens(["[CLS]"])
    tok.post_processor = hf.processors.BertProcessing(("[CLS]", 0), ("[CLS]", 0))
    tok.save(str(tmp_path / "tokenizer.json"))
    ours = tokviz.load(tmp_path / "tokenizer.json")
    ids = ours.encode("ab", add_special_tokens=True)
    assert ids == tok.encode("ab").ids == [0, 1, 2, 0]
    assert ours.decode(ids, skip_special_tokens=True) == tok.decode(ids) == "ab"
    ours.close()


def test_an_unknown_id_is_reported_at_its_place_behind_special_tokens():
    with pytest.raises(tokviz.TokenIdError, match="999999") as caught:
        TOKENIZER.decode([BOS, 97, 999_999], skip_special_tokens=True)
    assert caught.value.index == 2


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
def test_built_in_tokenizers_add_nothing(name):
    tok = tokviz.load(name)
    assert tok.encode("hello", add_special_tokens=True) == tok.encode("hello")
    assert tok.decode(tok.encode("hi<|endoftext|>"), skip_special_tokens=True) == "hi"


def test_a_saved_file_keeps_the_post_processor(tmp_path):
    ours = native(template(special("<s>"), A, special("</s>")))
    assert what_is_lost(ours) == []
    ours.save(tmp_path / "tokenizer.json")
    theirs = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode("low").ids == ours.encode("low", add_special_tokens=True)
    for name in FORMATS.keys() - {"huggingface"}:
        assert "post-processor adds around a text" in what_is_lost(ours, name)[-1]


def test_truncation_and_padding_are_named_as_what_tokviz_does_not_do(tmp_path):
    theirs = hf.Tokenizer.from_str(json.dumps(CONTENT))
    theirs.enable_truncation(4)
    theirs.enable_padding(length=6, pad_id=BOS, pad_token="<s>")
    theirs.save(str(tmp_path / "tokenizer.json"))
    tok = tokviz.load(tmp_path / "tokenizer.json")
    assert tok.load_report is not None
    notes = {finding.code: str(finding) for finding in tok.load_report.findings}
    assert '"max_length": 4' in notes["truncation"]
    assert notes["truncation"].endswith("tokviz does not truncate")
    assert '"pad_token": "<s>"' in notes["padding"] and '{"Fixed": 6}' in notes["padding"]
    assert notes["padding"].endswith("tokviz does not pad")
    assert len(tok.encode("low lower newest widest")) > 6
    silent = native(None).load_report
    assert silent is not None
    assert not {"truncation", "padding"} & {finding.code for finding in silent.findings}
