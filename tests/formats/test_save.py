"""Saving: the original library gives the same ids, and losses are reported beforehand."""

from __future__ import annotations

import pytest

import tokviz
from tests.formats.samples import TEXT, beginning, shuffled, trained, with_every_merge
from tokviz.formats.examine import check, losses
from tokviz.formats.save import FORMATS, what_is_lost
from tokviz.formats.self_check import SAMPLES
from tokviz.formats.validate import validate
from tokviz.text import bytetext

SPECIALS = ("<|endoftext|>", "<|im_start|>")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_ids_again(name, tmp_path):
    ours = trained("gpt2", SPECIALS)
    ours.save(tmp_path / "saved", format=name)
    again = tokviz.load(tmp_path / "saved")
    assert again.encode(TEXT + SPECIALS[0]) == ours.encode(TEXT + SPECIALS[0])
    assert again.vocab == ours.vocab
    assert again.special_tokens == ours.special_tokens


@pytest.mark.parametrize("name", FORMATS)
def test_special_tokens_after_the_bytes_are_saved_and_loaded(name, tmp_path):
    ours = tokviz.train(
        [TEXT], 400, split_pattern="gpt2", special_tokens=SPECIALS, special_ids="after-bytes"
    ).tokenizer
    if name == "minbpe":  # which numbers merged tokens from 256 on
        with pytest.raises(tokviz.FormatError, match="bytes have the ids 0-255"):
            ours.save(tmp_path / "saved", format=name)
        return
    ours.save(tmp_path / "saved", format=name)
    again = tokviz.load(tmp_path / "saved")
    assert again.encode(TEXT + SPECIALS[0]) == ours.encode(TEXT + SPECIALS[0])
    assert (again.vocab, again.special_tokens) == (ours.vocab, {SPECIALS[0]: 256, SPECIALS[1]: 257})


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("pattern", ["gpt4", r"\w{1,3}|\W"])
def test_what_we_save_we_read_back_without_a_guess(name, pattern, tmp_path):
    if (name, pattern) == ("huggingface", r"\w{1,3}|\W"):
        pytest.skip("the library's regex engine reads it otherwise, and so it encodes it")
    ours = trained(pattern, SPECIALS)
    ours.save(tmp_path / "saved", format=name)
    again = tokviz.load(tmp_path / "saved")
    assert again.split_pattern.regex == ours.split_pattern.regex
    assert again.encode(TEXT + SPECIALS[0]) == ours.encode(TEXT + SPECIALS[0])
    assert not again.pattern_doubt and "guess" not in again.source


def test_a_list_of_every_way_to_build_a_token_is_saved_as_the_ranks_that_it_came_from(tmp_path):
    with_every_merge().save(tmp_path / "saved.tiktoken", format="tiktoken")
    again, ranked = tokviz.load(tmp_path / "saved.tiktoken"), beginning("gpt2")
    assert (again.by_ranks, again.vocab) == (True, ranked.vocab)
    for sample in (*SAMPLES, b" the refreshed" * 9, b"<|endoftext|>" * 2):
        text = bytetext.from_bytes(sample)
        assert again.byte_text.encode(text).tolist() == ranked.byte_text.encode(text).tolist()


def test_what_stands_beside_another_file_does_not_count(tmp_path):
    trained("cs336", SPECIALS).save(tmp_path / "x.tiktoken", format="tiktoken")
    beside = tmp_path / "x.tiktoken.tokviz"
    assert tokviz.load(tmp_path / "x.tiktoken", split_pattern="gpt2").split_pattern.name == "gpt2"
    for damaged in (b"{", b"[]", beside.read_bytes().replace(b'"regex"', b'"x"')):
        whole = beside.read_bytes()
        beside.write_bytes(damaged)
        assert tokviz.load(tmp_path / "x.tiktoken").pattern_doubt
        beside.write_bytes(whole)
    trained("gpt4").save(tmp_path / "y.tiktoken", format="tiktoken")
    (tmp_path / "x.tiktoken").write_bytes((tmp_path / "y.tiktoken").read_bytes())
    other = tokviz.load(tmp_path / "x.tiktoken")
    assert other.pattern_doubt == "the split pattern gpt4 is a guess: a rank file holds none"
    assert not other.special_tokens


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "qwen2"])
def test_hugging_face_gives_the_ids_of_a_saved_rank_vocabulary(name, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    ours = tokviz.load(name) if name == "gpt2" else beginning(name)
    ours.save(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    text = TEXT + "<|endoftext|>" + "日本語 עברית \u0558 \U000323b0 ſ 'LL  \n\n x" * 3
    assert theirs.encode(text).ids == ours.encode(text)
    again = tokviz.load(tmp_path / "tokenizer.json")
    assert not again.remote and again.normalizer == ours.normalizer
    assert again.encode(text) == ours.encode(text)
    assert again.special_tokens == ours.special_tokens


def test_ids_in_any_order_survive(tmp_path):
    ours = shuffled()
    for name in ("huggingface", "gpt2"):
        ours.save(tmp_path / name, format=name)
    assert tokviz.load(tmp_path / "huggingface").vocab == ours.vocab
    again = tokviz.load(tmp_path / "gpt2", split_pattern="gpt4")
    assert again.encode(TEXT) == ours.encode(TEXT)


@pytest.mark.parametrize(
    ("name", "pattern", "words"),
    [
        ("huggingface", "gpt4", []),
        ("huggingface", r"\w+|\W+", ["the split regex is written unchanged"]),
        ("minbpe", "gpt4", []),
        ("gpt2", "gpt2", ["the 2 special tokens (<|endoftext|>, <|im_start|>), as special"]),
        ("gpt2", "gpt4", ["the split pattern (gpt4)", "the 2 special tokens"]),
        ("tiktoken", "gpt4", ["the split pattern (gpt4) and the 2 special tokens"]),
    ],
)
def test_what_is_lost_is_said_before(name, pattern, words):
    lost = what_is_lost(trained(pattern, SPECIALS), name)
    assert len(lost) == len(words)
    assert all(word in sentence for word, sentence in zip(words, lost, strict=True))


def test_minbpe_takes_the_first_of_overlapping_special_tokens():
    assert "the longest wins" in what_is_lost(trained("gpt4", ("<a>", "<a><b>")), "minbpe")[0]
    (lost,) = what_is_lost(trained("gpt4"), "tiktoken")
    assert lost.startswith("the split pattern (gpt4): tokviz finds it in the .tokviz file beside")


def test_what_a_format_cannot_hold_is_refused_before_too():
    with pytest.raises(tokviz.FormatError, match="cannot be a rank file"):
        what_is_lost(shuffled(), "tiktoken")
    with pytest.raises(tokviz.FormatError, match=r"there are huggingface, tiktoken, gpt2, minbpe"):
        what_is_lost(shuffled(), "pickle")


@pytest.mark.parametrize("make", [lambda: trained(r"\w+|\W+", ("<a>", "<a><b>")), shuffled])
def test_a_child_finds_out_the_same_of_a_tokenizer(make):
    def lost(name):
        try:
            return what_is_lost(make(), name)
        except tokviz.FormatError as error:
            return str(error)

    found = dict[str, list[str] | str]()
    losses(make(), lambda name, lost, error: found.update({name: error or lost}))
    assert found == {name: lost(name) for name in FORMATS}
    assert check(make()) == validate(make())


def test_a_pre_token_that_is_looked_up_whole_cannot_be_gpt2s(tmp_path):
    base = {byte: bytes([byte]) for byte in range(256)}
    tok = tokviz.Tokenizer(base | {256: b"abc"}, [], ignore_merges=True)
    assert tok.encode("abc ab") == [256, 32, 97, 98]
    with pytest.raises(tokviz.FormatError, match="no merge makes b'abc'"):
        tok.save(tmp_path / "x", format="gpt2")
    tok.save(tmp_path / "tokenizer.json")
    assert tokviz.load(tmp_path / "tokenizer.json").encode("abc ab") == [256, 32, 97, 98]
    tok.save(tmp_path / "x.tiktoken", format="tiktoken")
    again = tokviz.load(tmp_path / "x.tiktoken", split_pattern="gpt2")
    assert again.encode("abc ab") == [256, 32, 97, 98]


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(tokviz.FormatError):
        shuffled().save(path, format="minbpe")
    assert path.read_text() == "old"
    with pytest.raises(tokviz.OutputFileError, match="is not a folder"):
        trained().save(path, format="gpt2")
    with pytest.raises(tokviz.OutputFileError, match="folder does not exist"):
        trained().save(tmp_path / "no" / "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]
