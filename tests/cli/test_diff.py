from __future__ import annotations

import json

import pytest

from tokviz.tokenizer.tokenizer import Tokenizer

BASE = {byte: bytes([byte]) for byte in range(256)}


@pytest.fixture
def files(tmp_path):
    for name, specials in (("one", {}), ("same", {}), ("other", {"<s>": 257})):
        tokenizer = Tokenizer(BASE | {256: b"th"}, [(b"t", b"h")], specials)
        tokenizer.save(tmp_path / f"{name}.json")
    return tmp_path


def test_equal_files_have_the_same_ids_and_the_code_is_0(tokviz, files):
    done = tokviz("diff", files / "one.json", files / "same.json")
    assert done.code == 0
    lines = done.text.splitlines()
    assert lines[2] == "Same ids: all parts that encode text are equal."
    assert [line.split()[:2] for line in lines[5:9]] == [
        ["vocabulary", "same"], ["merges", "same"], ["split", "pattern"], ["normalizer", "same"],
    ]  # fmt: skip
    assert "texts whose ids differ" not in done.text


def test_other_special_tokens_are_shown_with_a_text_and_the_code_is_1(tokviz, files):
    done = tokviz("diff", files / "one.json", files / "other.json", "--most", 1)
    assert done.code == 1
    assert "Same vocabulary, other special tokens: text without them has the same ids" in done.text
    assert "1 only in B: <s>" in done.text
    shown = done.text.partition("texts whose ids differ\n")[2].splitlines()
    assert shown[:3] == ["<s>", "  A  60 115 62", "  B  257"]
    assert shown[3].startswith("  specials: <s> is a special token of ")


def test_json_says_the_same(tokviz, files):
    done = tokviz("diff", "--json", files / "one.json", files / "other.json")
    record = json.loads(done.out)
    assert done.code == 1 and record["verdict"] == "other special tokens"
    assert record["parts"]["special tokens"]["same"] is False
    assert record["parts"]["merges"] == {"same": True, "texts": ["1 merge", "1 merge"], "note": ""}
    assert record["complete"] and record["examples"][0]["ids"] == [[60, 115, 62], [257]]


def test_errors_have_the_code_2(tokviz, files):
    assert tokviz("diff", files / "one.json").code == 2
    done = tokviz("diff", files / "one.json", files / "missing.json")
    assert done.code == 2 and "missing.json" in done.err and not done.out
