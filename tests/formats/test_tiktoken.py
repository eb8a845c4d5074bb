"""Rank files: tiktoken gives the same ids, and guesses are reported."""

from __future__ import annotations

from base64 import b64encode

import pytest
import tiktoken
from hypothesis import given
from tiktoken.load import load_tiktoken_bpe

import tokviz
from tests.formats.packing import to_tiktoken
from tests.formats.samples import TEXT, shuffled, trained
from tests.oracles.nasty import texts
from tests.reference import tiktoken_encoding
from tokviz.formats.known_vocabularies import _llama3, _qwen
from tokviz.formats.tiktoken import read_tiktoken
from tokviz.storage.assets import asset_path
from tokviz.tokenizer.encoding.packed import PackedRanks


def packed(name):
    return to_tiktoken(PackedRanks(asset_path(f"vocab/{name}.ranks")).tokens())


@pytest.fixture
def write(tmp_path):
    def write(data, name="file.bin"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_openais_files_are_known_by_their_checksum(name, write):
    tok = tokviz.load(write(packed(name)))
    builtin = tokviz.load(name)
    assert tok.special_tokens == builtin.special_tokens
    assert tok.split_pattern == builtin.split_pattern
    assert tok.n_vocab == builtin.n_vocab
    assert tok.encode(TEXT) == tiktoken_encoding(name).encode(TEXT)
    assert "by its content" in tok.source
    assert not tok.pattern_doubt
    assert tok.load_report is not None
    assert tok.load_report.worst in (None, "note")


@pytest.mark.parametrize(("n_tokens", "is_whisper"), [(50256, True), (300, False)])
def test_a_token_without_bytes_at_the_end_is_no_damage(n_tokens, is_whisper, write):
    """`multilingual.tiktoken` of Whisper ends with the line `= 50256`."""
    rows = packed("gpt2").splitlines(keepends=True)[:n_tokens]
    tok = tokviz.load(write(b"".join(rows) + b"= %d\n" % n_tokens))
    assert tok.split_pattern.name == ("gpt2" if is_whisper else "gpt4")
    assert tok.special_tokens.get("<|endoftext|>") == (50257 if is_whisper else None)
    assert n_tokens not in tok.vocab
    assert tok.load_report is not None
    (empty,) = [found for found in tok.load_report.findings if found.code == "empty-token"]
    assert (empty.severity, empty.where) == ("note", f"line {n_tokens + 1}")


def test_a_vocabulary_of_unknown_origin_says_that_its_pattern_is_a_guess(write):
    path = write(packed("cl100k_base")[:-20].rpartition(b"\n")[0])
    tok = tokviz.load(path)
    assert tok.split_pattern.name == "gpt4"
    assert "is a guess" in tok.source
    assert tok.load_report is not None
    assert [finding.code for finding in tok.load_report.findings] == ["guessed-pattern"]
    asked = tokviz.load(path, split_pattern="gpt2")
    assert asked.split_pattern.name == "gpt2"
    assert "as requested" in asked.source


def test_qwens_file_is_known_by_its_tokens(write):
    tok = tokviz.load(write(packed("qwen")))
    assert tok.split_pattern.name == "qwen2" and not tok.pattern_doubt
    assert tok.special_tokens == _qwen()
    assert tok.lossy and tok.encode("cafe\u0301") == tokviz.load("qwen2").encode("caf\u00e9")


def test_llama_3_and_qwen_are_known_by_their_size():
    for number, pattern, specials in ((128_000, "llama3", _llama3()), (151_643, "qwen2", _qwen())):
        lines = b"".join(b64encode(b"%d" % i) + b" %d\n" % i for i in range(number))
        draft = read_tiktoken(lines, "f")
        assert draft.split_pattern.name == pattern
        assert dict(draft.specials) == specials
        assert "by its size" in draft.about
    lines = b"".join(b64encode(b"%d" % i) + b" %d\n" % i for i in range(248_044))
    draft = read_tiktoken(lines, "qwen3_6.tiktoken")
    assert r"[\p{L}\p{M}]+" in draft.split_pattern.regex
    assert dict(draft.specials)["<think>"] == 248_068
    assert "split pattern of Qwen3.5 is a guess" in draft.about
    assert _llama3()["<|eot_id|>"] == 128_009
    assert len(_llama3()) == 256
    assert max(_llama3().values()) == 128_255


RANKS = {bytes([byte]): byte for byte in range(256)} | {
    token: 300 + 3 * number
    for number, token in enumerate([b"th", b"he", b"the", b" the", b"  ", b"zqx", b"\n\n"])
}
"""With gaps, and a token that no merge makes."""

THEIRS = tiktoken.Encoding(
    "x", pat_str=tokviz.load("gpt4").split_pattern.regex, mergeable_ranks=RANKS, special_tokens={}
)


@given(text=texts)
def test_gaps_and_tokens_without_merges_give_tiktokens_ids(text):
    assert GAPPED.encode(text) == THEIRS.encode_ordinary(text)
    assert GAPPED.decode(GAPPED.encode(text)) == text


def _gapped():
    from tokviz.formats.draft import build

    lines = b"".join(b64encode(token) + b" %d\n" % rank for token, rank in RANKS.items())
    return build(read_tiktoken(lines, "f"), "gapped")


GAPPED = _gapped()


def test_a_gap_is_no_token():
    assert 301 not in GAPPED.vocab
    assert GAPPED.n_vocab == 319
    assert GAPPED.vocab[300] == b"th"
    with pytest.raises(tokviz.TokenIdError, match="the id is a gap"):
        GAPPED.decode([301])


@pytest.mark.parametrize("format_pattern", ["gpt4", "gpt2"])
def test_what_is_saved_gives_the_same_ids_in_tiktoken(format_pattern, tmp_path):
    ours = trained(format_pattern, ("<|end|>",))
    path = tmp_path / "mine.tiktoken"
    ours.save(path, format="tiktoken")
    theirs = tiktoken.Encoding(
        "mine",
        pat_str=ours.split_pattern.regex,
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=ours.special_tokens,
    )
    assert path.read_bytes().count(b"\n") == ours.n_vocab - 1
    text = TEXT + "<|end|>" + TEXT
    assert theirs.encode(text, allowed_special="all") == ours.encode(text)
    assert tokviz.load(path, split_pattern=format_pattern).encode(TEXT) == ours.encode(TEXT)


def test_merges_that_ranks_cannot_say_are_refused(tmp_path):
    with pytest.raises(tokviz.FormatError, match="not in the order of its merges"):
        shuffled().save(tmp_path / "x", format="tiktoken")
    base = {byte: bytes([byte]) for byte in range(256)}
    # By ranks b + c would merge before a + b, and abc is made of other parts.
    vocab = base | {256: b"bc", 257: b"ab", 258: b"abc"}
    merges = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c")]
    with pytest.raises(tokviz.FormatError, match="other tokens than b'ab'"):
        tokviz.Tokenizer(vocab, merges).save(tmp_path / "x", format="tiktoken")
    with pytest.raises(tokviz.FormatError, match="no merge makes the token b'ab'"):
        tokviz.Tokenizer(base | {256: b"ab"}, []).save(tmp_path / "x", format="tiktoken")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (b"YQ== 0\nYQ== 1\n", "line 2: b'a' is a token already, at line 1"),
        (b"YQ== 0\nYg== 0\n", "line 2: the id 0 is also that of line 1"),
        (b"YQ== 0\n\nYg\n", "line 3: 'Yg' is not a token in base64"),
        (b"YQ== 0\n!!!! 1\n", "line 2:"),
        (b"YQ== 0\nYg== 1.5\n", "line 2:"),
        (b"YQ== 0\nYg== 4000000000\n", "line 2: the id 4,000,000,000 is beyond the limit"),
        (b"YQ== 0\nYg== " + b"9" * 5000, "line 2: a rank of 5,000 digits is too large"),
        (b"YQ== 0\nYg== -4\n", "the id -4 is negative"),
        (b"YQ== 0\n", "255 of the 256 single bytes have no token (0x00, 0x01, 0x02, 0x03, …)"),
    ],
)
def test_what_is_wrong_names_the_line(lines, words, write):
    with pytest.raises(tokviz.InputFileError) as caught:
        tokviz.load(write(lines))
    assert words in str(caught.value)
