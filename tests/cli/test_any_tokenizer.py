"""Tokenizer files in commands, and the report of `--check`."""

from __future__ import annotations

import json

import pytest

from tests.formats.samples import trained
from tokviz.formats.save import FORMATS

OURS = trained("gpt2", ("<|endoftext|>",))
TEXT = "The naïve cats<|endoftext|>"
IDS = OURS.encode(TEXT, "none")


@pytest.fixture
def wordlevel(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"the": 0, "cat": 1, "<unk>": 2}, unk_token="<unk>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.normalizer = tokenizers.normalizers.Lowercase()
    path = tmp_path / "words.json"
    made.save(str(path))
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_any_file_encodes_counts_and_decodes(tokviz, name, tmp_path):
    path = tmp_path / "x"
    OURS.save(path, format=name)
    options = ["-t", path, "--specials", "text"]
    if name in ("tiktoken", "gpt2"):
        options += ["--split-pattern", "gpt2"]
    encoded = tokviz("encode", *options, stdin=TEXT.encode())
    assert (encoded.code, encoded.err) == (0, "")
    assert list(map(int, encoded.text.split())) == IDS
    assert tokviz("decode", "-t", path, stdin=encoded.out).out == TEXT.encode()
    assert tokviz("count", *options, stdin=TEXT.encode()).text.split()[0] == str(len(IDS))


def test_a_lossy_tokenizer_is_said_to_be_one(tokviz, wordlevel):
    done = tokviz("encode", "--spans", "-t", wordlevel, stdin="The  CAT é!".encode())
    assert done.code == 0
    assert "normalizes text" in done.err
    record = json.loads(done.out)
    assert record["ids"] == [0, 1, 2, 2]
    assert record["byte_spans"] == [[0, 3], [3, 8], [8, 11], [11, 12]]
    assert tokviz("decode", "-t", wordlevel, stdin=b"0 1").text == "the cat"


def test_bytes_that_a_library_replaces_are_counted(tokviz, wordlevel):
    note = f"2 bytes are not valid UTF-8: {wordlevel} encodes U+FFFD instead"
    for command in ("encode", "count"):
        done = tokviz(command, "-t", wordlevel, stdin=b"the\xff cat\xc0")
        assert (done.code, note in done.err) == (int(command == "encode"), True)
        assert "U+FFFD" not in tokviz(command, "-t", "gpt2", stdin=b"the\xff cat\xc0").err
        assert "U+FFFD" not in tokviz(command, "-t", wordlevel, stdin=b"the cat").err


def test_check_prints_findings_and_what_is_in_order(tokviz, tmp_path, wordlevel):
    OURS.save(tmp_path / "x.json")
    sound = tokviz("tokenizers", "--check", tmp_path / "x.json")
    assert sound.code == 0
    assert all(line.startswith("ok ") for line in sound.text.splitlines())
    lossy = tokviz("tokenizers", "--check", wordlevel)
    assert lossy.code == 0
    assert "normalizer: it normalizes text (Lowercase)" in lossy.text


def test_check_of_a_broken_file_fails(tokviz, tmp_path):
    (tmp_path / "x").write_text("YQ== 0\nYQ== 1\n")
    plain = tokviz("tokenizers", "--check", tmp_path / "x")
    assert plain.code == 1
    assert "error    line 2: b'a' is a token already, at line 1: remove one of them" in plain.text
    record = json.loads(tokviz("tokenizers", "--json", "--check", tmp_path / "x").out)
    assert record["findings"][0]["severity"] == "error"
    assert set(record) == {"tokenizer", "findings", "checks"}
    missing = tokviz("tokenizers", "--check", tmp_path / "none.json")
    assert missing.code == 2 and "there is no such file" in missing.text


def test_a_file_that_is_no_tokenizer_is_an_error_of_one_line(tokviz, tmp_path):
    path = tmp_path / "x.json"
    path.write_text("\x1b[31m{")
    done = tokviz("count", "-t", path, stdin=b"x")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "\x1b" not in done.err
    pattern = tokviz("count", "-t", "gpt2", "--split-pattern", "gpt4", stdin=b"x")
    assert (pattern.code, pattern.out) == (2, b"")
    assert "has its own split pattern" in pattern.err
