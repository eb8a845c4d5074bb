"""Files made to break the program that reads them."""

# ruff: noqa: E501  a table, one file per line
from __future__ import annotations

import gzip
import json
import os
import pickle
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import tokviz
from tests.formats.samples import trained
from tokviz.formats.huggingface import to_tokenizer_json
from tokviz.formats.run import RUN_FILES

Kind = Literal["tokenizer", "replay", "template", "rows", "session", "corpus"]


class Hostile(NamedTuple):
    """A file, or the files of a folder.

    Attributes:
        kind: The reader to use.
        files: Name → function that returns its content; the first file is read.
    """

    kind: Kind
    files: dict[str, Callable[[], bytes]]

    def write(self, folder: Path) -> Path:
        """Write the files into a folder, and return the path to read."""
        folder.mkdir(parents=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content())
        return folder / next(iter(self.files))


class _Evil:
    def __reduce__(self) -> Any:
        return os.system, ("echo run >pickle_was_run",)


GOOD: dict[str, Any] = json.loads(to_tokenizer_json(trained("gpt4", ("<|endoftext|>",))))
_BYTES = [b"%s %d\n" % (b64encode(bytes([byte])), byte) for byte in range(256)]
_RANKS = b"".join(_BYTES)
_REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 100_000}
_SLOW = {"type": "Replace", "pattern": {"Regex": "(a|a)*b"}, "content": "b"}
_PAD = {
    "strategy": {"Fixed": 2**33}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
    "pad_type_id": 0, "pad_token": "x",
}  # fmt: skip


def hf(**parts: Any) -> bytes:
    """Make a `tokenizer.json` that is valid except for these parts."""
    content = json.loads(json.dumps(GOOD))
    for key, value in parts.items():
        (content if key in content else content["model"])[key] = value
    return json.dumps(content).encode()


def word_level(**parts: Any) -> bytes:
    """Make a `tokenizer.json` that needs Hugging Face's library."""
    model = {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}
    return json.dumps(GOOD | {"model": model, "added_tokens": [], "decoder": None} | parts).encode()


def _added(n: int, text: str = "<|extra_{}|>") -> bytes:
    first = len(GOOD["model"]["vocab"])
    rest = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    tokens = [
        {"id": first + i, "content": text.format(i), "special": True, **rest} for i in range(n)
    ]
    return hf(added_tokens=tokens)


def _ranks(n: int, token: Callable[[int], bytes] = lambda i: b"%07d" % i) -> bytes:
    return _RANKS + b"".join(b"%s %d\n" % (b64encode(token(i)), 256 + i) for i in range(n))


def _merges(n: int) -> tuple[bytes, bytes]:
    """Make a vocabulary and its merges: every pair of bytes, then pairs of these."""
    from tokviz.formats.byte_level import to_characters

    vocab = {to_characters(bytes([byte])): byte for byte in range(256)}
    characters = list(vocab)
    lines = []
    for i in range(n):
        left, right = characters[i // 256], characters[i % 256]
        lines.append(f"{left} {right}")
        characters.append(left + right)
        vocab.setdefault(left + right, len(vocab))
    return json.dumps(vocab).encode(), "\n".join(lines).encode()


def _pair(n: int) -> dict[str, Callable[[], bytes]]:
    return {"vocab.json": lambda: _merges(n)[0], "merges.txt": lambda: _merges(n)[1]}


def _unigram(n: int) -> bytes:
    vocab = [["▁" + str(i), -1.0 * i] for i in range(n)]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab}
    return json.dumps(GOOD | {"model": model, "added_tokens": [], "decoder": None}).encode()


def _crc_twins(n: int) -> bytes:
    """Make tokens that share the last 16 bits of their CRC-32."""
    from binascii import crc32

    found = (b"%08d" % i for i in range(n << 16) if not crc32(b"%08d" % i) & 0xFFFF)
    return _ranks(0) + b"".join(b"%s %d\n" % (b64encode(t), 256 + i) for i, t in enumerate(found))


def _parquet(make: Callable[[Any], Any]) -> bytes:
    import io

    import pyarrow
    import pyarrow.parquet

    sink = io.BytesIO()
    pyarrow.parquet.write_table(make(pyarrow), sink, compression="zstd")
    return sink.getvalue()


def _zeros(n: int) -> bytes:
    return gzip.compress(bytes(n), 9)


def _chat(text: str, n_messages: int = 1) -> bytes:
    message = {"role": "user", "content": text}
    return json.dumps({"messages": [message] * n_messages}).encode()


def _tokenizer(name: str, content: Callable[[], bytes]) -> Hostile:
    return Hostile("tokenizer", {name: content})


def _template(text: str) -> Hostile:
    return Hostile("template", {"t.jinja": text.encode})


def _rows(name: str, content: Callable[[], bytes]) -> Hostile:
    return Hostile("rows", {name: content})


@cache
def _trained_files() -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        tokviz.train(["the cat sat on the mat " * 20], 300).save(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _run(name: str, content: Callable[[bytes], bytes]) -> Hostile:
    """Make a run folder with one modified file."""
    names = [name, *(other for other in RUN_FILES if other != name)]
    files = {other: lambda other=other: _trained_files()[other] for other in names}
    return Hostile("replay", {**files, name: lambda: content(_trained_files()[name])})


def _session(content: Callable[[], bytes]) -> Hostile:
    return Hostile("session", {"s.tokviz.json": content})


def _corpus(name: str, content: Callable[[], bytes]) -> Hostile:
    return Hostile("corpus", {name: content})


_DEEP = b'"pre_tokenizer":' + b'{"type":"Sequence","pretokenizers":[' * 20_000 + b"]}" * 20_000
_RANGE = "{% for i in range(99999) %}"

FILES: dict[str, Hostile] = {
    "merges of 18 MB": Hostile("tokenizer", _pair(900_000)),
    "a vocabulary of 64 MB": _tokenizer("v.tiktoken", lambda: _ranks(3_000_000)),
    "a vocabulary of 30 MB": _tokenizer("v.tiktoken", lambda: _ranks(1_500_000)),
    "a vocabulary of 5 MB": _tokenizer("v.tiktoken", lambda: _ranks(250_000)),
    "long tokens": _tokenizer("v.tiktoken", lambda: _ranks(400, lambda i: b"%06d" % i * 10_000)),
    "tokens of one CRC": _tokenizer("v.tiktoken", lambda: _crc_twins(200)),
    "a Replace bomb": _tokenizer(
        "t.json",
        lambda: word_level(normalizer={"type": "Sequence", "normalizers": [_REPLACE] * 12}),
    ),
    "a slow Replace": _tokenizer("t.json", lambda: word_level(normalizer=_SLOW)),
    "200,000 added tokens": _tokenizer("t.json", lambda: _added(200_000)),
    "added tokens of all lengths": _tokenizer(
        "t.json", lambda: hf(added_tokens=[
            {"id": len(GOOD["model"]["vocab"]) + i, "content": "a" * (3000 + i), "special": True}
            for i in range(3000)
        ])
    ),
    "a Unigram of 250,000": _tokenizer("t.json", lambda: _unigram(250_000)),
    "padding": _tokenizer("t.json", lambda: word_level(padding=_PAD)),
    "deep lists": _tokenizer("t.json", lambda: b"[" * 1_000_000),
    "deep objects": _tokenizer("t.json", lambda: b'{"model":' * 500_000),
    "deep pre-tokenizers": _tokenizer(
        "t.json", lambda: hf().replace(b'"pre_tokenizer":', b'"x":').replace(b"{", b"{" + _DEEP + b",", 1)
    ),
    "many values": _tokenizer("t.json", lambda: b'{"model":{"vocab":[' + b"[]," * 9_000_000 + b"0]}}"),
    "many objects": _tokenizer("t.json", lambda: b'{"model":{"vocab":[' + b"{}," * 3_900_000 + b"0]}}"),
    "many keys": _tokenizer(
        "t.json", lambda: b'{"model":{"vocab":{' + b",".join(b'"%d":%d' % (i, i) for i in range(1_900_000)) + b"}}}"
    ),
    "wide characters": _tokenizer("t.json", lambda: '{"model":{"vocab":{"😀'.encode() + b"a" * 31_000_000 + b'":0}}}'),
    "a long number": _tokenizer("t.json", lambda: hf().replace(b'"id": ', b'"id": ' + b"9" * 10_000_000)),
    "an endless rank": _tokenizer("v.tiktoken", lambda: _RANKS + b"YWI= " + b"9" * 20_000_000),
    "a huge rank": _tokenizer("v.tiktoken", lambda: _RANKS + b"YWI= 4194303\n"),
    "doubling merges": _tokenizer(
        "m.model",
        lambda: ("minbpe v1\n\n0\n97 97\n" + "".join(f"{i} {i}\n" for i in range(256, 2000))).encode(),
    ),
    "doubling merges to the limit": _tokenizer(
        "m.model",
        lambda: ("minbpe v1\n\n0\n" + "".join(
            f"{97 if i == 0 else 255 + i} {97 if i == 0 else 255 + i}\n" for i in range(15)
        ) + "".join(f"270 {i}\n" for i in range(3000))).encode(),
    ),
    "doubling merges that add up": _tokenizer(
        "m.model",
        lambda: ("minbpe v1\n\n0\n97 97\n" + "".join(f"{i} {i}\n" for i in range(256, 270)) + "".join(
            f"{270 + i // 256} {i % 256}\n" for i in range(1700)
        )).encode(),
    ),
    "999,999,999 specials": _tokenizer("m.model", lambda: b"minbpe v1\n\n999999999\n"),
    "a pickle": _tokenizer("p.pkl", lambda: pickle.dumps(_Evil())),
    "a pickle of protocol 0": _tokenizer("p.json", lambda: pickle.dumps(_Evil(), protocol=0)),
    "zeros": _tokenizer("z.tiktoken", lambda: bytes(30_000_000)),
    "one line": _tokenizer("merges.txt", lambda: b"a" * 30_000_000),
    "spaces": _tokenizer("t.json", lambda: b"{" + b" " * 30_000_000),
    "newlines": _tokenizer("v.tiktoken", lambda: b"YQ== 0\n" + b"\n" * 30_000_000),
    "Python literals": Hostile("tokenizer", {
        "merges.txt": lambda: b"(b'a', b'b')\n" * 1_500_000, "vocab.json": lambda: b'{"a": 0}',
    }),
    "a literal that nests": Hostile("tokenizer", {
        "merges.txt": lambda: b"[97] [98]\n[" + b"9, " * 5_000_000 + b"9] [98]\n",
        "vocab.json": lambda: b'{"a": 0}',
    }),
    "a regex that explodes": _tokenizer(
        "m.model", lambda: b"minbpe v1\n(?:[a-z]|[a-z])*b| ?\\p{L}+|\\s+|[^\\s]\n0\n"
    ),
    "a regex of 2 MB": _tokenizer("m.model", lambda: b"minbpe v1\n" + b"(a|b)" * 400_000 + b"\n0\n"),
    "a gzip bomb": _tokenizer("t.json.gz", lambda: _zeros(1 << 28)),
    "a folder of many": Hostile("tokenizer", {
        f"{i}.json": (lambda: b'{"vocab":' + b"[" * 60_000) for i in range(300)
    }),
    "merges of 18 MB alone": Hostile("replay", {"merges.txt": lambda: _merges(900_000)[1]}),
    "a run of many keys": _run("tokenizer.json", lambda _: b'{"model":{"vocab":{' + b",".join(b'"%d":%d' % (i, i) for i in range(1_900_000)) + b"}}}"),
    "a run of many values": _run("run.json", lambda about: b'{"x": [' + b"{}," * 3_900_000 + b"0]," + about[1:]),
    "a run of zeros": _run("history.npz", lambda _: bytes(30_000_000)),
    "a template without end": _template(_RANGE * 5 + "a" + "{% endfor %}" * 5),
    "a template that doubles": _template("{% set ns = namespace(a='aaaa') %}" + "{% set ns.a = ns.a + ns.a %}" * 40),
    "a template that multiplies": _template("{{ 'a' * 9999999999 }}"),
    "a template that powers": _template("{{ 9 ** 9 ** 9 }}"),
    "a template that reaches out": _template("{{ ''.__class__.__mro__[1].__subclasses__() }}"),
    "a template that formats": _template("{{ '%999999999d' % 1 }}"),
    "a template that includes": _template("{% include '/etc/passwd' %}"),
    "a template that calls itself": _template("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
    "a template of brackets": _template("{{ " + "(" * 100_000 + ")" * 100_000 + " }}"),
    "a template of 30 MB": _template("{{ 1 }}" * 4_000_000),
    "rows in a gzip bomb": _rows("r.jsonl.gz", lambda: _zeros(1 << 29)),
    "one row of 30 MB": _rows("r.jsonl", lambda: _chat("a" * 30_000_000)),
    "a row of 20,000 messages": _rows("r.jsonl", lambda: _chat("how are you?\n" * 20, 20_000)),
    "a list of 60 MB": _rows(
        "r.json", lambda: b"[" + b",\n".join([_chat("how are you?\n" * 90, 4)] * 12_000) + b"]"),
    "a deep row": _rows("r.jsonl", lambda: b"[" * 5_000_000 + b"\n"),
    "rows of nothing": _rows("r.jsonl", lambda: b"{}\n" * 5_000_000),
    "a row of numbers": _rows("r.jsonl", lambda: b'{"messages":' + b"9" * 10_000_000 + b"}\n"),
    "a parquet of zeros": _rows("r.parquet", lambda: b"PAR1" + bytes(1_000_000) + b"PAR1"),
    "a parquet cut off": _rows("r.parquet", lambda: _parquet(
        lambda pa: pa.table({"messages": ["[]"] * 1000}))[:-9]),
    "a parquet that unpacks": _rows("r.parquet", lambda: _parquet(
        lambda pa: pa.table({"messages": pa.array(["a" * 100_000_000] * 4)}))),
    "a parquet of many rows": _rows("r.parquet", lambda: _parquet(
        lambda pa: pa.table({"messages": pa.nulls(50_000_000, pa.int8())}))),
    "a session of zeros": _session(lambda: bytes(30_000_000)),
    "a session of many keys": _session(lambda: b'{"tokviz": 1, ' + b",".join(b'"%d": %d' % (i, i) for i in range(1_900_000)) + b"}"),
    "a deep session": _session(lambda: b'{"tokviz": 1, "conversation": ' + b"[" * 5_000_000),
    "a session of one text": _session(lambda: b'{"tokviz": 1, "text": "' + b"a" * 30_000_000 + b'"}'),
    "a session of many tokenizers": _session(lambda: b'{"tokviz": 1, "tokenizers": [' + b",".join(b'"/etc/%d"' % i for i in range(500_000)) + b"]}"),
    "a corpus in a gzip bomb": _corpus("c.txt.gz", lambda: _zeros(1 << 28)),
    "a corpus cut off": _corpus("c.txt.gz", lambda: _zeros(1 << 20)[:-20]),
    "a corpus of one line": _corpus("c.jsonl", lambda: b'{"text": "' + b"a" * 30_000_000 + b'"}\n'),
    "a corpus that is deep": _corpus("c.jsonl", lambda: b"[" * 5_000_000 + b"\n"),
    "a corpus of parquet": _corpus("c.parquet", lambda: _parquet(
        lambda pa: pa.table({"text": pa.array(["a" * 100_000_000] * 4)}))),
}  # fmt: skip
"""More than sixty files by their defect."""
