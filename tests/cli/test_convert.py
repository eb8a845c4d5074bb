"""Conversion of tokenizers: the same ids, and a report of losses."""

from __future__ import annotations

import pytest

import tokviz as core
from tests.formats.samples import TEXT, trained
from tokviz.formats.save import FORMATS, what_is_lost

SPECIALS = ("<|endoftext|>", "<|im_start|>")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.json"
    trained("gpt4", SPECIALS).save(path)
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_with_what_is_lost(tokviz, tmp_path, source, name):
    out = tmp_path / "out"
    done = tokviz("convert", source, "-o", out, "--format", name)
    assert done.code == 0
    ours = core.load(source)
    assert done.out == b"", "the output may be standard output"
    lost = what_is_lost(ours, name)
    *told, result = done.err.splitlines()
    assert told == [f"tokviz: lost: {sentence}" for sentence in lost]
    assert result == f"tokviz: {out}: {FORMATS[name].title}, {len(ours.vocab):,} tokens"
    assert bool(lost) == (name in ("tiktoken", "gpt2"))
    options = ("--split-pattern", "gpt4") if name == "gpt2" else ()
    encoded = tokviz("encode", "-t", out, *options, "--text", TEXT + SPECIALS[1])
    assert [*map(int, encoded.out.split())] == ours.encode(TEXT + SPECIALS[1])


@pytest.mark.parametrize("name", ["huggingface", "gpt2"])
def test_what_exists_is_replaced_only_with_force(tokviz, tmp_path, source, name):
    command = ("convert", "-o", tmp_path / "out", "--format", name)
    assert tokviz(*command, source).code == 0
    written = core.load(tmp_path / "out").vocab
    refused = tokviz(*command, "gpt2")
    assert (refused.code, refused.out) == (2, b"")
    assert refused.err == (
        f"tokviz: {tmp_path / 'out'}: exists: choose another name, or add --force to replace it\n"
    )
    assert core.load(tmp_path / "out").vocab == written
    assert tokviz(*command, "gpt2", "--force").code == 0
    assert core.load(tmp_path / "out").vocab == core.load("gpt2").vocab


def test_a_format_that_cannot_hold_the_tokenizer_leaves_nothing(tokviz, tmp_path):
    done = tokviz("convert", "gpt-4", "-o", tmp_path / "out", "--format", "minbpe")
    assert (done.code, done.out) == (2, b"")
    assert "cannot be a minbpe model" in done.err
    assert not (tmp_path / "out").exists()


def test_a_usage_error_is_code_2(tokviz, tmp_path):
    assert tokviz("convert", "gpt2", "-o", tmp_path / "out").code == 2
    assert tokviz("convert", "gpt2", "-o", tmp_path / "out", "--format", "gguf").code == 2
    assert tokviz("convert", "no-such", "-o", tmp_path / "out", "--format", "gpt2").code == 2
    assert not (tmp_path / "out").exists()
