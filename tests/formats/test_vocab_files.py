"""A vocabulary and its merges in two files: GPT-2's, and formats that students write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

import tokviz
from tests.formats.samples import TEXT, trained
from tests.oracles.nasty import texts
from tokviz.formats.byte_level import to_characters

OURS = trained("gpt2", ("<|endoftext|>",))


@pytest.fixture
def files(tmp_path):
    OURS.save(tmp_path / "gpt2", format="gpt2")
    return tmp_path / "gpt2"


def test_a_folder_is_loaded_with_its_special_token(files):
    (files / "vocab.json.tokviz").unlink()
    tok = tokviz.load(files)
    assert tok.vocab == OURS.vocab
    assert tok.merges == OURS.merges
    assert tok.special_tokens == OURS.special_tokens
    assert "split pattern gpt2 is a guess" in tok.source
    assert tok.load_report is not None
    codes = {finding.code for finding in tok.load_report.findings}
    assert codes == {"guessed-pattern", "found-specials"}
    assert tokviz.load(files, split_pattern="gpt4").split_pattern.name == "gpt4"


@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_either_file_leads_to_the_other(files, name):
    assert tokviz.load(files / name).vocab == OURS.vocab


def test_from_files_takes_special_tokens_only_from_the_caller(files):
    paths = files / "vocab.json", files / "merges.txt"
    plain = tokviz.Tokenizer.from_files(*paths)
    assert plain.special_tokens == {}
    assert len(plain.encode("<|endoftext|>")) > 1
    tok = tokviz.Tokenizer.from_files(*paths, ["<|endoftext|>", "<new>"])
    assert tok.special_tokens == {**OURS.special_tokens, "<new>": OURS.n_vocab}
    assert tok.encode("a<|endoftext|>") == OURS.encode("a<|endoftext|>")
    with pytest.raises(tokviz.SpecialTokenError):
        tokviz.Tokenizer.from_files(*paths, {"<x>": 97})


def library():
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {
        token_id: bytes_ for token_id, bytes_ in OURS.vocab.items() if not OURS.is_special(token_id)
    }
    model = tokenizers.models.BPE(
        {to_characters(token): token_id for token_id, token in vocab.items()},
        [(to_characters(left), to_characters(right)) for left, right in OURS.merges],
    )
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


THEIRS = library()


@given(text=texts)
def test_ids_are_those_of_hugging_faces_byte_level_bpe(text):
    assert OURS.encode(text, "none") == THEIRS.encode(text).ids


FORMS = {
    "token to id": lambda v: {to_characters(t): i for i, t in v.items()},
    "id to token": lambda v: {str(i): to_characters(t) for i, t in v.items()},
    "id to bytes": lambda v: {str(i): list(t) for i, t in v.items()},
    "latin-1": lambda v: {t.decode("latin-1"): i for i, t in v.items()},
    "hex": lambda v: {t.hex(): i for i, t in v.items()},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_vocabulary_is_read(form, tmp_path):
    ordinary = {i: t for i, t in OURS.vocab.items() if not OURS.is_special(i)}
    vocab = FORMS[form](ordinary)
    vocab |= {str(OURS.n_vocab - 1): "<|endoftext|>"} if "id to" in form else {}
    merges = [[a.decode("latin-1"), b.decode("latin-1")] for a, b in OURS.merges]
    (tmp_path / "my_vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "my_merges.json").write_text(json.dumps(merges))
    for name in ("my_vocab.json", "my_merges.json", "."):
        tok = tokviz.load(tmp_path / name)
        assert tok.encode(TEXT) == OURS.encode(TEXT)
        assert all(tok.vocab[i] == t for i, t in ordinary.items())


def test_one_file_with_both_is_read(tmp_path):
    content = {
        "vocab": FORMS["token to id"](OURS.vocab) | {"<|endoftext|>": OURS.n_vocab - 1},
        "merges": [f"{to_characters(a)} {to_characters(b)}" for a, b in OURS.merges],
    }
    path = tmp_path / "bpe.json"
    path.write_text(json.dumps(content))
    assert tokviz.load(path).encode(TEXT) == OURS.encode(TEXT)


@pytest.mark.parametrize(
    ("vocab", "merges", "words"),
    [
        ({"a": 0, "b": 1}, "a b\n", "254 of the 256 single bytes"),
        (None, "a b\nzz z\n", "merge 2: the part b'zz' is not a token"),
        (None, "a b\na b c\n", "line 2: 'a b c' is not a merge"),
        ({"a": "b"}, "", "key 'a': 'b' is not a token id"),
        ({"0": [256]}, "", "key '0': is not a list of bytes"),
        ({"0": "a", "1": "a"}, "", "b'a' is a token already"),
        ({"a": -1}, "", "the id -1 is negative"),
        ({"a": 10**9}, "", "the id 1,000,000,000 is beyond the limit"),
    ],
    ids=range(8),
)
def test_what_is_wrong_names_file_and_place(vocab, merges, words, tmp_path):
    if vocab is None:
        vocab = {to_characters(bytes([i])): i for i in range(256)} | {"ab": 256}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text(merges)
    with pytest.raises(tokviz.InputFileError) as caught:
        tokviz.Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [('{"a":', "line 1, column 6: is not JSON"), ('{"a": "b"}', "not a tokenizer")],
)
def test_json_that_is_cut_off_or_another_is_not_said_to_lack_merges(content, words, tmp_path):
    (tmp_path / "vocab.json").write_text(content)
    with pytest.raises(tokviz.InputFileError, match=words):
        tokviz.load(tmp_path / "vocab.json")


def test_a_vocabulary_alone_says_what_is_missing(tmp_path):
    (tmp_path / "vocab.json").write_text('{"a": 0}')
    with pytest.raises(tokviz.InputFileError, match=r"without its merges: put merges\.txt beside"):
        tokviz.load(tmp_path / "vocab.json")
