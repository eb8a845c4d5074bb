"""Hostile files cause errors, and cost little memory."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from tests.formats.samples import trained
from tokviz.formats.huggingface import to_tokenizer_json

GOOD = json.loads(to_tokenizer_json(trained("gpt4", ("<|endoftext|>",))))
MEMORY = 1 << 30
"""Bytes of address space for the process that loads; numpy and the like take a third of it."""


class Evil:
    def __reduce__(self):
        return os.system, ("echo run >pickle_was_run",)


def hf(**parts):
    content = GOOD | {"model": GOOD["model"].copy()}
    for key, value in parts.items():
        (content if key in content else content["model"])[key] = value
    return json.dumps(content).encode()


def word_level(**parts):
    model = {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}
    return json.dumps(GOOD | {"model": model, "added_tokens": [], "decoder": None} | parts).encode()


RANKS = b"".join(b"%s %d\n" % (b64encode(bytes([i])), i) for i in range(256))
REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100_000}
PAD = {
    "strategy": {"Fixed": 2**33}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
    "pad_type_id": 0, "pad_token": "x",
}  # fmt: skip

REFUSED = {
    "a pickle.pkl": pickle.dumps(Evil()),
    "a pickle of protocol 0": pickle.dumps(Evil(), protocol=0),
    "a pickle called.json": pickle.dumps({"a": Evil()}, protocol=4),
    "weights.pt": b"PK\x03\x04" + bytes(100),
    "weights.gguf": b"GGUF" + bytes(100),
    "sentencepiece.model": b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02" + bytes(100),
    "empty.json": b"",
    "zeros.tiktoken": bytes(100_000),
    "random.bin": bytes(range(256)) * 100,
    "deep lists.json": b"[" * 1_000_000,
    "deep objects.json": b'{"model":' * 500_000,
    "deep pre-tokenizers.json": hf(pre_tokenizer=None).replace(
        b'"pre_tokenizer": null',
        b'"pre_tokenizer": ' + b'{"type":"Sequence","pretokenizers":[' * 20_000 + b"]}" * 20_000,
    ),
    "many values.json": b'{"model":{"vocab":[' + b"[]," * 9_000_000 + b"0]}}",
    "many objects.json": b'{"model":{"vocab":[' + b"{}," * 9_000_000 + b"0]}}",
    "not a number.json": hf(merges=[]).replace(b'"id": ', b'"id": NaN, "x": '),
    "infinity.json": hf(merges=[]).replace(b'"id": ', b'"id": Infinity, "x": '),
    "a long number.json": hf(merges=[]).replace(b'"id": ', b'"id": ' + b"9" * 10_000),
    "a key twice.json": b'{"model": {"type": "BPE"}, "model": {"type": "BPE"}}',
    "huge id.json": hf(added_tokens=[], vocab=GOOD["model"]["vocab"] | {"zz": 10**9}),
    "negative id.json": hf(added_tokens=[], vocab=GOOD["model"]["vocab"] | {"zz": -1}),
    "float id.json": hf(added_tokens=[], vocab=GOOD["model"]["vocab"] | {"zz": 300.5}),
    "text id.json": hf(added_tokens=[], vocab=GOOD["model"]["vocab"] | {"zz": "9"}),
    "vocab of lists.json": hf(vocab=[[["a"]]]),
    "merges of numbers.json": hf(merges=[1, 2, 3]),
    "merges of nothing.json": hf(merges=["x y"]),
    "added tokens of text.json": hf(added_tokens=["<a>"]),
    "no model.json": json.dumps({**GOOD, "model": None}).encode(),
    "wrong model.json": hf(type="Exe"),
    "wrong pre-tokenizer.json": hf(pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}}),
    "catastrophic regex.json": hf(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": "(" * 5000 + ")" * 5000}}
    ),
    "truncated.json": hf()[:-500],
    "not utf-8.json": hf().replace(b"the", b"\xff\xfe"),
    "surrogates.json": hf().replace(b'"<|endoftext|>"', b'"\\ud800"'),
    "replace bomb.json": word_level(normalizer={"type": "Sequence", "normalizers": [REPLACE] * 12}),
    "huge rank.tiktoken": RANKS + b"YWI= 1000000000\n",
    "endless rank.tiktoken": RANKS + b"YWI= " + b"9" * 1_000_000,
    "doubled rank.tiktoken": RANKS + b"YWI= 5\n",
    "doubled token.tiktoken": RANKS + b"YQ== 300\n",
    "long token.tiktoken": RANKS + b64encode(b"a" * 100_000) + b" 256\n",
    "truncated.tiktoken": RANKS[:-5] + b"Y",
    "doubling.model": (
        "minbpe v1\n\n0\n97 97\n" + "".join(f"{i} {i}\n" for i in range(256, 2000))
    ).encode(),
    "specials.model": b"minbpe v1\n\n999999999\n",
    "merges alone.txt": b"#version: 0.2\na b\n",
    "vocabulary alone.json": b'{"a": 0}',
}

HARMLESS = {
    "padding.json": word_level(padding=PAD),
    "dropout.json": hf(dropout=0.5),
}
"""What these ask for is left out."""

LOAD_ALL = """
import os, resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, ({memory}, resource.getrlimit(resource.RLIMIT_AS)[1]))
import tokviz
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        tok = tokviz.load(path)
        tok.encode("a <|endoftext|> b")
        tok.close()
        print(path.name, "loaded", sep="\\t")
    except tokviz.TokvizError as error:
        print(path.name, str(error)[:2000].replace("\\n", " "), sep="\\t", flush=True)
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    """Return each file's result by name; one process with little memory loads them all."""
    folder = tmp_path_factory.mktemp("hostile")
    for name, content in (REFUSED | HARMLESS).items():
        (folder / name).mkdir()
        (folder / name / name).write_bytes(content)
    script = LOAD_ALL.format(memory=MEMORY).replace(
        "tokviz.load(path)", "tokviz.load(path / path.name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=folder.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert not (folder.parent / "pickle_was_run").exists()
    return dict(line.split("\t", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_file_is_an_error_that_names_it(ends, name):
    assert name in ends[name]


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_left_out_does_no_harm(ends, name):
    assert ends[name] == "loaded"


def test_a_pickle_is_refused_with_the_way_out(ends):
    for name in REFUSED:
        if name.startswith("a pickle"):
            assert "reading one runs whatever code is hidden in it" in ends[name]
            assert "dump_tiktoken_bpe" in ends[name]


def test_other_peoples_formats_are_named(ends):
    assert "SentencePiece" in ends["sentencepiece.model"]
    assert "GGUF version 0" in ends["weights.gguf"]
    assert "zip archive" in ends["weights.pt"]
