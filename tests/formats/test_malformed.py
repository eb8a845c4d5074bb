# ruff: noqa: E501  a table: every message is read as a user reads it
"""Exact error messages for damaged files and files of other kinds."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

import tokviz
from tokviz.formats.byte_level import to_characters

RANKS = b"".join(b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256))
BYTES = {to_characters(bytes([byte])): byte for byte in range(256)}
MODEL = {"type": "BPE", "merges": [], "vocab": BYTES}
CHOOSE = (
    "choose a tokenizer.json, a .tiktoken file, a tekken.json, vocab.json with merges.txt beside "
    "it, a minbpe .model, or the folder of a training"
)


def hf(model=None, **parts):
    """Make a `tokenizer.json` of the 256 bytes, a value a line."""
    content: dict[str, Any] = {
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "decoder": {"type": "ByteLevel"},
    }
    content |= parts
    content["model"] = MODEL | (model or {})
    return json.dumps(content, indent=1, ensure_ascii=False).encode()


def vocab(**more):
    return hf({"vocab": {**more, **BYTES}})


REGEX = {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}

CASES = [
    ("t.json", b"", "t.json: is empty"),
    ("t.json", b" \n", "t.json: holds nothing but white space"),
    ("t.json", b"hello world", "t.json: is not a tokenizer: CHOOSE"),
    ("t.json", b"{}", "t.json: is an empty JSON object: CHOOSE"),
    ("t.json", b"[]", "t.json: is an empty list: CHOOSE"),
    ("t.json", b"null", "t.json: is not a tokenizer: CHOOSE"),
    ("t.json", b"42", "t.json: is not a tokenizer: CHOOSE"),
    (
        "t.json",
        b"{",
        "t.json: line 1, column 2: is not JSON: it is cut off here, or a bracket is not closed",
    ),
    ("t.json", b'{"model": }', "t.json: line 1, column 11: is not JSON: a value is missing here"),
    (
        "t.json",
        b'{"model": {"type": "BPE",}}',
        "t.json: line 1, column 26: is not JSON: a key in double quotes is missing here",
    ),
    (
        "t.json",
        b"{'model': {}}",
        "t.json: line 1, column 2: is not JSON: a key in double quotes is missing here",
    ),
    (
        "t.json",
        b'{"model": {"type" "BPE"}}',
        "t.json: line 1, column 19: is not JSON: a colon is missing here",
    ),
    (
        "t.json",
        b'{"model": {"type": "BPE" "vocab": {}}}',
        "t.json: line 1, column 26: is not JSON: a comma is missing here, or a quote before",
    ),
    (
        "t.json",
        b'{"model": {"type": "BPE',
        "t.json: line 1, column 20: is not JSON: the string that starts here has no closing quote",
    ),
    (
        "t.json",
        b'{"model": {}} {}',
        "t.json: line 1, column 15: is not JSON: the JSON ends before here, and more follows",
    ),
    (
        "t.json",
        b'{"model": null}',
        "t.json: is not a tokenizer.json: its key 'model' is not an object",
    ),
    (
        "t.json",
        b'{"model": {}}',
        "t.json: its key 'model' has no `vocab`: the file is not complete",
    ),
    (
        "t.json",
        hf({"vocab": []}),
        "t.json: its key 'vocab' is not an object: a tokenizer.json has an object there",
    ),
    (
        "t.json",
        hf({"merges": {}}),
        "t.json: its key 'merges' is not a list: a tokenizer.json has a list there",
    ),
    (
        "t.json",
        hf({"type": "Exe"}),
        "t.json: model.type: 'Exe' is not a model: tokviz knows BPE, Unigram, WordLevel, WordPiece",
    ),
    (
        "t.json",
        hf({"merges": [1]}),
        't.json: line 15, column 4 (model.merges[0]): 1 is not a merge: write "a b" or ["a", "b"]',
    ),
    (
        "t.json",
        hf({"merges": ["a b", "ab"]}),
        't.json: line 16, column 4 (model.merges[1]): \'ab\' is not a merge: write "a b" or ["a", "b"]',
    ),
    (
        "t.json",
        hf({"merges": ["a b c"]}),
        't.json: line 15, column 4 (model.merges[0]): \'a b c\' is not a merge: write "a b" or ["a", "b"]',
    ),
    (
        "t.json",
        hf({"merges": ["a b"]}),
        "t.json: line 15, column 4 (model.merges[0]): the product b'ab' is not a token: add the token to the vocabulary, or remove the merge",
    ),
    (
        "t.json",
        vocab(zz=10**9),
        "t.json: line 16, column 4 (model.vocab['zz']): the id 1,000,000,000 is beyond the limit of 4,194,303: renumber the tokens",
    ),
    (
        "t.json",
        vocab(zz=-1),
        "t.json: line 16, column 4 (model.vocab['zz']): -1 is not a token id: write 0, 1, 2 …",
    ),
    (
        "t.json",
        vocab(zz=300.5),
        "t.json: line 16, column 4 (model.vocab['zz']): 300.5 is not a token id: write 0, 1, 2 …",
    ),
    (
        "t.json",
        vocab(zz="9"),
        "t.json: line 16, column 4 (model.vocab['zz']): '9' is not a token id: write 0, 1, 2 …",
    ),
    (
        "t.json",
        vocab(zz=7),
        "t.json: line 24, column 4 (model.vocab['ć']): the id 7 is also that of model.vocab['zz']: give each token its own id",
    ),
    (
        "t.json",
        hf(added_tokens=["<a>"]),
        "t.json: line 3, column 3 (added_tokens[0]): its `content` is not a text",
    ),
    (
        "t.json",
        hf(added_tokens=[{"content": "<a>"}]),
        "t.json: line 3, column 3 (added_tokens[0]): it has no `id`: write 0, 1, 2 …",
    ),
    ("t.json", hf(added_tokens={"a": 1}), "t.json: its key 'added_tokens' is not a list"),
    (
        "t.json",
        hf(pre_tokenizer=REGEX),
        "t.json: Hugging Face's library rejects it: a regex in it does not work: end pattern with unmatched parenthesis (its pre-tokenizer is Split, not plain bytes after splits)",
    ),
    (
        "t.json",
        hf(normalizer={"type": "Nothing"}),
        "t.json: Hugging Face's library rejects it: its `normalizer` is of a kind, or has fields, that the library does not know (it normalizes text (Nothing))",
    ),
    (
        "t.json",
        hf()[:-400],
        "t.json: line 243, column 13: is not JSON: it is cut off here, or a bracket is not closed",
    ),
    (
        "t.json",
        hf().replace(b'"vocab"', b'"vocab":{}, "vocab"'),
        't.json: line 15, column 15: the key "vocab" is there twice: remove one',
    ),
    (
        "t.json",
        hf().replace(b'"merges": []', b'"merges": [NaN]'),
        "t.json: line 14, column 14: is not JSON: NaN is not a number in it",
    ),
    (
        "t.json",
        hf().replace(b'"merges": []', b'"merges": [' + b"9" * 5000 + b"]"),
        "t.json: line 14, column 14: a number of 5,000 digits is too long",
    ),
    (
        "t.json",
        hf().replace(b'"merges"', b'"merg\xff"'),
        "t.json: line 14, column 8: the byte 0xff is not UTF-8: save the file as UTF-8",
    ),
    (
        "t.json",
        hf().replace(b'"merges"', b'"merg\t"'),
        "t.json: line 14, column 8: is not JSON: a control character: write it as \\u and four digits",
    ),
    ("t.json", '{"model": {}}'.encode("utf-16"), "t.json: is UTF-16, not UTF-8: save it as UTF-8"),
    ("t.json", b"[" * 100_000, "t.json: is nested lists, not a tokenizer: CHOOSE"),
    (
        "t.json",
        b'{"model":' * 100_000,
        "t.json: is nested too deeply: no tokenizer or setting has so many levels",
    ),
    (
        "t.json",
        b"<!DOCTYPE html><html><body>Log in</body></html>",
        "t.json: is a web page: the download went wrong, as it does where one must log in; download the file itself",
    ),
    (
        "t.json",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12\n",
        "t.json: is a pointer of Git LFS, not the file itself: fetch it by `git lfs pull`, or load it from the Hub as hf:org/name",
    ),
    (
        "v.tiktoken",
        RANKS + b"hello world\n",
        "v.tiktoken: line 257: 'hello world' is not a token in base64, a space and its rank: the file is damaged or cut off",
    ),
    (
        "v.tiktoken",
        RANKS + b"YWI=\n",
        "v.tiktoken: line 257: 'YWI=' is not a token in base64, a space and its rank: the file is damaged or cut off",
    ),
    (
        "v.tiktoken",
        RANKS + b"YW= 256\n",
        "v.tiktoken: line 257: 'YW= 256' is not a token in base64, a space and its rank: the file is damaged or cut off",
    ),
    (
        "v.tiktoken",
        RANKS + b"YWI= 1000000000\n",
        "v.tiktoken: line 257: the id 1,000,000,000 is beyond the limit of 4,194,303: renumber the tokens",
    ),
    (
        "v.tiktoken",
        RANKS + b"YWI= " + b"9" * 50,
        "v.tiktoken: line 257: a rank of 50 digits is too large: renumber the tokens",
    ),
    (
        "v.tiktoken",
        RANKS + b"YWI= -5\n",
        "v.tiktoken: line 257: the id -5 is negative: renumber the tokens",
    ),
    (
        "v.tiktoken",
        RANKS + b"YWI= 5\n",
        "v.tiktoken: line 257: the id 5 is also that of line 6: give each token its own id",
    ),
    (
        "v.tiktoken",
        RANKS + b"YQ== 300\n",
        "v.tiktoken: line 257: b'a' is a token already, at line 98: remove one of them",
    ),
    (
        "v.tiktoken",
        b"YQ== 0\nYg== 1\n",
        "v.tiktoken: 254 of the 256 single bytes have no token (0x00, 0x01, 0x02, 0x03, …): add them, or texts that hold these bytes cannot be encoded",
    ),
    (
        "v.tiktoken",
        RANKS[:-5] + b"Y",
        "v.tiktoken: line 256: '/w==Y' is not a token in base64, a space and its rank: the file is damaged or cut off",
    ),
    (
        "m.model",
        b"minbpe v2\n\n0\n",
        "m.model: line 1: is not 'minbpe v1': no other version is known",
    ),
    (
        "m.model",
        b"minbpe v1\n",
        "m.model: line 3: is cut off, or lacks the number of special tokens",
    ),
    ("m.model", b"minbpe v1\n\nx\n", "m.model: line 3: 'x' is not the number of special tokens"),
    (
        "m.model",
        b"minbpe v1\n\n1\n<a>\n",
        "m.model: line 4: '<a>' is not a special token, a space and its id",
    ),
    (
        "m.model",
        b"minbpe v1\n(\n0\n",
        "m.model: line 2: split pattern '(': missing ) at character 2",
    ),
    (
        "m.model",
        b"minbpe v1\n\n0\n97 98\nhello world\n",
        "m.model: line 5: 'hello world' is not the ids of two tokens",
    ),
    (
        "m.model",
        b"minbpe v1\n\n0\n97 999\n",
        "m.model: line 4: no token has the id 999 yet: the merges are out of order",
    ),
    (
        "merges.txt",
        b"#version: 0.2\na b\n",
        "merges.txt: is a list of merges without its vocabulary: put vocab.json beside it",
    ),
    ("merges.txt", b"hello world", "merges.txt: is not a tokenizer: CHOOSE"),
    ("ids.json", b"[1, 2", "ids.json: is not a tokenizer: CHOOSE"),
    ("settings.ini", b"[main]\na=b\n", "settings.ini: is not a tokenizer: CHOOSE"),
    (
        "vocab.json",
        b'{"a": 0}',
        "vocab.json: is a vocabulary without its merges: put merges.txt beside it",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0}', b"#version: 0.2\nhello\n"],
        "merges.txt: line 2: 'hello' is not a merge: write two tokens with a space between them",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0}', b"h e\nx y z\n"],
        "merges.txt: line 2: 'x y z' is not a merge: write two tokens with a space between them",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0}', b"hello world\n"],
        "merges.txt: is not a list of merges: none joins two single bytes, the first b'hello' + b'world'",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": "b", "c": 1}', b"h e\n"],
        "vocab.json: line 1, column 2 (key 'a'): 'b' is not a token id, nor is the key",
    ),
    (
        "vocab.json+merges.txt",
        [b'["a"]', b"h e\n"],
        "vocab.json: item 0: 'a' is not a pair of tokens",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0,}', b"h e\n"],
        "vocab.json: line 1, column 9: is not JSON: a key in double quotes is missing here",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0}', b"h \xff\n"],
        "merges.txt: line 1, column 3: the byte 0xff is not UTF-8; merges are text: save the file as UTF-8",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0}', b'["h e", "x"]'],
        "merges.txt: line 1, column 9 (item 1): 'x' is not a pair of tokens",
    ),
    (
        "vocab.json+merges.txt",
        [b'{"a": 0}', b"(b'a', b'b')\n(b'a')\n"],
        "merges.txt: line 2: \"(b'a')\" is not a merge: write two tokens with a space between them",
    ),
    (
        "c.json",
        b'{"vocab": {}, "merges": {}}',
        "c.json: its key `merges` is not a list: write an object with both",
    ),
    (
        "c.json",
        b'{"vocab": {"a": 0}, "merges": [["a"]]}',
        "c.json: line 1, column 32 (merges[0]): ['a'] is not a pair of tokens",
    ),
    (
        "tokenizer_config.json",
        b'{"tokenizer_class": "GPT2Tokenizer"}',
        "tokenizer_config.json: holds settings, not the tokenizer: choose the tokenizer.json beside it",
    ),
    (
        "w.gguf",
        b"GGUF" + bytes(100),
        "w.gguf: byte 24: GGUF version 0 with 0 keys, or big-endian numbers: convert the model again "
        "with llama.cpp",
    ),
    (
        "w.safetensors",
        b"\x32" + bytes(7) + b'{"a": {}}',
        "w.safetensors: holds a model's weights: choose its tokenizer.json",
    ),
    ("t.json.gz", b"\x1f\x8b", "t.json.gz: is compressed with gzip: unpack it first"),
    ("notes.md", b"# Notes\n\nSome text.\n", "notes.md: is not a tokenizer: CHOOSE"),
    ("a.csv", b"a,b,c\n1,2,3\n", "a.csv: is not a tokenizer: CHOOSE"),
    ("p.png", b"\x89PNG\r\n\x1a\n", "p.png: is an image: choose a tokenizer.json"),
    ("d.pdf", b"%PDF-1.7\n", "d.pdf: is a PDF: choose a tokenizer.json"),
    ("x.bin", bytes(range(256)), "x.bin: is binary data, not a tokenizer: CHOOSE"),
    (
        "chat.jsonl",
        b'{"messages": []}\n',
        "chat.jsonl: is JSON, but not a tokenizer: its keys are 'messages'. Choose a tokenizer.json, a .tiktoken file, a tekken.json, vocab.json with merges.txt beside it, a minbpe .model, or the folder of a training",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), CASES, ids=range(len(CASES)))
def test_a_malformed_file_is_told_where_and_what(name, content, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = name.split("+")
    for each, data in zip(names, content if len(names) > 1 else [content], strict=True):
        (tmp_path / each).write_bytes(data)
    with pytest.raises(tokviz.TokvizError) as caught:
        tokviz.load(f"./{names[0]}").close()
    assert str(caught.value).removeprefix("./").replace(CHOOSE, "CHOOSE") == message


def test_there_are_sixty():
    assert len(CASES) >= 60
