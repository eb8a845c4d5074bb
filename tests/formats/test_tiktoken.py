"""Rank files: tiktoken gives the same ids, and guesses are reported."""

from __future__ import annotations

import gzip
from base64 import b64decode, b64encode

import pytest
import tiktoken
import tokenizers
from hypothesis import given
from tiktoken.load import load_tiktoken_bpe

import tokviz
from tests.formats.packing import to_tiktoken
from tests.formats.samples import TEXT, shuffled, trained
from tests.oracles.nasty import texts
from tests.reference import tiktoken_encoding
from tokviz.formats.registry import TABLE, special_tokens
from tokviz.formats.save import what_is_lost
from tokviz.formats.tiktoken import digest, read_tiktoken
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
    rows = packed("whisper").splitlines(keepends=True)[:n_tokens]
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
    assert tok.special_tokens == special_tokens("qwen").ids and len(tok.special_tokens) == 208
    assert tok.lossy and tok.encode("cafe\u0301") == tokviz.load("qwen2").encode("caf\u00e9")


def test_qwen36s_file_is_known_with_its_normalization_and_special_tokens(write):
    tok = tokviz.load(write(packed("qwen3.5")))
    assert tok.split_pattern.name == "qwen3.5" and not tok.pattern_doubt
    assert len(tok.special_tokens) == 33 and tok.special_tokens["<|audio_pad|>"] == 248_076
    assert tok.encode("cafe\u0301 ") == tok.encode("caf\u00e9 ")


def test_a_file_is_known_by_its_tokens_whatever_its_lines_look_like(write, monkeypatch):
    """Llama's vocabularies do not ship with tokviz, so a small one stands in for them."""
    rows = to_tiktoken([bytes([byte]) for byte in range(256)] + [b"th"])
    for name, n, token_id in (("llama3", 256, 128_008), ("llama4", 2048, 200_006)):
        assert len(special_tokens(name).ids) == n
        eom = "<|eom_id|>" if name == "llama3" else "<|header_end|>"
        assert special_tokens(name).ids[eom] == token_id
    known = {"title": "Llama 3", "special_tokens": "llama3", "split_pattern": "llama3"}
    tokens = enumerate(map(b64decode, rows.split()[::2]))
    listed = [{**known, "n_tokens": 257, "sha256": digest(tokens)}]
    monkeypatch.setitem(TABLE, "rank_files", listed)
    reversed_rows = b"\r\n".join(reversed(rows.splitlines()))
    for data in (rows, reversed_rows, gzip.compress(rows)):
        tok = tokviz.load(write(data))
        assert tok.split_pattern.name == "llama3" and "Llama 3 by its content" in tok.source
        assert tok.encode("th<|python_tag|>") == [256, 128_010]
    other = rows.replace(b"dGg=", b"dGk=")
    assert tokviz.load(write(other)).pattern_doubt


def test_damaged_gzip_is_refused(write):
    data = gzip.compress(packed("gpt2"))
    with pytest.raises(tokviz.InputFileError, match="is cut off: it ends too early"):
        tokviz.load(write(data[:-1000]))
    broken = data[: len(data) // 2] + b"\0" * 9 + data[len(data) // 2 + 9 :]
    with pytest.raises(tokviz.InputFileError, match="cannot be unpacked"):
        tokviz.load(write(broken))


@pytest.mark.parametrize("form", ["huggingface", "tiktoken", "gpt2", "minbpe"])
def test_a_guess_is_shown_again_after_saving_until_it_is_confirmed(form, write, tmp_path):
    run = tokviz.train(["the thing that thinks"], 260).tokenizer
    run.save(tmp_path / "plain.tiktoken", format="tiktoken")
    guessed = tokviz.load(write((tmp_path / "plain.tiktoken").read_bytes()))
    assert any("is a guess" in lost for lost in what_is_lost(guessed, form))
    saved = tmp_path / f"saved.{form}"
    guessed.save(saved, format=form)
    again = tokviz.load(saved)
    assert again.pattern_doubt == guessed.pattern_doubt != ""
    assert again.load_report is not None
    assert "guessed-pattern" in [found.code for found in again.load_report.findings]
    if form == "huggingface":
        theirs = tokenizers.Tokenizer.from_file(str(saved))
        assert theirs.encode("the thinker's").ids == guessed.encode("the thinker's")
    if form != "minbpe":
        sure = tokviz.load(saved, split_pattern="gpt2")
        assert sure.split_pattern.name == "gpt2" and not sure.pattern_doubt
        assert not any("guess" in lost for lost in what_is_lost(sure, form))
        sure.save(saved, format=form)
        assert not tokviz.load(saved).pattern_doubt


def test_a_pattern_that_is_no_guess_cannot_be_replaced(tmp_path):
    tokviz.train(["the thing"], 258).tokenizer.save(tmp_path / "tokenizer.json")
    with pytest.raises(tokviz.InputFileError, match="has its own split pattern"):
        tokviz.load(tmp_path / "tokenizer.json", split_pattern="gpt2")


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
